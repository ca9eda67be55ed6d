/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* calls_state.bpf.h - what the BPF programs know: settings, maps, processes and their threads. */
#pragma once

#include "unwind_rows.h"

enum { GT_PROBE_TAIL = GT_PROBE_ARRAY + GT_PROBE_FRAMES + 1, KNOWN_RULES = 128, WINDOW = 64 };

/* The fields of kernel structures that we read; their offsets are resolved at load time. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
struct atomic_live {
	int counter;
};
struct signal_struct {
	struct atomic_live live;
	unsigned int flags;
	int group_exit_code;
	struct task_struct *group_exec_task; /* Linux 5.17 */
};
struct return_instance {
	unsigned long stack, orig_ret_vaddr;
	struct return_instance *next;
};
struct uprobe_task {
	struct return_instance *return_instances;
};
struct new_utsname {
	char nodename[65];
};
struct uts_namespace {
	struct new_utsname name;
};
struct nsproxy {
	struct uts_namespace *uts_ns;
};
struct task_struct {
	struct nsproxy *nsproxy;
	int pid, tgid, exit_code;
	__u64 start_boottime, self_exec_id;
	struct task_struct *group_leader, *real_parent;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct uprobe_task *utask;
	char comm[16];
};
#pragma clang attribute pop

enum { SIGNAL_GROUP_EXIT = 4 }; /* of signal_struct.flags */

/* A call that has begun. */
struct pending {
	uint64_t sp, begun_ns, caller;
	uint64_t words[GT_PROBE_WORDS];
	uint32_t row, array_count;
	uint32_t is_tapped;  /* 1: it ends in gt_tap_call, its return is not probed */
	uint32_t is_at_door; /* 1: it has come there; loaders refuse calls by themselves */
};

/* Unwinding by tables: where it is. */
struct walk {
	uint64_t pc, sp, bp;
	uint64_t link; /* where pc was interrupted: the register of the return address, if any */
	struct gt_space_area area; /* in which the last address was found */
	uint32_t at, count;        /* where its frames begin in `tail`, and how many there are */
	uint32_t most;             /* of them */
	uint8_t end;               /* enum gt_walk_end */
	uint8_t is_exact;          /* pc was interrupted, and is no return address */
	uint8_t has_switched;      /* to another stack */
	uint8_t is_guessed;        /* sp is not known any more, only that the frame lies above */
	uint64_t window_at;        /* 0: none */
	uint64_t window[WINDOW];   /* words of the stack from there on */
};

/* The rule that was found for an address of a space. */
struct known_rule {
	uint64_t pc;
	uint32_t space, rule;
};

/* State of a thread: its calls in flight, and buffers in which its records are assembled. */
struct thread {
	uint32_t known, depth;
	uint32_t array_at; /* depth of the call whose handles `array` holds, + 1 */
	uint32_t array;
	uint32_t context_count;
	uint32_t ring;                       /* that the records of `call` go to */
	uint64_t contexts[GT_PROBE_CURRENT]; /* below the first: whatever was there before */
	struct pending calls[GT_PROBE_DEPTH];
	uint64_t handles[GT_PROBE_ARRAY];
	struct walk walk;
	struct known_rule known_rules[KNOWN_RULES]; /* by hash of the address */
	struct gt_probe_call call;
	uint64_t tail[GT_PROBE_TAIL]; /* right behind it: both are sent as one */
};

/* Settings, constant from load time on. */
const volatile bool everyone;          /* all processes, not only those in `targets` */
const volatile bool selects;           /* some of them may be ignored */
const volatile bool no_children;       /* children are no targets */
const volatile uint32_t namespace;     /* of pids; 0: the initial one */
const volatile uint32_t frames_max;    /* 0: no stacks */
const volatile uint32_t stack_bytes;   /* 0: frame pointers; otherwise copy the stack's top */
const volatile bool unwinds_by_tables; /* copy it only where the tables do not say enough */
const volatile uint32_t own_pid;       /* the tool itself, which is ignored */
const volatile uint64_t table;         /* gt_functions_digest */

struct gt_probe_slot slots[GT_PROBE_SLOTS];
uint64_t news_lost;
uint64_t backlog; /* bytes that the tool has taken from the rings, and not read yet */
uint32_t off;     /* set when detaching: nothing more is recorded */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_PROBE_ROWS);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__type(key, uint32_t);
	__type(value, struct gt_probe_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct gt_probe_target);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* By pid; only of processes that have lost any. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct gt_probe_lost);
} lost_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} news SEC(".maps");

/*
 * Bounds an index for the verifier. In assembly, because the compiler would drop a mask that it
 * knows to be redundant.
 */
