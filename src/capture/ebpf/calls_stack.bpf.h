/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * calls_stack.bpf.h - sends a call with its stack: unwound by tables or by frame pointers, or as a
 * copy that the tool unwinds.
 */
#pragma once

/* Follows frame pointers that lead to another stack: Go calls C on the thread's own. */
static __always_inline void read_others(struct gt_probe_stack *s, uint64_t sp, uint64_t bp)
{
	uint64_t words[2];

	s->other_count = 0;
	if (bp >= sp)
		return;
	for (uint32_t i = 0; i < GT_PROBE_OTHERS; i++) {
		if (!bp || bp & 7 || bpf_probe_read_user(words, sizeof words, (void *)bp))
			break;
		s->others[i] = code_address(words[1]);
		s->other_count = i + 1;
		if (words[0] <= bp)
			break;
		bp = words[0];
	}
}

/*
 * Sends the call with its registers and the top of its stack. `caller`: the call has only begun,
 * and the return address, which is this, is still on the stack.
 */
static __always_inline bool hand_over_stack(struct pt_regs *ctx, struct thread *t, uint64_t caller)
{
	struct whole {
		struct gt_probe_call call;
		struct gt_probe_stack stack;
		uint64_t handles[GT_PROBE_ARRAY];
		uint8_t bytes[];
	} * w;
	uint64_t sp = REGISTER_STACK(ctx) + (caller ? CALL_PUSHES : 0);
	void *ring = bpf_map_lookup_elem(&calls, &t->ring);
	uint32_t copied = 0;
	uint64_t flags;

	if (!ring)
		return false;
	flags = unwinds_by_tables ? wake_for_copy(t, ring) : wake_flag(t, ring);
	hold();
	w = bpf_ringbuf_reserve(ring, sizeof *w + stack_bytes, 0);
	if (!w) {
		let_go();
		return false;
	}
	w->call = t->call;
	__builtin_memcpy(w->handles, t->tail, sizeof w->handles);
	copy_registers(w->stack.registers, ctx, sp, caller ? caller : REGISTER_ADDRESS(ctx));
	read_others(&w->stack, sp, REGISTER_FRAME(ctx));
	/* all at once or, near the end of the stack, as much as there is */
	if (!bpf_probe_read_user(w->bytes, stack_bytes, (void *)sp)) {
		copied = stack_bytes;
	} else {
		for (uint32_t i = 0; i < GT_PROBE_STACK_MAX / 256; i++) {
			if (copied + 256 > stack_bytes ||
			    bpf_probe_read_user(w->bytes + copied, 256, (void *)sp + copied))
				break;
			copied += 256;
		}
	}
	w->call.stack_bytes = copied;
	w->call.frames = 0;
	w->call.has_copy = 1;
	bpf_ringbuf_submit(w, flags);
	let_go();
	return true;
}

/*
 * The stack of a call that has only begun: without its own frame. The kernel knows its caller only
 * where the function begins with an instruction that it recognises (Linux 6.11).
 */
static __always_inline long stack_at_entry(struct pt_regs *ctx, struct thread *t, uint64_t caller)
{
	const uint64_t flags = BPF_F_USER_STACK | 1;
	uint32_t size = frames_max * sizeof(uint64_t);
	long n = bpf_get_stack(ctx, t->tail, size, flags);

	if (n > 0 && t->tail[0] == caller)
		return n;
	t->tail[0] = caller;
	n = bpf_get_stack(ctx, &t->tail[1], size, flags);
	n = (n > 0 ? n : 0) + sizeof(uint64_t);
	return n > size ? size : n;
}

/* Sends the call with the frames in t->tail, of this many bytes. */
static __always_inline bool send(struct thread *t, uint64_t size)
{
	struct gt_probe_call *c = &t->call;
	uint64_t array = WITHIN(c->array, GT_PROBE_ARRAY);
	void *ring = bpf_map_lookup_elem(&calls, &t->ring);

	if (!ring)
		return false;
	if (size > GT_PROBE_FRAMES * sizeof(uint64_t))
		size = 0;
	size = WITHIN(size, (GT_PROBE_FRAMES + 1) * sizeof(uint64_t));
	c->frames = size / sizeof(uint64_t);
	size += array * sizeof(uint64_t) + sizeof *c;
	return output(ring, c, size, wake_flag(t, ring));
}

static __always_inline bool hand_over_by_pointers(struct pt_regs *ctx, struct thread *t,
						  uint64_t caller)
{
	uint64_t array = WITHIN(t->call.array, GT_PROBE_ARRAY);
	long n = 0;

	if (caller)
		n = stack_at_entry(ctx, t, caller);
	else if (frames_max)
		n = bpf_get_stack(ctx, &t->tail[array], frames_max * sizeof(uint64_t),
				  BPF_F_USER_STACK);
	return send(t, n > 0 ? n : 0);
}

/*
 * Copies may wait for half of a ring: then no event is lost, and a stack is as long as is known. If
 * frames of Python have been sent for this call, it has to follow them on their ring.
 */
static __always_inline bool has_room_for_copy(struct thread *t)
{
	uint64_t elsewhere = backlog / (ring_mask + 1);
	void *ring = bpf_map_lookup_elem(&calls, &t->ring);

	if (elsewhere >= ring_bytes / 2)
		return false;
	if (ring && waiting_in(ring) + elsewhere < ring_bytes / 2)
		return true;
	return !has_python && change_ring(t, ring_bytes / 2 - elsewhere, &own_slot()->all_half_ns);
}

static __always_inline bool hand_over_by_tables(struct pt_regs *ctx, struct task_struct *task,
						struct thread *t, uint64_t caller)
{
	struct gt_probe_call *c = &t->call;
	uint32_t end = walk_stack(ctx, task, t, WITHIN(c->array, GT_PROBE_ARRAY), caller);

	c->walk = end;
	if (end >= GT_WALK_STRANGE && has_room_for_copy(t))
		return hand_over_stack(ctx, t, caller);
	if (end == GT_WALK_SPACE)
		return hand_over_by_pointers(ctx, t, caller);
	return send(t, (uint64_t)t->walk.count * sizeof(uint64_t));
}

/* `caller`: as in hand_over_stack. */
static __always_inline bool hand_over(struct pt_regs *ctx, struct task_struct *task,
				      struct thread *t, uint64_t caller)
{
	if (unwinds_by_tables)
		return hand_over_by_tables(ctx, task, t, caller);
	return stack_bytes ? hand_over_stack(ctx, t, caller) :
			     hand_over_by_pointers(ctx, t, caller);
}
