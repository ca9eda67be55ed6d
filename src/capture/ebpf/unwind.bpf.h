/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * unwind.bpf.h - unwinds a stack by the tool's tables, where the kernel has bpf_loop (Linux 5.17).
 *
 * Nothing is guessed: where the tables do not say enough, the walk ends as GT_WALK_… says, and the
 * tool gets a copy of the stack instead.
 */
#pragma once

enum { RETURNS_MAX = 16 }; /* calls whose return is probed, of one thread, that are looked at */

/* In order of its areas; read-only for programs, but for what fork inherits. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_SPACES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct gt_space_of);
} space_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_SPACES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gt_space_key);
	__type(value, struct gt_space_part);
} spaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_SHARDS_MAX);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__type(key, uint32_t);
	__type(value, uint64_t);
} shards SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_RULES_MAX);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__type(key, uint32_t);
	__type(value, struct gt_rule);
} rules SEC(".maps");

struct chunk {
	struct gt_row rows[GT_CHUNK_ROWS];
};

struct chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, GT_CHUNKS_MAX);
	__type(key, uint32_t);
	__array(values, struct chunk_map);
} chunks SEC(".maps");

struct walking {
	struct thread *thread;
	const struct gt_space_part *space;
	uint32_t id;
};

/* The space of a process; its id is 0 if there is none. */
static __always_inline uint32_t find_space(struct task_struct *task, uint32_t pid)
{
	const struct gt_space_of *of = bpf_map_lookup_elem(&space_of, &pid);

	if (!of || (of->start && (of->start != task->group_leader->start_boottime ||
				  of->exec != (uint32_t)task->self_exec_id)))
		return 0;
	return of->space;
}

/* A child has its parent's code. */
static __always_inline void inherit_space(struct task_struct *parent, struct task_struct *child,
					  uint32_t pid)
{
	struct gt_space_of own = { 0 };

	if (!unwinds_by_tables)
		return;
	own.space = find_space(parent, process_of(parent));
	own.start = child->start_boottime;
	own.exec = child->self_exec_id;
	if (own.space)
		bpf_map_update_elem(&space_of, &pid, &own, BPF_ANY);
}

/* The process has ended or become another program. */
static __always_inline void forget_space(uint32_t pid)
{
	if (unwinds_by_tables)
		bpf_map_delete_elem(&space_of, &pid);
}

/*
 * All bits if a >= b, otherwise none; for values below 2^63. Without a branch, of which the
 * verifier would follow both ways at every step of a search. In assembly, because the compiler
 * knows better.
 */
#ifndef SPREAD_SIGN
#define SPREAD_SIGN(word) asm volatile("%0 s>>= 63" : "+r"(word))
#endif
static __always_inline uint64_t if_not_below(uint64_t a, uint64_t b)
{
	uint64_t mask = a - b;

	SPREAD_SIGN(mask);
	return ~mask;
}

/* The last of the areas that begins at or before the address. */
static __always_inline const struct gt_space_area *search_areas(const struct gt_space_part *s,
								uint64_t address)
{
	uint64_t at = s->unused; /* 0, but not to the verifier, which would count every way */

#pragma unroll
	for (uint32_t half = GT_SPACE_AREAS / 2; half; half /= 2)
		at += half &
		      if_not_below(address, s->areas[WITHIN(at + half, GT_SPACE_AREAS)].start);
	return &s->areas[WITHIN(at, GT_SPACE_AREAS)];
}

/* The part of a large space that has the address. */
static __always_inline const struct gt_space_part *search_parts(const struct walking *w,
								uint64_t address)
{
	struct gt_space_key key = { .space = w->id };
	uint64_t at = w->space->unused;

#pragma unroll
	for (uint32_t half = GT_SPACE_PARTS / 2; half; half /= 2)
		at += half &
		      if_not_below(address, w->space->firsts[WITHIN(at + half, GT_SPACE_PARTS)]);
	key.part = 1 + at;
	return bpf_map_lookup_elem(&spaces, &key);
}

/* Finds the area of an address; false: there is no code, as far as is known. */
static __always_inline bool find_area(const struct walking *w, struct walk *k, uint64_t address)
{
	const struct gt_space_part *s = w->space;
	const struct gt_space_area *area;

	if (address - k->area.start < (uint64_t)k->area.pages << 12)
		return true;
	if (s->parts)
		s = search_parts(w, address);
	if (!s)
		return false;
	area = search_areas(s, address);
	if (address < area->start || address - area->start >= (uint64_t)area->pages << 12)
		return false;
	k->area = *area;
	return true;
}

