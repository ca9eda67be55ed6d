/* SPDX-License-Identifier: MIT */
/* tracer_stacks.c - the stacks of calls as the BPF programs send them, and the tables for those. */
#include "capture/ebpf/tracer_stacks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "base/process.h"
#include "capture/ebpf/probe_rows.h"
#include "capture/ebpf/traced.h"
#include "capture/ebpf/unwind.h"

enum { LOOKS_MAX = 4 };

/* Images stay open while processes have them mapped. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void gt_tracer_stacks_init(struct gt_tracer_stacks *s, struct gt_images *images,
			   const struct gt_probes *probes, const struct gt_probes_options *options)
{
	enum gt_unwinding how = gt_probes_unwinding(probes);
	struct gt_unwind_maps maps = gt_probes_unwind_maps(probes);

	s->images = images;
	s->depth = options->frames < GT_PROBE_FRAMES ? options->frames : GT_PROBE_FRAMES;
	images->keep_open = options->frames && how != GT_UNWIND_FP;
	if (images->keep_open)
		raise_files();
	if (options->frames && how == GT_UNWIND_AUTO)
		s->tables = gt_unwind_tables_new(&maps);
}

void gt_tracer_stacks_fini(struct gt_tracer_stacks *s)
{
	while (s->early_count)
		gt_tracer_stacks_exec(s, s->early[0].pid);
	free(s->early);
	gt_unwind_tables_free(s->tables);
	*s = (struct gt_tracer_stacks){ 0 };
}

void gt_tracer_stacks_follow(struct gt_tracer_stacks *s, uint32_t pid)
{
	struct gt_early_space early = { .pid = pid };
	struct gt_space_user user = { .pid = pid };
	struct gt_space *before;
	int looks = 0;

	if (!s->tables)
		return;
	/* it may have run another program before it was told: look again until nothing changes */
	do {
		before = early.space;
		gt_modules_fini(&early.modules);
		gt_modules_look(&early.modules, s->images, pid);
		early.space = gt_space_update(s->tables, before, &early.modules, &user);
	} while (early.space != before && ++looks < LOOKS_MAX);
	GT_GROW(s->early, s->early_count, s->early_room);
	s->early[s->early_count++] = early;
}

static bool take_early(struct gt_tracer_stacks *s, uint32_t pid, struct gt_early_space *early)
{
	for (size_t i = 0; i < s->early_count; i++) {
		if (s->early[i].pid != pid)
			continue;
		*early = s->early[i];
		s->early[i] = s->early[--s->early_count];
		return true;
	}
	return false;
}

void gt_tracer_stacks_adopt(struct gt_tracer_stacks *s, struct gt_traced *p)
{
	struct gt_early_space early;

	if (!take_early(s, p->pid, &early))
		return;
	if (!p->modules.count)
		gt_modules_inherit(&p->modules, &early.modules);
	if (!p->space)
		p->space = early.space;
	else
		gt_space_release(s->tables, early.space, p->pid);
	gt_modules_fini(&early.modules);
}

void gt_tracer_stacks_exec(struct gt_tracer_stacks *s, uint32_t pid)
{
	struct gt_early_space early;

	if (!take_early(s, pid, &early))
		return;
	gt_space_release(s->tables, early.space, pid);
	gt_modules_fini(&early.modules);
}

static void prepare(struct gt_tracer_stacks *s, struct gt_traced *p)
{
	struct gt_space_user user = { .pid = p->pid, .start = p->start, .exec = p->exec };

	if (p->modules.is_gone || p->is_over)
		return;
	p->space = gt_space_update(s->tables, p->space, &p->modules, &user);
	p->space_looks = p->modules.looks;
	p->space_ns = gt_now_ns();
}

void gt_tracer_stacks_prepare(struct gt_tracer_stacks *s, struct gt_traced *p)
{
	if (s->tables && p->space_looks != p->modules.looks)
		prepare(s, p);
}

