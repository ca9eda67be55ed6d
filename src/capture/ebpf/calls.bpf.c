/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* calls.bpf.c - two programs for every tracked function, one per side; the cookie is the row. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define __BPF__ 1
#include "calls.h"
#include "machine.bpf.h"
#include "calls_state.bpf.h"
#include "calls_rings.bpf.h"
#include "python.bpf.h"
#include "unwind.bpf.h"
#include "calls_stack.bpf.h"
#include "calls_owner.bpf.h"

/* Registers are copied first: ctx may only be read at fixed offsets. */
static __always_inline void keep_words(struct pt_regs *ctx, const struct gt_probe_row *row,
				       uint64_t *words)
{
	uint64_t registers[8] = { ARGUMENTS_OF(ctx) };
	uint64_t stack = REGISTER_STACK(ctx) + CALL_PUSHES;

	for (int i = 0; i < GT_PROBE_WORDS; i++) {
		uint64_t where = row->where[i] & ~GT_PROBE_BEHIND;

		if (i >= row->words)
			break;
		if (where < GT_PROBE_ARGUMENTS)
			words[i] = registers[WITHIN(where, 8)];
		else if (bpf_probe_read_user(&words[i], sizeof words[i],
					     (void *)(stack + 8 * (where - GT_PROBE_ARGUMENTS))))
			words[i] = 0;
		/* a structure that is passed by its address */
		if (row->where[i] & GT_PROBE_BEHIND &&
		    bpf_probe_read_user(&words[i], sizeof words[i], (void *)words[i]))
			words[i] = 0;
	}
}

/* True when the call can have no effect: an enqueue whose caller wants no event, a free of NULL. */
static __always_inline bool is_idle(const struct gt_probe_row *row, const struct pending *p)
{
	for (int i = 0; i < GT_PROBE_EFFECTS; i++) {
		uint8_t handle = row->handle[i], unless = row->unless[i];

		if (i >= row->effects)
			break;
		if (unless < GT_PROBE_WORDS &&
		    !p->words[WITHIN(unless, GT_PROBE_WORDS)] == !!row->only_if[i])
			continue;
		if (handle >= GT_PROBE_WORDS || p->words[WITHIN(handle, GT_PROBE_WORDS)])
			return false;
	}
	return true;
}

/* Copies an array of handles that is passed in: it may be freed when the call returns. */
static __always_inline void keep_array(struct thread *t, const struct gt_probe_row *row,
				       struct pending *p, uint32_t depth)
{
	uint32_t count = p->words[WITHIN(row->array_count, GT_PROBE_WORDS)], some = count;

	p->array_count = count;
	if (some >= GT_PROBE_ARRAY)
		some = GT_PROBE_ARRAY - 1;
	if (bpf_probe_read_user(t->handles, WITHIN(some, GT_PROBE_ARRAY) * sizeof(uint64_t),
				(void *)p->words[WITHIN(row->array, GT_PROBE_WORDS)]))
		some = 0;
	t->array = some;
	t->array_at = depth + 1;
}

static __always_inline void first_call(struct task_struct *task, struct thread *t, uint32_t pid)
{
	struct gt_probe_target none = { 0 };
	struct gt_probe_event *e;

	t->known = 1;
	bpf_map_update_elem(&targets, &pid, &none, BPF_NOEXIST);
	e = news_of(task, GT_NEWS_THREAD, pid);
	if (!e)
		return;
	bpf_get_current_comm(e->name, 16);
	BPF_CORE_READ_INTO(&e->program, task, group_leader, comm);
	e->uid = bpf_get_current_uid_gid();
	BPF_CORE_READ_INTO(&e->host, task, nsproxy, uts_ns, name.nodename);
	/* wake the tool now: /proc shows the mappings only while the process lives */
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
}