/* The number of the rule at an address of the area, + 1; 0: its rows are not there. */
static __always_inline uint32_t search_rule(const struct walk *k, uint64_t address)
{
	uint64_t offset = address - k->area.start, at, half;
	uint32_t number = k->area.shard + (offset >> 16), zero = 0, chunk_number;
	const volatile uint64_t *found = bpf_map_lookup_elem(&shards, &number);
	const struct chunk *chunk;
	uint64_t shard, end;
	void *inner;

	if (!found)
		return 0;
	shard = *found;
	chunk_number = GT_SHARD_CHUNK(shard);
	if (!chunk_number)
		return 0;
	inner = bpf_map_lookup_elem(&chunks, &chunk_number);
	if (!inner)
		return 0;
	chunk = bpf_map_lookup_elem(inner, &zero);
	if (!chunk)
		return 0;
	offset &= 0xffff;
	at = GT_SHARD_FIRST(shard);
	end = at + GT_SHARD_COUNT(shard);
	half = GT_SHARD_HALF(shard);
	for (int i = 0; i < 16 && half; i++) {
		uint64_t next = at + half;

		at += half & ~if_not_below(next, end) &
		      if_not_below(offset, chunk->rows[WITHIN(next, GT_CHUNK_ROWS)].at);
		half >>= 1;
	}
	return 1 + chunk->rows[WITHIN(at, GT_CHUNK_ROWS)].rule;
}

/* Eight bytes of code from an address on; 0: it cannot be read. */
static __always_inline uint64_t code_at(uint64_t address)
{
	uint64_t code = 0;

	bpf_probe_read_user(&code, sizeof code, (void *)address);
	return code;
}

/*
 * The return address that the kernel replaced by one of its own, to probe the return: of one of our
 * calls further out, or by another tracer. `from`, `to`: where the stack pointer was when that call
 * began.
 */
static __always_inline uint64_t true_return(uint64_t from, uint64_t to)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct return_instance *r = BPF_CORE_READ(task, utask, return_instances);

	for (int i = 0; i < RETURNS_MAX && r; i++) {
		uint64_t stack = BPF_CORE_READ(r, stack);

		if (stack >= from && stack <= to)
			return BPF_CORE_READ(r, orig_ret_vaddr);
		r = BPF_CORE_READ(r, next);
	}
	return 0;
}

/*
 * Reads two words of the stack. Frames are small, and reading user memory takes its time, so more
 * than these are read at once.
 */
static __always_inline bool read_pair(struct walk *k, uint64_t at, uint64_t *first,
				      uint64_t *second)
{
	uint64_t words[2], index = (at - k->window_at) >> 3;

	if (index > WINDOW - 2 || at & 7) {
		if (at & 7 || bpf_probe_read_user(k->window, sizeof k->window, (void *)at)) {
			if (bpf_probe_read_user(words, sizeof words, (void *)at))
				return false;
			*first = words[0];
			*second = words[1];
			k->window_at = 0;
			return true;
		}
		k->window_at = at;
		index = 0;
	}
	*first = k->window[WITHIN(index, WINDOW)];
	*second = k->window[WITHIN(index + 1, WINDOW)];
	return true;
}

/* True when a call instruction ends at the address, or it is where Go's outermost frames begin. */
static __always_inline bool is_after_call(uint64_t address, bool is_outermost)
{
	uint8_t code[8];

	if (bpf_probe_read_user(code, sizeof code, (void *)(address - sizeof code)))
		return false;
	if (is_outermost && ends_with_go_exit(code))
		return true;
	return ends_with_call(code);
}

/* The real return address of a frame whose two saved words lie at `bp`; 0: it is not known. */
static __always_inline uint64_t true_return_of(uint64_t bp, uint64_t address)
{
	if (CALL_PUSHES)
		return true_return(bp + 8, bp + 8);
	/* its frame ends anywhere above: that of the innermost call which is probed and not done */
	return is_return_probe(code_at(address)) ? true_return(bp + 16, ~0ull) : 0;
}

/*
 * Code without rules: its frame pointer is believed, if it leads up the stack and to the end of a
 * call. Go calls C on the thread's own stack, from a stack that lies anywhere: that is believed
 * once, within a program. Where such a frame ends is not known if its two words lie at its low end.
 */