#ifndef MASK_INDEX
#define MASK_INDEX(index, mask) asm volatile("%0 &= %1" : "+r"(index) : "i"(mask))
#endif
#define WITHIN(index, size)                                                                        \
	({                                                                                         \
		uint64_t index_ = (index);                                                         \
		MASK_INDEX(index_, (size)-1);                                                      \
		index_;                                                                            \
	})

/* A task's pid in the tool's namespace; 0 when it has none there. */
static __always_inline uint32_t number_of(struct task_struct *task)
{
	struct pid *pid;
	unsigned int level;

	if (!namespace)
		return task->pid;
	pid = task->thread_pid;
	level = BPF_CORE_READ(pid, level);
	for (unsigned int i = 0; i < 8; i++) {
		struct upid *at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				  i * bpf_core_type_size(struct upid);

		if (i > level)
			break;
		if (BPF_CORE_READ(at, ns, ns.inum) == namespace)
			return BPF_CORE_READ(at, nr);
	}
	return 0;
}

static __always_inline uint32_t process_of(struct task_struct *task)
{
	return namespace ? number_of(task->group_leader) : task->tgid;
}

static __always_inline struct gt_probe_slot *own_slot(void)
{
	return &slots[WITHIN(bpf_get_smp_processor_id(), GT_PROBE_SLOTS)];
}

/* Several processors may share the slot. */
static __always_inline void count_loss(struct gt_probe_losses *l, uint64_t time_ns)
{
	uint64_t first = l->first_ns;

	if (!first || time_ns < first)
		l->first_ns = time_ns;
	if (time_ns > l->last_ns)
		l->last_ns = time_ns;
	__sync_fetch_and_add(&l->count, 1);
}

const struct gt_probe_lost nothing_lost;

static __always_inline void lose(uint32_t pid, uint64_t time_ns)
{
	struct gt_probe_slot *slot = own_slot();
	struct gt_probe_lost *of = NULL;

	__sync_fetch_and_add(&slot->lost, 1);
	if (bpf_map_lookup_elem(&targets, &pid)) {
		of = bpf_map_lookup_elem(&lost_of, &pid);
		if (!of) {
			bpf_map_update_elem(&lost_of, &pid, &nothing_lost, BPF_NOEXIST);
			of = bpf_map_lookup_elem(&lost_of, &pid);
		}
	}
	if (of)
		count_loss(&of->slots[WITHIN(bpf_get_smp_processor_id(), GT_PROBE_SLOTS)].losses,
			   time_ns);
	else
		count_loss(&slot->stray, time_ns);
}

/* What a process has lost so far. */
static __always_inline void sum_lost(uint32_t pid, struct gt_probe_losses *sum)
{
	const struct gt_probe_lost *of = bpf_map_lookup_elem(&lost_of, &pid);

	for (int i = 0; of && i < GT_PROBE_SLOTS; i++)
		gt_probe_losses_add(sum, &of->slots[i].losses);
}

static __always_inline void set_parent(struct gt_probe_event *e, struct task_struct *parent)
{
	e->parent = process_of(parent);
	e->parent_start = BPF_CORE_READ(parent, group_leader, start_boottime);
	e->parent_exec = BPF_CORE_READ(parent, self_exec_id);
}

/* Reserves one piece of news about a task, and fills in the common fields. */
static __always_inline struct gt_probe_event *news_of(struct task_struct *task, uint32_t what,
						      uint32_t pid)
{
	struct gt_probe_event *e = bpf_ringbuf_reserve(&news, sizeof *e, 0);

	if (!e) {
		__sync_fetch_and_add(&news_lost, 1);
		return 0;
	}
	__builtin_memset(e, 0, sizeof *e);
	e->time_ns = bpf_ktime_get_ns();
	e->news = what;
	e->pid = pid;
	e->tid = number_of(task);
	e->start = task->group_leader->start_boottime;
	e->exec = task->self_exec_id;
	set_parent(e, task->real_parent);
	return e;
}

/* NULL: nothing is known of the process. */
static __always_inline struct gt_probe_target *target_of(uint32_t pid)
{
	return bpf_map_lookup_elem(&targets, &pid);
}

/* `target`: of the process; looked at only if it matters. */
static __always_inline bool is_target_wanted(const struct gt_probe_target *target)
{
	return target ? !target->is_ignored : everyone;
}

static __always_inline bool is_wanted(uint32_t pid)
{
	if (!pid || pid == own_pid || off)
		return false;
	return (everyone && !selects) || is_target_wanted(target_of(pid));
}