/* The index of the call that is returning, or GT_PROBE_DEPTH. */
static __always_inline uint32_t find_call(struct thread *t, struct pt_regs *ctx, bool is_tap)
{
	for (uint32_t i = 0; i < GT_PROBE_DEPTH; i++) {
		uint32_t at = t->depth - 1 - i;
		const struct pending *p = &t->calls[WITHIN(at, GT_PROBE_DEPTH)];

		if (i >= t->depth)
			break;
		/* the return address has been popped; the recorder's frames lie below the call's */
		if (is_tap ? p->row == (uint32_t)REGISTER_ARGUMENT(ctx) &&
				     p->sp > REGISTER_STACK(ctx) :
			     p->sp + CALL_PUSHES == REGISTER_STACK(ctx))
			return at;
	}
	return GT_PROBE_DEPTH;
}

static __always_inline void read_copies(const struct gt_probe_row *row, struct gt_probe_call *c)
{
	for (int i = 0; i < GT_PROBE_COPIES; i++) {
		uint64_t from;
		long e;

		if (i >= row->copies)
			break;
		from = c->words[WITHIN(row->copy[i].word, GT_PROBE_WORDS)];
		c->copies[i] = 0;
		if (!from)
			continue;
		from += row->copy[i].offset;
		if (row->copy[i].size == 4)
			e = bpf_probe_read_user(&c->copies[i], 4, (void *)from);
		else
			e = bpf_probe_read_user(&c->copies[i], 8, (void *)from);
		if (e)
			c->unread |= 1 << i;
	}
}

/* Copies the handles that the call filled in to t->tail; returns their number. */
static __always_inline uint32_t read_array(struct thread *t, const struct gt_probe_row *row)
{
	struct gt_probe_call *c = &t->call;
	uint64_t at = c->words[WITHIN(row->array, GT_PROBE_WORDS)];
	uint64_t count_at = c->words[WITHIN(row->array_count, GT_PROBE_WORDS)];
	uint32_t count = 0, some;

	if (!at)
		return 0;
	if (!count_at && row->array_room != GT_PROBE_NONE) {
		count = c->words[WITHIN(row->array_room, GT_PROBE_WORDS)];
	} else if (!count_at || bpf_probe_read_user(&count, sizeof count, (void *)count_at)) {
		c->array_count = 1; /* unknown: at least one is missing */
		return 0;
	}
	c->array_count = some = count;
	if (some >= GT_PROBE_ARRAY)
		some = GT_PROBE_ARRAY - 1;
	return bpf_probe_read_user(t->tail, WITHIN(some, GT_PROBE_ARRAY) * sizeof(uint64_t),
				   (void *)at) ?
		       0 :
		       some;
}

/* The fields that a call has, whether it returned or not. */
static __always_inline void fill_in(struct task_struct *task, struct thread *t,
				    const struct pending *p)
{
	struct gt_probe_call *c = &t->call;

	c->begun_ns = p->begun_ns;
	c->ended_ns = bpf_ktime_get_ns();
	c->start = task->group_leader->start_boottime;
	c->pid = process_of(task);
	c->tid = number_of(task);
	c->exec = task->self_exec_id;
	c->row = p->row;
	c->unread = 0;
	c->stack_bytes = 0;
	c->frames = 0;
	c->array = 0;
	c->array_count = p->array_count;
	c->has_copy = 0;
	c->walk = GT_WALK_NOT;
	c->current = current_context(t);
	c->from = 0;
	__builtin_memcpy(c->words, p->words, sizeof c->words);
	choose_ring(t);
}

/* The process has registered a callback, and may throw an exception in it. */
static __always_inline void note_callback(uint32_t pid)
{
	struct gt_probe_target fresh = { .has_callbacks = 1 };
	struct gt_probe_target *t = target_of(pid);

	if (t)
		t->has_callbacks = 1;
	else
		bpf_map_update_elem(&targets, &pid, &fresh, BPF_ANY);
}

/* A door of ours lies under a loader: from now on its calls end in gt_tap_call. */
static __always_inline void note_doors(struct pt_regs *ctx, uint32_t pid)
{
	struct gt_probe_target fresh = { .doors = REGISTER_SECOND(ctx) };
	struct gt_probe_target *t = target_of(pid);

	if (REGISTER_ARGUMENT(ctx) != table)
		return;
	if (t)
		t->doors = REGISTER_SECOND(ctx);
	else
		bpf_map_update_elem(&targets, &pid, &fresh, BPF_ANY);
}