static __always_inline bool step_by_frame_pointer(struct walk *k)
{
	uint64_t words[2];

	/* threads begin with a frame pointer of 0 */
	if (!k->bp)
		k->end = GT_WALK_WHOLE;
	if (!k->bp || k->bp & 7 || bpf_probe_read_user(words, sizeof words, (void *)k->bp))
		return false;
	words[1] = code_address(words[1]);
	if (k->bp < k->sp) {
		if (k->has_switched || words[1] - k->area.start >= (uint64_t)k->area.pages << 12)
			return false;
		k->has_switched = 1;
	}
	if (!is_after_call(words[1], !words[0])) {
		words[1] = true_return_of(k->bp, words[1]);
		if (!words[1])
			return false;
	}
	k->sp = k->bp + 16;
	k->bp = words[0];
	k->pc = words[1];
	k->is_exact = 0;
	k->is_guessed = !CALL_PUSHES;
	return true;
}

static __always_inline bool step_from_signal(struct walk *k)
{
	uint64_t sp = k->sp;

	k->is_exact = 1;
	if (GT_SIGNAL_LINK != 0 && bpf_probe_read_user(&k->link, 8, (void *)sp + GT_SIGNAL_LINK))
		return false;
	return !bpf_probe_read_user(&k->bp, 8, (void *)sp + GT_SIGNAL_FP) &&
	       !bpf_probe_read_user(&k->pc, 8, (void *)sp + GT_SIGNAL_PC) &&
	       !bpf_probe_read_user(&k->sp, 8, (void *)sp + GT_SIGNAL_SP);
}

static __always_inline bool find_cfa(const struct walk *k, const struct gt_rule *r, uint64_t *cfa)
{
	uint8_t how = r->how;
	uint64_t base = how == GT_RULE_FP || how == GT_RULE_AT_FP ? k->bp : k->sp;

	*cfa = base + (int64_t)r->offset;
	if (how == GT_RULE_AT_SP || how == GT_RULE_AT_FP) {
		if (bpf_probe_read_user(&base, sizeof base, (void *)*cfa))
			return false;
		*cfa = base + (int64_t)r->add;
	} else if (how == GT_RULE_PLT && (k->pc & 15) >= r->add) {
		*cfa += 8;
	}
	/* stacks grow down: a caller's frame must lie above; a signal may interrupt what has
	 * nothing on the stack */
	return *cfa > k->sp || (!CALL_PUSHES && k->is_exact && *cfa == k->sp);
}

/* Reads the caller's frame pointer and the return address, which the call has pushed. */
static __always_inline bool read_pushed(struct walk *k, const struct gt_rule *r, uint64_t cfa)
{
	uint64_t rbp = k->bp, saved, address;
	uint8_t how = r->fp_how;

	if (how == GT_FP_UNKNOWN)
		rbp = 0;
	else if (how != GT_FP_SAME && (how != GT_FP_AT_CFA || r->fp != -16) &&
		 !read_pair(k, (how == GT_FP_AT_CFA ? cfa : rbp) + (int64_t)r->fp, &rbp, &saved))
		return false;
	if (!read_pair(k, cfa - 16, &saved, &address))
		return false;
	if (how == GT_FP_AT_CFA && r->fp == -16)
		rbp = saved;
	k->bp = rbp;
	k->pc = address;
	return true;
}

/* The same, where the call has left the return address in a register, and the function saved it. */
static __always_inline bool read_linked(struct walk *k, const struct gt_rule *r, uint64_t cfa)
{
	uint64_t saved = 0, address = k->link;
	uint8_t how = r->fp_how;

	/* one that was not saved is known only where a signal arrived */
	if (how == GT_FP_LEAF ? !k->is_exact :
				!read_pair(k, cfa + (int64_t)r->fp, &saved, &address))
		return false;
	if (how == GT_FP_AT_CFA || how == GT_FP_UNKNOWN)
		k->bp = how == GT_FP_AT_CFA ? saved : 0;
	k->pc = code_address(address);
	return true;
}

static __always_inline bool step_by_rule(struct walk *k, const struct gt_rule *r)
{
	uint64_t cfa;

	if (!find_cfa(k, r, &cfa) ||
	    !(CALL_PUSHES ? read_pushed(k, r, cfa) : read_linked(k, r, cfa)))
		return false;
	k->sp = cfa;
	k->is_exact = 0;
	return true;
}

