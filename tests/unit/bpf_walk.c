/* SPDX-License-Identifier: MIT */
/*
 * bpf_walk.c - the BPF programs' walk of a stack, compiled for this processor and run in a test.
 *
 * The kernel's functions are replaced by those below; all else is the programs' own code.
 */
#include "bpf_walk.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel_maps.h"

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wunknown-attributes"
#endif
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wpedantic"

#define SEC(name)
#define __ksym
#define __weak               __attribute__((weak))
#define __uint(name, value)  int(*name)[value]
#define __type(name, type)   type *name
#define __array(name, value) __typeof__(value) *name[]

#define READ_2(at, a)                      ((at)->a)
#define READ_3(at, a, b)                   ((at)->a->b)
#define READ_N(_1, _2, _3, N, ...)         N
#define BPF_CORE_READ(...)                 READ_N(__VA_ARGS__, READ_3, READ_2, )(__VA_ARGS__)
#define bpf_core_field_offset(type, field) offsetof(type, field)
#define bpf_core_type_size(type)           sizeof(type)

/* assembly for BPF elsewhere */
#define MASK_INDEX(index, mask) ((index) &= (mask))
#define SPREAD_SIGN(word)       ((word) = (uint64_t)((int64_t)(word) >> 63))

struct walking;
struct task_struct;
static void *bpf_map_lookup_elem(const void *map, const void *key);
static struct task_struct *bpf_get_current_task_btf(void);

static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags)
{
	(void)map, (void)key, (void)value, (void)flags;
	return -1;
}

static long bpf_map_delete_elem(void *map, const void *key)
{
	(void)map, (void)key;
	return -1;
}

static void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags)
{
	(void)ring, (void)size, (void)flags;
	return NULL;
}

static uint32_t bpf_get_smp_processor_id(void)
{
	return 0;
}

static uint64_t bpf_ktime_get_ns(void)
{
	return 0;
}

/* Fails where nothing is mapped, as the kernel's does. */
static long bpf_probe_read_user(void *to, uint32_t size, const void *from)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	return pread(fd, to, size, (off_t)(uintptr_t)from) == (ssize_t)size ? 0 : -1;
}

static long bpf_loop(uint32_t times, long (*fn)(uint32_t, struct walking *), struct walking *w,
		     uint64_t flags)
{
	(void)flags;
	for (uint32_t i = 0; i < times; i++)
		if (fn(i, w))
			return i + 1;
	return times;
}

#include "capture/ebpf/machine.bpf.h"
#include "capture/ebpf/calls_state.bpf.h"
#include "capture/ebpf/unwind.bpf.h"

const volatile uint32_t frames_max = GT_PROBE_FRAMES;
const volatile bool unwinds_by_tables = true;
#if defined(__aarch64__)
const volatile uint64_t code_bits = (1ull << 48) - 1;
#endif

static struct task_struct task;

static struct task_struct *bpf_get_current_task_btf(void)
{
	return &task;
}

static void *bpf_map_lookup_elem(const void *map, const void *key)
{
	const void *known[] = { &space_of, &spaces, &shards, &rules, &chunks };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (map == known[i])
			return kernel_map_find(SPACE_OF_MAP + (int)i, key);
	return (void *)map; /* a chunk's own, which has one element */
}

uint32_t bpf_walk(const struct bpf_walk_from *from, uint64_t frames[GT_PROBE_FRAMES], size_t *count)
{
	static struct thread thread;
	struct return_instance probed = { .stack = from->probed_sp,
					  .orig_ret_vaddr = from->probed_return };
	struct uprobe_task probes = { .return_instances = from->probed_sp ? &probed : NULL };
	struct pt_regs registers = { 0 };
	uint32_t end;

	task = (struct task_struct){ .group_leader = &task, .utask = &probes };
	REGISTER_ADDRESS(&registers) = from->pc;
	REGISTER_STACK(&registers) = from->sp;
	REGISTER_FRAME(&registers) = from->fp;
	thread.call.pid = (uint32_t)getpid();
	end = walk_stack(&registers, &task, &thread, 0, 0);
	*count = thread.walk.count;
	memcpy(frames, thread.tail, *count * sizeof *frames);
	return end;
}