/* A call that is tapped has come to the door. */
static __always_inline void come_to_door(struct pt_regs *ctx, struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	uint32_t at = t ? t->depth - 1 : GT_PROBE_DEPTH;
	struct pending *p;

	if (at >= GT_PROBE_DEPTH)
		return;
	p = &t->calls[WITHIN(at, GT_PROBE_DEPTH)];
	if (p->row == (uint32_t)REGISTER_ARGUMENT(ctx) && p->sp > REGISTER_STACK(ctx))
		p->is_at_door = 1;
}

/*
 * Sends a release that has begun, as one that succeeds. Its return is not probed, because the
 * unwinder would not find the way past the probe's address when a callback throws an exception.
 */
static __always_inline void hand_over_begun(struct pt_regs *ctx, struct task_struct *task,
					    struct thread *t, const struct pending *p)
{
	struct gt_probe_call *c = &t->call;

	c->ret = 0;
	c->unfinished = 0;
	fill_in(task, t, p);
	if (has_python)
		send_python_stack(p->begun_ns, t->ring);
	if (!hand_over(ctx, task, t, p->caller))
		lose(c->pid, c->ended_ns);
}

/* Returns 0 to have the return probed, 1 to skip it. */
static __always_inline int entered(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t id = bpf_get_attach_cookie(ctx), pid = process_of(task), depth, dropped = 0;
	const struct gt_probe_row *row;
	struct gt_probe_target *target = NULL;
	struct pending *p;
	struct thread *t;

	if (!pid || pid == own_pid || off)
		return 1;
	row = bpf_map_lookup_elem(&rows, &id);
	/* once for all that is asked of it */
	if (!everyone || selects || (row && row->door))
		target = target_of(pid);
	if ((!everyone || selects) && !is_target_wanted(target))
		return 1;
	if (id >= GT_PROBE_PYTHON) {
		meet_python(ctx, pid, id - GT_PROBE_PYTHON);
		return 1;
	}
	if (id == GT_PROBE_TAP_OPENED) {
		note_doors(ctx, pid);
		return 1;
	}
	if (id == GT_PROBE_TAP_BEGIN) {
		come_to_door(ctx, task);
		return 1;
	}
	if (id >= GT_PROBE_ROWS && id < GT_PROBE_CONTEXTS) {
		note_callback(pid);
		return 1;
	}
	if (!row && id < GT_PROBE_ROWS)
		return 1;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		lose(pid, bpf_ktime_get_ns());
		return 1;
	}
	if (!t->known && row)
		first_call(task, t, pid);
	depth = t->depth;
	/* calls whose frames lie below this one never returned (longjmp): they are over */
	for (int i = 0; i < GT_PROBE_DEPTH; i++)
		if (depth > 0 && depth <= GT_PROBE_DEPTH &&
		    t->calls[WITHIN(depth - 1, GT_PROBE_DEPTH)].sp <= REGISTER_STACK(ctx)) {
			depth--;
			dropped |= t->calls[WITHIN(depth, GT_PROBE_DEPTH)].is_at_door;
		}
	/* it did not come back from there */
	if (dropped)
		lose(pid, bpf_ktime_get_ns());
	if (depth >= GT_PROBE_DEPTH) {
		lose(pid, bpf_ktime_get_ns());
		return 1;
	}
	p = &t->calls[WITHIN(depth, GT_PROBE_DEPTH)];
	p->sp = REGISTER_STACK(ctx);
	p->row = id;
	p->array_count = 0;
	p->is_tapped = p->is_at_door = 0;
	/* recorded by nobody: it only says which context is current */
	if (!row) {
		p->words[0] = REGISTER_ARGUMENT(ctx);
		t->depth = depth + 1;
		return 0;
	}
	keep_words(ctx, row, p->words);
	t->depth = depth;
	if (is_idle(row, p))
		return 1;
	p->begun_ns = bpf_ktime_get_ns();
	/* the probe of the return replaces it on the stack */
	p->caller = frames_max ? return_address_of(ctx) : 0;
	if (row->may_call_back && target && target->has_callbacks) {
		hand_over_begun(ctx, task, t, p);
		return 1;
	}
	if (row->array != GT_PROBE_NONE && !row->array_after)
		keep_array(t, row, p, depth);
	t->depth = depth + 1;
	if (!target || !(target->doors & row->door))
		return 0;
	p->is_tapped = 1;
	return 1;
}

