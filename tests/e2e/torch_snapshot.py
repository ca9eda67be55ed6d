# SPDX-License-Identifier: MIT
"""torch_snapshot.py - memory snapshots as each generation of PyTorch writes them, of a small pool.

The pool is a model of its own: it knows what is alive, what that adds up to and who allocated it, so
that a test can compare without trusting gputrack.
"""
import pickle
import random
import struct

MIB = 1 << 20
GENERATIONS = ("1.13", "2.0", "2.1", "2.9")
PREFIX = 1_700_000_000_000_000  # µs: in November 2023


def frame(name, filename, line, **more):
    return {"name": name, "filename": filename, "line": line, **more}


# Stacks are shared, as PyTorch shares them: lists and frames are one object wherever they are the same.
NATIVE = [frame("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc", "??", 0),
          frame("at::native::empty_cuda", "??", 0)]
LIBRARY = frame("forward", "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", 114)
MAIN = frame("main", "/home/user/train.py", 40)


def stacks(count):
    return [NATIVE + ([LIBRARY] if i % 2 else []) + [frame(f"step{i}", "/home/user/model.py", 10 + i), MAIN]
            for i in range(count)]


class Pool:
    """A caching allocator on one device, with a history of the last `entries`."""

    def __init__(self, seed=1, entries=10**9, expandable=False, device=0, stack_count=6):
        self.random, self.limit, self.expandable = random.Random(seed), entries, expandable
        self.device, self.stacks = device, stacks(stack_count)
        self.trace, self.segments, self.time = [], [], PREFIX
        self.next = 0x7f0000000000 + device * (1 << 40)
        self.live, self.pending = {}, {}  # address: (requested, rounded, stack)
        self.bytes = 0                    # requested
        self.reserved = self.peak = 0     # of segments
        self.made = self.ended = 0

    def entry(self, action, address, size, stack, **more):
        self.time += self.random.randint(1, 50)
        where = {"device_free": address} if action == "oom" else {"addr": address}
        self.trace.append({"action": action, **where, "size": size, "stream": 0, "time_us": self.time,
                           "compile_context": "N/A", "user_metadata": "", "frames": stack, **more})

    def segment(self, size, stack):
        action = "segment_map" if self.expandable else "segment_alloc"
        new = {"address": self.next, "size": size, "stack": stack}
        self.next += size if self.expandable else size + 2 * MIB
        self.segments.append(new)
        self.reserved += size
        self.peak = max(self.peak, self.reserved)
        self.entry(action, new["address"], size, stack)
        return new

    def place(self, rounded):
        """A free gap of a segment, as (segment, address)."""
        for segment in self.segments:
            at = segment["address"]
            for address in sorted(a for a in {**self.live, **self.pending}
                                  if at <= a < segment["address"] + segment["size"]):
                if address - at >= rounded:
                    return at
                at = address + {**self.live, **self.pending}[address][1]
            if segment["address"] + segment["size"] - at >= rounded:
                return at
        return None

    def alloc(self, size, stack=None):
        stack = self.random.choice(self.stacks) if stack is None else stack
        rounded = max(512, (size + 511) // 512 * 512)
        address = self.place(rounded)
        if address is None:
            new = self.segment(2 * MIB if rounded <= MIB else (rounded + 20 * MIB - 1) // (2 * MIB) * 2 * MIB,
                               stack)
            address = new["address"]
        self.live[address] = (size, rounded, stack)
        self.entry("alloc", address, size, stack)
        self.made += 1
        self.bytes += size
        return address

    def free(self, address, complete=True):
        size, rounded, stack = self.live.pop(address)
        self.entry("free_requested", address, size, [MAIN])
        self.ended += 1
        self.bytes -= size
        self.pending[address] = (size, rounded, stack)
        if complete:
            self.complete(address)

    def complete(self, address):
        size, _, _ = self.pending.pop(address)
        self.entry("free_completed", address, size, [MAIN])

    def empty_cache(self):
        used = set(self.live) | set(self.pending)
        for segment in list(self.segments):
            if not any(segment["address"] <= a < segment["address"] + segment["size"] for a in used):
                self.segments.remove(segment)
                self.reserved -= segment["size"]
                self.entry("segment_unmap" if self.expandable else "segment_free", segment["address"],
                           segment["size"], [MAIN])

    def oom(self, size, free=5 * MIB):
        self.entry("oom", free, size, self.random.choice(self.stacks))

    def work(self, steps):
        for _ in range(steps):
            if self.live and self.random.random() < 0.48:
                self.free(self.random.choice(sorted(self.live)), self.random.random() < 0.9)
            else:
                self.alloc(self.random.randint(1, 64 << 10) if self.random.random() < 0.9 else
                           self.random.randint(MIB, 4 * MIB))
            if self.pending and self.random.random() < 0.5:
                self.complete(sorted(self.pending)[0])
            if self.random.random() < 0.01:
                self.empty_cache()

    # What a snapshot has of it.

    def blocks(self, segment, generation):
        at, out = segment["address"], []
        inside = {a: b for a, b in {**self.live, **self.pending}.items()
                  if segment["address"] <= a < segment["address"] + segment["size"]}
        for address in sorted(inside):
            size, rounded, stack = inside[address]
            if address > at:
                out.append(("inactive", at, address - at, 0, []))
            out.append(("active_allocated" if address in self.live else "active_pending_free", address,
                        rounded, size, stack))
            at = address + rounded
        if at < segment["address"] + segment["size"]:
            out.append(("inactive", at, segment["address"] + segment["size"] - at, 0, []))
        if generation == "1.13":
            return [{"size": size, "state": state,
                     **({"history": [{"addr": address, "real_size": real, "frames": stack},
                                     {"addr": address, "real_size": 7, "frames": []}]}
                        if state != "inactive" else {})} for state, address, size, real, stack in out]
        if generation == "2.0":
            return [{"size": size, "requested_size": real, "state": state, "frames": stack}
                    for state, address, size, real, stack in out]
        return [{"address": address, "size": size, "requested_size": real, "state": state, "frames": stack}
                for state, address, size, real, stack in out]

    def segment_dicts(self, generation):
        empty = []  # shared
        for segment in self.segments:
            blocks = self.blocks(segment, generation)
            used = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
            new = {"device": self.device, "address": segment["address"], "total_size": segment["size"],
                   "allocated_size": used, "active_size": used, "stream": 0, "segment_type": "small"}
            if generation != "1.13":
                new.update(requested_size=used, segment_pool_id=(0, 0), is_expandable=self.expandable,
                           frames=segment["stack"] or empty)
            yield {**new, "blocks": blocks}

    def history(self, generation):
        kept = self.trace[-self.limit:]
        if generation == "2.0":
            for one in kept:
                for key in ("time_us", "compile_context", "user_metadata"):
                    one.pop(key, None)
        return kept


def snapshot(pools, generation="2.9"):
    """The object that PyTorch pickles."""
    segments = [s for pool in pools for s in pool.segment_dicts(generation)]
    if generation == "1.13":
        return segments
    traces = [[] for _ in range(max(pool.device for pool in pools) + 1)]
    for pool in pools:
        traces[pool.device] = pool.history(generation)
    whole = {"segments": segments, "device_traces": traces}
    if generation != "2.0":
        whole["allocator_settings"] = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                                       "garbage_collection_threshold": 0.0, "expandable_segments": False,
                                       "roundup_power2_divisions": {"1": 0, "2": 0}}
    if generation == "2.9":
        whole["external_annotations"] = [{"stage": "START", "name": "step", "device": 0, "time_us": PREFIX}]
    return whole


