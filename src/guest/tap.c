/* SPDX-License-Identifier: MIT */
/* tap.c - how a tracer of ours sees the calls of a recorded process without touching its stack. */
#include "guest/tap.h"

struct gt_tap_state gt_tap_state;

__attribute__((noinline)) void gt_tap_opened(uint64_t table, uint64_t doors)
{
	__asm__ volatile("" ::"r"(table), "r"(doors) : "memory");
}

__attribute__((noinline)) void gt_tap_begin(uint32_t function)
{
	__asm__ volatile("" ::"r"(function) : "memory");
}

__attribute__((noinline)) void gt_tap_call(uint32_t function, uint64_t ret)
{
	__asm__ volatile("" ::"r"(function), "r"(ret) : "memory");
}

void gt_tap_open(enum gt_api api)
{
	gt_tap_state.table = gt_functions_digest();
	/* a tracer reads this after it has probed the function below: it misses neither */
	__atomic_fetch_or(&gt_tap_state.doors, UINT64_C(1) << api, __ATOMIC_SEQ_CST);
	gt_tap_opened(gt_tap_state.table, gt_tap_state.doors);
}
