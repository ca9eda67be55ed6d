/* SPDX-License-Identifier: MIT */
/* board_forget.c - a board that serves for months: each site seen in turn, ended processes
 * forgotten. */
#include "ledger/board_state.h"

#include "base/mem.h"

void gt_board_on_drop(struct gt_board *b, gt_board_site_fn *dropped, void *context)
{
	b->dropped = dropped;
	b->dropped_context = context;
}

void gt_board_each_site(struct gt_board *b, gt_board_site_fn *each, void *context)
{
	for (size_t i = 0; i < b->site_count; i++)
		each(context, &b->sites[i]);
}

struct visit {
	const struct gt_board *board;
	void (*each)(void *context, const struct gt_entry *entry);
	void *context;
};

static bool visit_entry(void *context, const struct gt_entry *entry)
{
	const struct visit *v = context;
	struct gt_entry whole = *entry;
	const struct gt_extent *extent =
		gt_extents_find(&v->board->extents, entry->process, entry->handle);

	/* the bytes of its blocks are not its own while they live */
	if (extent && extent->handle == entry->handle && extent->first == entry->handle &&
	    extent->kind == gt_entry_kind(entry) && !extent->is_mapping)
		whole.size = extent->last - extent->first + 1;
	v->each(v->context, &whole);
	return true;
}

void gt_board_each_entry(const struct gt_board *b, uint16_t process,
			 void (*each)(void *context, const struct gt_entry *entry), void *context)
{
	struct visit v = { b, each, context };

	gt_live_each_of(&b->live, process, visit_entry, &v);
}

static bool has_ended(const void *board, uint16_t process)
{
	const struct gt_board *b = board;

	return process < b->process_count && b->processes[process].end_ns;
}

void gt_board_forget_ended(struct gt_board *b)
{
	bool any = false;

	for (size_t i = 0; i < b->process_count; i++)
		any |= b->processes[i].end_ns && b->processes[i].pid;
	if (!any)
		return;
	gt_board_drop_idle_sites(b);
	gt_ended_handles_forget(&b->ended, has_ended, b);
	for (size_t i = 0; i < b->process_count; i++) {
		struct gt_board_process *p = &b->processes[i];

		if (!p->end_ns || !p->pid)
			continue;
		/* it stays one that has ended until its number is given away */
		*p = (struct gt_board_process){ .end_ns = p->end_ns };
		GT_GROW(b->free_processes, b->free_count, b->free_room);
		b->free_processes[b->free_count++] = (uint16_t)i;
	}
}