def save(case, pools, name="x.pickle", generation="2.9", protocol=4):
    path = case.path(name)
    with open(path, "wb") as file:
        pickle.dump(snapshot(pools, generation), file, protocol=protocol)
    return path


# The other writer: torch::jit::Pickler (`_C._cuda_memorySnapshot` pickled in C++). Protocol 2; a list's
# elements and a dictionary's items in one batch; numbers objects after they are complete, and only those
# that are used twice.

def jit_pickle(whole):
    uses, out, numbers, texts = {}, bytearray(b"\x80\x02"), {}, {}

    def count(value):
        if isinstance(value, (dict, list)):
            uses[id(value)] = uses.get(id(value), 0) + 1
            if uses[id(value)] == 1:
                for part in value.values() if isinstance(value, dict) else value:
                    count(part)

    def number(table, key):
        table[key] = len(numbers) + len(texts)
        index = table[key]
        out.extend(struct.pack("<BB", 0x71, index) if index < 256 else struct.pack("<BI", 0x72, index))

    def refer(index):
        out.extend(struct.pack("<BB", 0x68, index) if index < 256 else struct.pack("<BI", 0x6a, index))

    def put(value):
        if id(value) in numbers:
            refer(numbers[id(value)])
        elif isinstance(value, str):
            if value in texts:
                return refer(texts[value])
            data = value.encode()
            out.extend(struct.pack("<BI", 0x58, len(data)) + data)
            number(texts, value)
        elif isinstance(value, bool):
            out.append(0x88 if value else 0x89)
        elif isinstance(value, int):
            data = value.to_bytes(8, "little", signed=True)
            out.extend(struct.pack("<BB", 0x4b, value) if 0 <= value < 256 else
                       struct.pack("<Bi", 0x4a, value) if -1 << 31 <= value < 1 << 31 else
                       struct.pack("<BB", 0x8a, 8) + data)
        elif isinstance(value, float):
            out.extend(struct.pack(">Bd", 0x47, value))
        elif isinstance(value, tuple):
            out.append(0x28)
            for part in value:
                put(part)
            out.append(0x74)
        else:
            is_dict = isinstance(value, dict)
            out.extend(b"}(" if is_dict else b"](")
            for part in value.items() if is_dict else value:
                if is_dict:
                    put(part[0])
                put(part[1] if is_dict else part)
            out.append(0x75 if is_dict else 0x65)
            if uses.get(id(value), 0) > 1:
                number(numbers, id(value))

    count(whole)
    put(whole)
    return bytes(out) + b"."