/* Both are read first: ctx may only be read at fixed offsets. */
static __always_inline uint64_t result_of(struct pt_regs *ctx, bool is_tap)
{
	uint64_t returned = REGISTER_RESULT(ctx), told = REGISTER_SECOND(ctx);

	asm volatile("" : "+r"(returned), "+r"(told));
	return is_tap ? told : returned;
}

/* A call has returned, to its caller or to the recorder in its process. */
static __always_inline void left(struct pt_regs *ctx, bool is_tap)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	const struct gt_probe_row *row;
	struct gt_probe_call *c;
	uint64_t caller = 0;
	struct pending *p;
	uint32_t at, id;

	if (!t || !t->depth || off)
		return;
	at = find_call(t, ctx, is_tap);
	if (at >= GT_PROBE_DEPTH)
		return;
	p = &t->calls[WITHIN(at, GT_PROBE_DEPTH)];
	t->depth = at;
	id = p->row;
	if (id >= GT_PROBE_CONTEXTS) {
		if (!(uint32_t)REGISTER_RESULT(ctx))
			change_current(t, id & 7, p->words[0]);
		return;
	}
	row = bpf_map_lookup_elem(&rows, &id);
	if (!row)
		return;
	c = &t->call;
	c->ret = result_of(ctx, is_tap);
	c->unfinished = 0;
	fill_in(task, t, p);
	read_copies(row, c);
	if (row->current && !(uint32_t)c->ret) {
		change_current(t, row->current,
			       row->current == GT_CURRENT_PUSH ? c->copies[0] : c->words[0]);
		c->current = current_context(t);
	}
	if (row->driver)
		c->current = driver_of(row->driver == GT_PROBE_NONE ?
					       c->ret :
					       c->words[WITHIN(row->driver - 1, GT_PROBE_WORDS)]);
	if (row->array != GT_PROBE_NONE) {
		if (row->array_after) {
			c->array = read_array(t, row);
			if (id == GT_PROBE_ASKED + GT_ASKED_PLATFORMS)
				read_drivers(t);
		} else if (t->array_at == at + 1) {
			c->array = t->array;
			__builtin_memcpy(t->tail, t->handles, sizeof t->handles);
		}
	}
	if (has_python && pythons_known)
		send_python_stack(p->begun_ns, t->ring);
	if (is_tap && frames_max) {
		caller = return_address_of(ctx);
		c->from = p->caller;
	}
	if (!hand_over(ctx, task, t, caller))
		lose(c->pid, c->ended_ns);
}

SEC("uprobe")
int call_entered(struct pt_regs *ctx)
{
	entered(ctx);
	return 0;
}

SEC("uretprobe")
int call_left(struct pt_regs *ctx)
{
	left(ctx, false);
	return 0;
}

extern bool bpf_session_is_return(void) __ksym __weak;