void gt_tracer_stacks_fork(struct gt_traced *parent, struct gt_traced *child)
{
	child->space = gt_space_share(parent->space);
}

void gt_tracer_stacks_end(struct gt_tracer_stacks *s, struct gt_traced *p)
{
	gt_space_release(s->tables, p->space, p->pid);
	p->space = NULL;
}

/* A copy came because the tables lack something. */
static void complete(struct gt_tracer_stacks *s, struct gt_traced *p, const struct gt_probe_call *c,
		     const uint64_t *frames, size_t count)
{
	const struct gt_mapped *at = NULL;

	/* unless it was sent before they were told: thousands of those may have been waiting */
	if (c->walk == GT_WALK_SPACE && p->space_looks == p->modules.looks &&
	    c->ended_ns > p->space_ns) {
		p->modules.is_stale = true;
		gt_traced_refresh(p, s->images);
	}
	gt_tracer_stacks_prepare(s, p);
	for (size_t i = 0; i < count; i++) {
		uint64_t call = frames[i] - 1; /* the return address may be past its function */

		at = gt_modules_find_near(&p->modules, at, call);
		if (at)
			gt_unwind_tables_need(s->tables, at->image, call - at->bias);
	}
}

static size_t unwind_copy(struct gt_tracer_stacks *s, struct gt_traced *p,
			  const struct gt_probe_call *c, uint64_t *frames)
{
	const struct gt_probe_stack *stack = (const struct gt_probe_stack *)(c + 1);
	const uint8_t *bytes = (const uint8_t *)(gt_probe_call_array(c) + GT_PROBE_ARRAY);
	size_t most = s->depth + (c->from ? GT_PROBE_OWN : 0), count;

	if (most > GT_PROBE_FRAMES)
		most = GT_PROBE_FRAMES;

	gt_traced_refresh(p, s->images);
	count = gt_unwind_copy(&p->modules, stack, bytes, c->stack_bytes, frames, most);
	/* a library that is new leads on */
	if (!gt_modules_find(&p->modules, frames[count - 1] - 1) && gt_traced_look_again(p))
		count = gt_unwind_copy(&p->modules, stack, bytes, c->stack_bytes, frames, most);
	return count;
}

/* Leaves out the frames of a recorder, in which the call was seen to end. */
static size_t drop_recorder(uint64_t *frames, size_t count, uint64_t from, size_t most)
{
	size_t first = 0;

	while (first < count && first < GT_PROBE_OWN && frames[first] != from)
		first++;
	/* not found: only the caller is certain */
	if (first == count || first == GT_PROBE_OWN) {
		frames[0] = from;
		return 1;
	}
	count -= first;
	memmove(frames, frames + first, count * sizeof *frames);
	return count < most ? count : most;
}

uint32_t gt_tracer_stacks_take(struct gt_tracer_stacks *s, struct gt_traced *p,
			       const struct gt_probe_call *c)
{
	bool by_tables = c->walk != GT_WALK_NOT && c->walk != GT_WALK_SPACE;
	uint64_t frames[GT_PROBE_FRAMES];
	size_t count = c->frames;

	if (c->has_copy) {
		count = unwind_copy(s, p, c, frames);
	} else {
		memcpy(frames, gt_probe_call_array(c) + c->array, count * sizeof *frames);
		if (!by_tables)
			count = gt_traced_stack_trim(p, s->images, frames, count);
		s->cut += by_tables ? c->walk != GT_WALK_WHOLE : count < c->frames;
	}
	if (s->tables && c->has_copy)
		complete(s, p, c, frames, count);
	else
		gt_tracer_stacks_prepare(s, p);
	if (c->from)
		count = drop_recorder(frames, count, c->from, s->depth);
	count = gt_traced_python_merge(p->python, p->writer, c->tid, c->begun_ns, frames, count,
				       s->depth);
	return gt_traced_stack_number(p, s->images, frames, count);
}
