/* SPDX-License-Identifier: MIT */
/* parents.c - the modules of processes that make no calls but have children that do. */
#include "capture/ebpf/parents.h"

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

static struct gt_parent *find(struct gt_parents *p, const struct gt_probe_event *child)
{
	for (size_t i = 0; i < GT_PARENTS_MAX; i++)
		if (p->list[i].pid == child->parent && p->list[i].start == child->parent_start &&
		    p->list[i].exec == child->parent_exec)
			return &p->list[i];
	return NULL;
}

const struct gt_modules *gt_parents_get(struct gt_parents *p, struct gt_images *images,
					const struct gt_probe_event *child)
{
	struct gt_parent *at;

	/* the number of exec calls is inherited: it differs where one of them made one since */
	if (!child->parent || child->exec != child->parent_exec)
		return NULL;
	at = find(p, child);
	if (!at) {
		at = &p->list[p->next++ % GT_PARENTS_MAX];
		gt_modules_fini(&at->modules);
		*at = (struct gt_parent){ .pid = child->parent,
					  .exec = child->parent_exec,
					  .start = child->parent_start,
					  .modules = { .is_stale = true } };
	}
	if (at->modules.is_stale && gt_modules_look(&at->modules, images, at->pid))
		gt_modules_forget_gone(&at->modules, NULL);
	return at->modules.count ? &at->modules : NULL;
}
