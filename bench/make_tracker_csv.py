#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_tracker_csv.py ROWS - a resource tracker's CSV of so many calls, the same at every run."""
import random
import sys

HEADING = ("CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,"
           "Delta_VmSize_KB,Delta_VmRSS_KB,Delta_VmData_KB,Contexts,CommandQueues,Modules,Kernels,"
           "EventPools,CommandLists,Events,Fences,Images,Samplers,TotalMemory_Bytes")
CALLS = (["zeCommandListAppendLaunchKernel", "zeCommandListAppendMemoryCopy"] * 3 +
         ["zeMemAllocDevice", "zeMemFree", "zeEventCreate", "zeEventDestroy", "zeEventPoolDestroy"])


def main():
    draw = random.Random(1)
    rss, memory, events, time_ms = 150000, 0, 0, 0.0
    out = [HEADING]
    for number in range(1, int(sys.argv[1]) + 1):
        call = draw.choice(CALLS)
        delta = draw.choice((0, 0, 0, 0, 4, -4, 64, -64))
        if call == "zeEventPoolDestroy" and draw.random() < 0.001:
            delta = 192
        rss += delta
        time_ms += draw.random() / 50
        memory += 1 << 20 if call == "zeMemAllocDevice" else 0
        memory -= 1 << 20 if call == "zeMemFree" and memory else 0
        events += 1 if call == "zeEventCreate" else 0
        events -= 1 if call == "zeEventDestroy" and events else 0
        out.append(f"{number},{time_ms:.3f},{call},{rss + 300000},{rss},{rss + 9000},{rss + 300000},4,"
                   f"{delta},{delta},{delta},1,1,2,4,1,2,{events},0,0,0,{memory}")
        if len(out) == 10000:
            print("\n".join(out))
            out = []
    if out:
        print("\n".join(out))


main()
