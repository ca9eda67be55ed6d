/* live.c - what attached processes hold, kept while they run and shown now and then. */
#include "cli/attach/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/terminal.h"
#include "symbol/symbol.h"
#include "view/board.h"

/* A stack that has been shown: "make_vector < main  src/leaky.c:81". */
struct gt_site_name {
	uint16_t process;
	uint32_t stack;
	char *functions, *place;
};

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
	l->listener = (struct gt_listener){ .began = began, .event = event, .ended = ended,
					    .context = l };
	gt_board_tick(l->board, l->since_ns);
}

void gt_attach_live_fini(struct gt_attach_live *l)
{
	for (size_t i = 0; i < l->name_count; i++) {
		free(l->names[i].functions);
		free(l->names[i].place);
	}
	free(l->names);
	free(l->processes);
	if (l->symbolizer)
		gt_symbolizer_free(l->symbolizer);
	gt_board_free(l->board);
}

/* The first functions of a stack, and where the innermost one is. */
static void resolve(struct gt_attach_live *l, struct gt_site_name *name)
{
	const struct gt_traced *process = l->processes[name->process];
	char functions[256] = "", place[512] = "";
	const uint64_t *frames;
	size_t count = gt_traced_stack(process, name->stack, &frames), used = 0, shown = 0;

	for (size_t i = 0; i < count && shown < 3; i++) {
		const struct gt_mapped *at = gt_modules_find(&process->modules, frames[i]);
		const struct gt_frame *found;
		size_t inlined;
		int module;

		if (!at)
			continue;
		module = gt_symbolizer_module(l->symbolizer, &(struct gt_symbol_module){
			.path = gt_image_path(at->image, process->pid), .build_id = at->image->build_id,
			.build_id_size = at->image->build_id_size,
			.size_bytes = at->image->file_size, .mtime_ns = at->image->mtime_ns });
		inlined = module < 0 ? 0 : gt_symbolizer_resolve(l->symbolizer, module,
								 frames[i] - 1 - at->bias, &found);
		for (size_t j = 0; j < inlined && shown < 3 && used < sizeof functions;
		     j++, shown++) {
			used += (size_t)snprintf(functions + used, sizeof functions - used, "%s%s",
						 shown ? " < " : "",
						 found[j].function ? found[j].function :
						 gt_path_name(at->image->name));
			if (!shown && found[j].file)
				snprintf(place, sizeof place, "%s:%u", found[j].file,
					 found[j].line);
		}
	}
	name->functions = gt_strdup(functions);
	name->place = gt_strdup(place);
}

static const struct gt_site_name *name_of(struct gt_attach_live *l, uint16_t process,
					   uint32_t stack)
{
	struct gt_site_name *name;

	for (size_t i = 0; i < l->name_count; i++)
		if (l->names[i].process == process && l->names[i].stack == stack)
			return &l->names[i];
	if (!l->symbolizer && gt_symbolizer_new(&l->symbolizer, NULL))
		return NULL;
	if (process >= l->process_count || !l->processes[process])
		return NULL;
	GT_GROW(l->names, l->name_count, l->name_room);
	name = &l->names[l->name_count++];
	*name = (struct gt_site_name){ .process = process, .stack = stack };
	resolve(l, name);
	return name;
}

static void where(void *context, struct gt_page *p, uint16_t process, uint32_t stack,
		  unsigned columns)
{
	const struct gt_site_name *name = name_of(context, process, stack);
	unsigned before = p->column;

	if (!name)
		return;
	gt_page_name(p, GT_PLAIN, name->functions, columns);
	before = p->column - before;
	if (*name->place && columns > before + 12) {
		gt_page_put(p, GT_PLAIN, "  ");
		gt_page_path(p, GT_DIM, gt_style_relative(&p->style, name->place),
			     columns - before - 2);
	}
}

void gt_attach_live_tick(struct gt_attach_live *l)
{
	for (size_t i = 0; i < l->process_count; i++)
		if (l->processes[i])
			gt_board_lose(l->board, (uint16_t)i, l->processes[i]->lost -
				      gt_board_process(l->board, (uint16_t)i)->lost);
	gt_board_tick(l->board, gt_now_ns());
}

void gt_attach_live_show(struct gt_attach_live *l, FILE *out, size_t top, uint64_t lost)
{
	struct gt_style style = gt_terminal_style(out, GT_COLOR_AUTO);
	struct gt_page page;

	gt_attach_live_tick(l);
	gt_page_init(&page, out, &style);
	gt_board_text(&page, l->board, &(struct gt_board_view){
		.top = top, .now_ns = gt_now_ns(), .since_ns = l->since_ns, .lost = lost,
		.where = where, .context = l });
	fflush(out);
}