/* Entry and return in one program, if the kernel can: a return may then be skipped. */
SEC("?uprobe")
int call_session(struct pt_regs *ctx)
{
	bool is_return = bpf_session_is_return();

	if (!is_return && bpf_get_attach_cookie(ctx) != GT_PROBE_TAP_CALL)
		return entered(ctx);
	left(ctx, !is_return);
	return 1;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct gt_probe_target fresh = { 0 }, *of_parent;
	struct gt_probe_event *e;
	uint32_t pid;

	if (child->pid != child->tgid || !is_wanted(process_of(parent)) ||
	    (no_children && !everyone))
		return 0;
	pid = number_of(child);
	of_parent = target_of(process_of(parent));
	fresh.has_callbacks = of_parent && of_parent->has_callbacks;
	fresh.doors = of_parent ? of_parent->doors : 0;
	if ((!everyone || fresh.has_callbacks || fresh.doors) && pid &&
	    bpf_map_update_elem(&targets, &pid, &fresh, BPF_ANY))
		__sync_fetch_and_add(&news_lost, 1);
	if (has_python)
		inherit_python(process_of(parent), pid);
	if (pid)
		inherit_space(parent, child, pid);
	e = news_of(child, GT_NEWS_FORK, pid);
	if (!e)
		return 0;
	e->start = child->start_boottime;
	set_parent(e, parent);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(execed, struct task_struct *task)
{
	uint32_t pid = process_of(task);
	struct gt_probe_target *target;
	struct gt_probe_event *e;

	bpf_task_storage_delete(&threads, task);
	if (has_python) {
		forget_python(pid);
		bpf_task_storage_delete(&python_threads, task);
	}
	/* a process without calls matters only if it is a target */
	if (off || !pid)
		return 0;
	forget_space(pid);
	target = bpf_map_lookup_elem(&targets, &pid);
	if (!target)
		return 0;
	e = news_of(task, GT_NEWS_EXEC, pid);
	if (e) {
		sum_lost(pid, &e->lost);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	/* what the next program loses is its own; it has no other threads yet */
	__builtin_memset(target, 0, sizeof *target);
	bpf_map_delete_elem(&lost_of, &pid);
	return 0;
}

/* Sends the call that a thread is in when its process ends; its stack is its caller alone. */
static __always_inline void hand_over_unfinished(struct task_struct *task, struct thread *t)
{
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
	struct gt_probe_call *c = &t->call;
	uint32_t depth = t->depth;
	struct pending *p;
	void *ring;

	/*
	 * calls whose frames lie below the last one never returned (longjmp): they are over; so are
	 * those that the loader has refused
	 */
	for (int i = 0; i < GT_PROBE_DEPTH; i++) {
		p = &t->calls[WITHIN(depth - 1, GT_PROBE_DEPTH)];
		if (depth > 0 && depth <= GT_PROBE_DEPTH &&
		    (p->sp < REGISTER_STACK(registers) || (p->is_tapped && !p->is_at_door)))
			depth--;
	}
	if (!depth || depth > GT_PROBE_DEPTH)
		return;
	p = &t->calls[WITHIN(depth - 1, GT_PROBE_DEPTH)];
	if (p->row >= GT_PROBE_ROWS)
		return;
	fill_in(task, t, p);
	c->ret = 0;
	c->unfinished = 1;
	c->array_count = 0;
	t->tail[0] = p->caller;
	c->frames = p->caller ? 1 : 0;
	ring = bpf_map_lookup_elem(&calls, &t->ring);
	if (ring)
		output(ring, c, sizeof *c + sizeof t->tail[0], wake_flag(t, ring));
}

/* True if a thread ends because its process ends or executes another program. */
static __always_inline bool is_taken_along(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);

	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		return true;
	return bpf_core_field_exists(signal->group_exec_task) &&
	       BPF_CORE_READ(signal, group_exec_task);
}

/* As wait_task_zombie() in the kernel has it: the thread that is last need not know. */
static __always_inline int status_of(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);

	return BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT ?
		       BPF_CORE_READ(signal, group_exit_code) :
		       BPF_CORE_READ(task, group_leader, exit_code);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	bool last = !BPF_CORE_READ(task, signal, live.counter);
	uint32_t pid = process_of(task);
	struct gt_probe_target *target;
	struct gt_probe_event *e;

	if (has_python && last)
		forget_python(pid);
	if ((!t && !last) || !pid || off)
		return 0;
	target = bpf_map_lookup_elem(&targets, &pid);
	if (!target)
		return 0;
	/* not a thread that ends by itself: the process goes on */
	if (t && t->depth && (last || BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT))
		hand_over_unfinished(task, t);
	/* threads that are there at the end count as such */
	if (!last && is_taken_along(task))
		return 0;
	e = news_of(task, last ? GT_NEWS_END : GT_NEWS_THREAD_END, pid);
	if (e) {
		e->exit_code = status_of(task);
		if (last)
			sum_lost(pid, &e->lost);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	/* the pid may be reused soon */
	if (last) {
		bpf_map_delete_elem(&targets, &pid);
		bpf_map_delete_elem(&lost_of, &pid);
		forget_space(pid);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
