/* SPDX-License-Identifier: MIT */
/* live_view.c - what attached processes hold, kept while they run and shown now and then. */
#include "cli/attach/live_view.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/process.h"
#include "cli/attach/site_names.h"
#include "cli/terminal.h"
#include "screen/board_text.h"
#include "replay/stack.h"

static void began(void *context, struct gt_traced *process)
{
	struct gt_attach_live *l = context;

	process->number = gt_board_add(l->board, process->pid, process->name, process->first_ns);
	if (process->number == GT_BOARD_ALL)
		return;
	GT_GROW(l->processes, l->process_count, l->process_room);
	l->processes[l->process_count++] = process;
}

static void event(void *context, struct gt_traced *process, const struct gt_event *e)
{
	struct gt_attach_live *l = context;

	if (process->number != GT_BOARD_ALL)
		gt_board_apply(l->board, e, process->number);
}

static void ended(void *context, struct gt_traced *process)
{
	struct gt_attach_live *l = context;

	if (process->number == GT_BOARD_ALL)
		return;
	gt_board_lose(l->board, process->number,
		      process->lost - gt_board_process(l->board, process->number)->lost);
	gt_board_end(l->board, process->number, gt_now_ns());
	l->processes[process->number] = NULL;
}

void gt_attach_live_init(struct gt_attach_live *l)
{
	*l = (struct gt_attach_live){ .board = gt_board_new(), .since_ns = gt_now_ns() };
	l->names = gt_attach_names_new(l);
	l->listener = (struct gt_listener){
		.began = began, .event = event, .ended = ended, .context = l
	};
	gt_board_tick(l->board, l->since_ns);
}

void gt_attach_live_fini(struct gt_attach_live *l)
{
	gt_attach_names_free(l->names);
	free(l->processes);
	gt_board_free(l->board);
}

static void where(void *context, struct gt_printer *p, uint16_t process, uint32_t stack,
		  unsigned columns)
{
	const struct gt_attach_live *l = context;
	const struct gt_frame *frames, *told[GT_WHERE_FRAMES];
	size_t count = gt_attach_names_get(l->names, process, stack, GT_WHERE_FRAMES, &frames);

	if (count > GT_WHERE_FRAMES)
		count = GT_WHERE_FRAMES;
	for (size_t i = 0; i < count; i++)
		told[i] = &frames[i];
	if (count)
		gt_frames_where(p, told, count, columns);
}

void gt_attach_live_tick(struct gt_attach_live *l)
{
	for (size_t i = 0; i < l->process_count; i++)
		if (l->processes[i])
			gt_board_lose(l->board, (uint16_t)i,
				      l->processes[i]->lost -
					      gt_board_process(l->board, (uint16_t)i)->lost);
	gt_board_tick(l->board, gt_now_ns());
}

void gt_attach_live_show(struct gt_attach_live *l, FILE *out, size_t top, uint64_t lost)
{
	struct gt_style style = gt_terminal_style(out, GT_COLOR_AUTO);
	struct gt_printer page;

	gt_attach_live_tick(l);
	gt_print_init(&page, out, &style);
	gt_board_text(&page, l->board,
		      &(struct gt_board_view){ .top = top,
					       .now_ns = gt_now_ns(),
					       .since_ns = l->since_ns,
					       .lost = lost,
					       .where = where,
					       .context = l });
	fflush(out);
}