/* From a frame to its caller's; false: the walk is over, as k->end says. */
static __always_inline bool step(struct walk *k, uint32_t number)
{
	const struct gt_rule *r;

	number--;
	r = bpf_map_lookup_elem(&rules, &number);
	k->end = GT_WALK_CUT;
	if (!r)
		return false;
	if (!CALL_PUSHES && k->is_guessed)
		return step_by_frame_pointer(k);
	if (r->how >= GT_RULE_SP && r->how <= GT_RULE_PLT)
		return step_by_rule(k, r);
	if (r->how == GT_RULE_SIGNAL)
		return step_from_signal(k);
	if (r->how == GT_RULE_NONE)
		return !CALL_PUSHES && is_signal_return(code_at(k->pc)) ? step_from_signal(k) :
									  step_by_frame_pointer(k);
	k->end = r->how == GT_RULE_END ? GT_WALK_WHOLE : GT_WALK_RULE;
	return false;
}

/* Finds the area of the address that the walk has reached, and the number of its rule, + 1. */
static __always_inline uint32_t find_rule(struct walking *w, struct walk *k, uint32_t index)
{
	/* a return address may be past the end of its function: look up the call before it */
	uint64_t look = k->pc - !k->is_exact;
	uint32_t number;

	if (!find_area(w, k, look)) {
		uint64_t slot = k->sp - CALL_PUSHES;
		uint64_t address = index ? true_return(slot, slot) : 0;

		if (!CALL_PUSHES && is_signal_return(code_at(k->pc)))
			return 1; /* the kernel's, in no file; as below */
		look = address - 1;
		if (!address || !find_area(w, k, look)) {
			k->end = GT_WALK_STRANGE;
			return 0;
		}
		k->pc = address;
	}
	if (k->area.shard == GT_AREA_BARE)
		return 1; /* the first rule: there is none */
	number = search_rule(k, look);
	if (!number) {
		/* the address itself is known to be code */
		w->thread->tail[WITHIN(k->at + index, GT_PROBE_TAIL)] = k->pc;
		k->count = index + 1;
		k->end = GT_WALK_ROWS;
	}
	return number;
}

/* Adds the frame that the walk has reached, and goes on to its caller; 1: the walk is over. */
static long walk_on(uint32_t index, struct walking *w)
{
	struct thread *t = w->thread;
	struct walk *k = &t->walk;
	uint64_t pc = k->pc, key = pc << 1 | k->is_exact;
	struct known_rule *known =
		&t->known_rules[WITHIN(key * 0x9e3779b97f4a7c15 >> 57, KNOWN_RULES)];
	uint32_t number = known->rule;

	if (!pc) {
		k->end = GT_WALK_WHOLE;
		return 1;
	}
	if (known->pc != key || known->space != w->id) {
		number = find_rule(w, k, index);
		if (!number)
			return 1;
		if (k->pc == pc && number > 1) {
			known->pc = key;
			known->space = w->id;
			known->rule = number;
		}
	}
	t->tail[WITHIN(k->at + index, GT_PROBE_TAIL)] = k->pc;
	k->count = index + 1;
	if (k->count >= k->most) {
		k->end = GT_WALK_WHOLE;
		return 1;
	}
	return !step(k, number);
}

/*
 * Unwinds the stack of a call into t->tail, from `at` on; `caller`: the call has only begun, and
 * its return address, which is this, is still on the stack. Returns how it ended.
 */
static __always_inline uint32_t walk_stack(struct pt_regs *ctx, struct task_struct *task,
					   struct thread *t, uint32_t at, uint64_t caller)
{
	struct walking w = { .thread = t };
	struct gt_space_key key = { 0 };
	struct walk *k = &t->walk;

	k->count = 0;
	w.id = key.space = find_space(task, t->call.pid);
	if (!w.id)
		return GT_WALK_SPACE;
	w.space = bpf_map_lookup_elem(&spaces, &key);
	if (!w.space)
		return GT_WALK_SPACE;
	k->pc = caller ? caller : REGISTER_ADDRESS(ctx);
	k->sp = REGISTER_STACK(ctx) + (caller ? CALL_PUSHES : 0);
	k->bp = REGISTER_FRAME(ctx);
	k->area.pages = 0;
	k->at = at;
	k->most = t->call.from ? frames_max + GT_PROBE_OWN : frames_max;
	if (k->most > GT_PROBE_FRAMES)
		k->most = GT_PROBE_FRAMES;
	k->is_exact = 0;
	k->has_switched = 0;
	k->is_guessed = 0;
	k->window_at = 0;
	k->end = GT_WALK_CUT;
	bpf_loop(GT_PROBE_FRAMES, walk_on, &w, 0);
	/* the tool may have replaced the space meanwhile, and the kernel reused its memory */
	if (w.space->id != w.id)
		return GT_WALK_SPACE;
	return k->end;
}
