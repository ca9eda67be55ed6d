/* SPDX-License-Identifier: MIT */
/* parents.c - the modules of processes that make no calls but have children that do. */
#include "capture/ebpf/parents.h"

#include <unistd.h>

#include "base/process.h"

void gt_parents_fini(struct gt_parents *p)
{
	for (size_t i = 0; i < GT_PARENTS_MAX; i++)
		gt_modules_fini(&p->list[i].modules);
	*p = (struct gt_parents){ 0 };
}

void gt_parents_stale(struct gt_parents *p, uint32_t pid)
{
	for (size_t i = 0; i < GT_PARENTS_MAX; i++)
		if (p->list[i].pid == pid)
			p->list[i].modules.is_stale = true;
}

/* A process that was met is known by its time from now on. */
static bool is_met(struct gt_parent *at, const struct gt_probe_event *child)
{
	uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);

	if (at->start || at->start_ticks != child->parent_start / tick_ns)
		return false;
	at->start = child->parent_start;
	at->exec = child->parent_exec;
	return true;
}

static struct gt_parent *find(struct gt_parents *p, const struct gt_probe_event *child)
{
	for (size_t i = 0; i < GT_PARENTS_MAX; i++) {
		struct gt_parent *at = &p->list[i];

		if (at->pid == child->parent &&
		    ((at->start == child->parent_start && at->exec == child->parent_exec) ||
		     is_met(at, child)))
			return at;
	}
	return NULL;
}

static struct gt_parent *add(struct gt_parents *p, const struct gt_parent *parent)
{
	struct gt_parent *at = &p->list[p->next++ % GT_PARENTS_MAX];

	gt_modules_fini(&at->modules);
	*at = *parent;
	at->modules.is_stale = true;
	return at;
}

void gt_parents_meet(struct gt_parents *p, struct gt_images *images, uint32_t pid)
{
	struct gt_process_state state;
	struct gt_parent *at;

	if (!gt_process_state_read(&state, pid) || state.is_ending)
		return;
	at = add(p, &(struct gt_parent){ .pid = pid, .start_ticks = state.start_ticks });
	gt_modules_look(&at->modules, images, pid);
}

const struct gt_modules *gt_parents_get(struct gt_parents *p, struct gt_images *images,
					const struct gt_probe_event *child)
{
	struct gt_parent *at;

	/* the number of exec calls is inherited: it differs where one of them made one since */
	if (!child->parent || child->exec != child->parent_exec)
		return NULL;
	at = find(p, child);
	if (!at)
		at = add(p, &(struct gt_parent){ .pid = child->parent,
						 .exec = child->parent_exec,
						 .start = child->parent_start });
	if (at->modules.is_stale && gt_modules_look(&at->modules, images, at->pid))
		gt_modules_forget_gone(&at->modules, NULL);
	return at->modules.count ? &at->modules : NULL;
}
