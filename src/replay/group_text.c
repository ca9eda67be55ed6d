/* SPDX-License-Identifier: MIT */
/* group_text.c - groups of living resources as text, JSON and TSV. */
#include "replay/group_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/demangle.h"
#include "replay/call_text.h"
#include "replay/nsight_words.h"
#include "replay/phase.h"
#include "replay/place.h"
#include "replay/process_text.h"
#include "replay/stack.h"

enum { HANDLES_SHOWN = 4, NAMES_SHOWN = 20, NAME_SHOWN = 24 };

char *gt_kind_count(char *out, enum gt_kind kind, uint64_t count)
{
	const struct gt_kind_info *info = &gt_kinds[kind];
	bool in_blocks = !strncmp(info->plural, "blocks of ", 10);
	char number[GT_FORMAT_MAX];

	snprintf(out, GT_KIND_TEXT, "%s %s%s", gt_format_count(number, count),
		 count == 1 && in_blocks ? "block of " : "",
		 gt_plural(count, info->name, info->plural));
	return out;
}

char *gt_holder_count(char *out, const struct gt_entry *held, uint64_t count)
{
	char number[GT_FORMAT_MAX];
	size_t used = 0;

	gt_format_count(number, count);
	for (int kind = 0; kind < GT_KIND_COUNT && used < GT_KIND_TEXT; kind++)
		if (gt_live_may_hold((enum gt_kind)kind, held))
			used += (size_t)snprintf(
				out + used, GT_KIND_TEXT - used, "%s %s", used ? " or" : number,
				gt_plural(count, gt_kinds[kind].name, gt_kinds[kind].plural));
	return out;
}

void gt_group_count(struct gt_printer *p, enum gt_paint paint, const struct gt_group *g)
{
	char text[GT_KIND_TEXT];

	gt_print_put(p, paint, "%s", gt_kind_count(text, (enum gt_kind)g->site->kind, g->count));
}

void gt_put_memory(struct gt_printer *p, enum gt_paint paint, uint64_t device, uint64_t host)
{
	char text[GT_FORMAT_MAX];

	if (device)
		gt_print_put(p, paint, "%s of device memory", gt_format_bytes(text, device));
	if (host)
		gt_print_put(p, paint, "%s%s of host memory", device ? ", " : "",
			     gt_format_bytes(text, host));
}

void gt_groups_memory(const struct gt_groups *groups, uint64_t *device, uint64_t *host)
{
	*device = *host = 0;
	for (size_t i = 0; i < groups->count; i++) {
		const struct gt_group *g = &groups->list[i];

		*(gt_kind_on_device((enum gt_kind)g->site->kind) ? device : host) += g->bytes;
	}
}

void gt_put_group_memory(struct gt_printer *p, enum gt_paint paint, const struct gt_groups *groups)
{
	uint64_t device, host;

	gt_groups_memory(groups, &device, &host);
	gt_put_memory(p, paint, device, host);
}

struct kind_total {
	enum gt_kind kind;
	uint64_t live, bytes;
};

static int most_first(const void *a, const void *b)
{
	const struct kind_total *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->live != y->live)
		return x->live > y->live ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

void gt_put_kinds(struct gt_printer *p, const struct gt_groups *groups)
{
	struct kind_total totals[GT_KIND_COUNT];
	char line[1024] = "", count[GT_KIND_TEXT], bytes[GT_FORMAT_MAX];
	size_t used = 0;

	for (int kind = 0; kind < GT_KIND_COUNT; kind++)
		totals[kind] = (struct kind_total){ .kind = (enum gt_kind)kind };
	for (size_t i = 0; i < groups->count; i++) {
		totals[groups->list[i].site->kind].live += groups->list[i].count;
		totals[groups->list[i].site->kind].bytes += groups->list[i].bytes;
	}
	qsort(totals, GT_KIND_COUNT, sizeof *totals, most_first);
	for (int i = 0; i < GT_KIND_COUNT && totals[i].live && used < sizeof line; i++) {
		const char *what = gt_kind_count(count, totals[i].kind, totals[i].live);

		gt_format_bytes(bytes, totals[i].bytes);
		used += (size_t)snprintf(line + used, sizeof line - used,
					 totals[i].bytes ? "%s%s (%s)" : "%s%s", i ? ", " : "",
					 what, bytes);
	}
	gt_print_wrap(p, GT_PLAIN, 2, "%s", line);
}

/* Where the group's resources live: one place's name, "" for none, "several devices". */
static const char *place_of(const struct gt_view *v, const struct gt_group *g)
{
	for (size_t i = 1; i < g->count; i++)
		if (g->objects[i]->place != g->objects[0]->place)
			return "several devices";
	return gt_recording_place(v->recording, g->objects[0]->place);
}

static void put_when(struct gt_printer *p, const struct gt_view *v, const struct gt_group *g)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];

	gt_format_span(a, gt_view_elapsed(v, g->objects[0]->time_ns));
	gt_format_span(b, gt_view_elapsed(v, g->objects[g->count - 1]->time_ns));
	if (!strcmp(a, b))
		gt_print_put(p, GT_DIM, "created at %s", a);
	else
		gt_print_put(p, GT_DIM, "created from %s to %s", a, b);
}

/* ", in demo 12", ", in 3 processes": where there are several. */
static void put_who(struct gt_printer *p, const struct gt_view *v, const struct gt_group *g)
{
	size_t all = gt_recording_process_count(v->recording), count = 0;
	bool *seen = gt_alloc(all);
	const struct gt_process *first = gt_recording_process(v->recording, g->objects[0]->process);
	char *name;

	for (size_t i = 0; i < g->count; i++) {
		count += !seen[g->objects[i]->process];
		seen[g->objects[i]->process] = true;
	}
	free(seen);
	if (count > 1)
		gt_print_put(p, GT_DIM, ", in %zu processes", count);
	if (all < 2 || count > 1)
		return;
	name = gt_process_name(first);
	gt_print_put(p, GT_DIM, ", in ");
	gt_print_need(p, strlen(name) < NAME_SHOWN ? (unsigned)strlen(name) : NAME_SHOWN);
	gt_print_name(p, GT_DIM, name, NAME_SHOWN);
	gt_print_put(p, GT_DIM, " %" PRIu32, first->pid);
	if (*first->rank)
		gt_print_put(p, GT_DIM, " (rank %s)", first->rank);
	free(name);
}

/* Retained objects: releasing them where they were created is not enough. */
static void put_holders(struct gt_printer *p, const struct gt_view *v, const struct gt_ledger *l,
			const struct gt_group *g)
{
	const struct gt_entry *held = NULL;
	uint32_t stack, most = 0;

	for (size_t i = 0; i < g->count; i++) {
		uint32_t references = gt_ledger_references(l, g->objects[i]);

		/* one reference is retained if the creation's was released before */
		if (references > most &&
		    (references > 1 || gt_ledger_retain_stack(l, g->objects[i]))) {
			held = g->objects[i];
			most = references;
		}
	}
	if (!held)
		return;
	gt_print_tab(p, 4);
	gt_print_put(p, GT_YELLOW, "held by %s%" PRIu32 " %s", g->count > 1 ? "up to " : "", most,
		     gt_plural(most, "reference", "references"));
	stack = gt_frames_whole(v->frames, gt_ledger_retain_stack(l, held));
	if (stack) {
		gt_print_put(p, GT_PLAIN, ", last retained at ");
		gt_print_need(p, GT_WHERE_LEAST);
		gt_place_put(p, v, stack, gt_print_left(p));
	}
	gt_print_end(p);
}

void gt_put_kept(struct gt_printer *p, const struct gt_ledger *l, const struct gt_group *g,
		 unsigned column)
{
	char text[GT_FORMAT_MAX], holders[GT_KIND_TEXT];
	uint64_t kept = 0, by = 0;

	for (size_t i = 0; i < g->count; i++)
		if (!gt_ledger_references(l, g->objects[i])) {
			kept++;
			by += gt_ledger_holders(l, g->objects[i]);
		}
	if (!kept)
		return;
	gt_print_tab(p, column);
	if (kept < g->count)
		gt_print_put(p, GT_YELLOW, "%s of them ", gt_format_count(text, kept));
	gt_print_line(p, GT_YELLOW, "released, but kept alive by %s",
		      gt_holder_count(holders, g->objects[0], by));
}

static const char *name_of(const struct gt_view *v, const struct gt_entry *e)
{
	return gt_recording_name(v->recording, e->process, e->handle, e->time_ns);
}

static void put_handles(struct gt_printer *p, const struct gt_group *g)
{
	char text[GT_FORMAT_MAX];

	gt_print_tab(p, 4);
	for (size_t i = 0; i < g->count && i < HANDLES_SHOWN; i++)
		gt_print_put(p, GT_DIM, "%s%s",
			     i ? " " : gt_plural(g->count, "handle ", "handles "),
			     gt_format_hex(text, g->objects[i]->handle));
	if (g->count > HANDLES_SHOWN)
		gt_print_put(p, GT_DIM, " ...");
	gt_print_end(p);
}

/* Variables are known by their names: a line for each. */
static void put_names(struct gt_printer *p, const struct gt_view *v, const struct gt_group *g)
{
	char text[GT_FORMAT_MAX];

	for (size_t i = 0; i < g->count && i < NAMES_SHOWN; i++) {
		const struct gt_entry *e = g->objects[i];
		char *plain = gt_name_demangle(name_of(v, e));

		gt_print_tab(p, 6);
		gt_print_put(p, GT_DIM, "%s", gt_format_hex(text, e->handle));
		gt_print_right(p, GT_PLAIN, gt_format_bytes(text, e->size), 32);
		gt_print_tab(p, 34);
		gt_print_function(p, GT_PLAIN, plain, gt_print_left(p));
		gt_print_end(p);
		free(plain);
	}
	if (g->count > NAMES_SHOWN) {
		gt_print_tab(p, 6);
		gt_print_line(p, GT_DIM, "and %zu more", g->count - NAMES_SHOWN);
	}
}

/* The place, unless the stack below begins with it. */
static void put_headline(struct gt_printer *p, const struct gt_view *v, uint32_t stack)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(v->frames, stack, &frames);
	struct gt_place place;
	bool is_first;

	gt_place_init(&place, v->frames, stack);
	is_first = !count || (place.frame.function == frames[0].function &&
			      place.frame.line == frames[0].line);
	if (!gt_place_has_line(v->frames, stack))
		is_first = false;
	gt_place_fini(&place);
	if (is_first)
		return;
	gt_print_tab(p, 4);
	gt_place_put(p, v, stack, gt_print_left(p));
	gt_print_end(p);
}

static void put_phase(struct gt_printer *p, const struct gt_view *v, const struct gt_ledger *l,
		      const struct gt_group *g)
{
	char *phase = gt_group_phase(v, l, g, UINT32_MAX);

	if (phase) {
		gt_print_tab(p, 4);
		gt_print_put(p, GT_DIM, "in phase ");
		gt_print_name(p, GT_DIM, phase, gt_print_left(p));
		gt_print_end(p);
	}
	free(phase);
}

void gt_group_text(struct gt_printer *p, const struct gt_view *v, const struct gt_ledger *l,
		   const struct gt_group *g, size_t number)
{
	enum gt_part_by by = gt_by_part(gt_frames_by(v->frames));
	const char *place = place_of(v, g);
	char text[GT_FORMAT_MAX], words[GT_KIND_TEXT];

	gt_group_sort(g);
	gt_print_put(p, GT_DIM, "#%zu", number);
	gt_print_tab(p, 4);
	if (g->bytes)
		gt_print_put(p, GT_BOLD, "%s in ", gt_format_bytes(text, g->bytes));
	gt_group_count(p, GT_BOLD, g);
	gt_print_line(p, GT_PLAIN, " by %s",
		      gt_call_name(words, v, g->site->function, g->site->stack));
	put_headline(p, v, g->site->stack);
	gt_print_tab(p, 4);
	put_when(p, v, g);
	gt_print_put(p, GT_DIM, ", %s", gt_api_names[g->site->api]);
	if (by != GT_PART_PROCESS && by != GT_PART_THREAD)
		put_who(p, v, g);
	if (*place && by != GT_PART_DEVICE) {
		gt_print_put(p, GT_DIM, ", ");
		gt_print_name(p, GT_DIM, place, gt_print_left(p));
	}
	gt_print_end(p);
	put_phase(p, v, l, g);
	put_holders(p, v, l, g);
	gt_put_kept(p, l, g, 4);
	if (gt_frames_by(v->frames) != GT_BY_LINE && gt_frames_by(v->frames) != GT_BY_STACK)
		gt_print_line(p, GT_DIM, "%4smost of it from", "");
	gt_stack_text(p, v, g->site->stack, 6);
	if (*name_of(v, g->objects[0]))
		put_names(p, v, g);
	else
		put_handles(p, g);
	gt_print_end(p);
}

static void object_json(struct gt_json *j, const struct gt_view *v, const struct gt_ledger *l,
			const struct gt_entry *e)
{
	const char *name = name_of(v, e);
	uint32_t retained = gt_ledger_retain_stack(l, e), holders = gt_ledger_holders(l, e);
	uint32_t phase = gt_ledger_phase(l, e);

	gt_json_line(j, NULL);
	gt_json_hex(j, "handle", e->handle);
	gt_json_uint(j, "bytes", gt_entry_bytes(e));
	if (gt_kinds[gt_entry_kind(e)].memory == GT_MEMORY_VIEW)
		gt_json_uint(j, "view_bytes", e->size);
	gt_json_int(j, "time_ns", gt_view_time(v, e->time_ns));
	gt_json_uint(j, "pid", gt_recording_process(v->recording, e->process)->pid);
	gt_json_uint(j, "tid", e->tid);
	gt_json_text(j, "function", gt_function_names[e->function]);
	if (*name)
		gt_json_text(j, "name", name);
	gt_json_text(j, "place", gt_recording_place(v->recording, e->place));
	if (phase) {
		char *text = gt_recording_phase_text(v->recording, phase);

		gt_json_text(j, "phase", text);
		free(text);
	}
	if (e->owner)
		gt_json_hex(j, "owner", e->owner);
	else
		gt_json_null(j, "owner");
	gt_json_uint(j, "references", gt_ledger_references(l, e));
	if (holders)
		gt_json_uint(j, "kept_by", holders);
	if (retained)
		gt_stack_json(j, "retained", v->frames, retained);
	gt_json_end(j);
}

/* `fate` NULL: it is not about what is alive at the end. */
static void group_json(struct gt_json *j, const struct gt_view *v, const struct gt_ledger *l,
		       const struct gt_group *g, const char *fate)
{
	gt_json_object(j, NULL);
	gt_kind_json(j, g->site->api, g->site->kind);
	if (fate)
		gt_json_text(j, "fate", fate);
	gt_json_uint(j, "count", g->count);
	gt_json_uint(j, "bytes", g->bytes);
	gt_json_text(j, "class",
		     gt_origin_names[gt_breakdown_origin(&l->breakdown, g->objects[0])]);
	gt_place_json(j, "place", v->frames, g->site->stack);
	gt_stack_json(j, "stack", v->frames, g->site->stack);
	gt_group_sort(g);
	gt_json_array(j, "objects");
	for (size_t i = 0; i < g->count; i++)
		object_json(j, v, l, g->objects[i]);
	gt_json_end(j);
	gt_json_end(j);
}

void gt_groups_json(struct gt_json *j, const char *key, const struct gt_view *v,
		    const struct gt_ledger *l, const struct gt_groups *groups)
{
	gt_places_list_groups(v->frames, groups, SIZE_MAX);
	gt_json_array(j, key);
	for (size_t i = 0; i < groups->count && (!v->top || i < v->top); i++)
		group_json(j, v, l, &groups->list[i], NULL);
	gt_json_end(j);
}

void gt_fate_groups_json(struct gt_json *j, const char *key, const struct gt_view *v,
			 const struct gt_groups by_fate[GT_FATE_COUNT])
{
	size_t shown = 0;

	gt_json_array(j, key);
	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		gt_places_list_groups(v->frames, &by_fate[fate], SIZE_MAX);
		for (size_t i = 0; i < by_fate[fate].count && (!v->top || shown < v->top); i++) {
			group_json(j, v, v->ledger, &by_fate[fate].list[i], gt_fate_keys[fate]);
			shown++;
		}
	}
	gt_json_end(j);
}

static const char *const memory_names[] = {
	[GT_MEMORY_NO] = "",           [GT_MEMORY_VIEW] = "view", [GT_MEMORY_DEVICE] = "device",
	[GT_MEMORY_SHARED] = "shared", [GT_MEMORY_HOST] = "host",
};

static void object_tsv(FILE *out, const struct gt_view *v, const struct gt_ledger *l,
		       const struct gt_entry *e)
{
	const struct gt_function *fn = &gt_functions[e->function];
	const struct gt_kind_info *kind = &gt_kinds[fn->kind];
	enum gt_origin origin = gt_breakdown_origin(&l->breakdown, e);

	fprintf(out, "0x%" PRIx64 "\t%" PRId64 "\t%" PRIu64 "\t%s\t%s\t", e->handle,
		gt_view_time(v, e->time_ns), gt_entry_bytes(e),
		gt_nsight_kind((enum gt_api)fn->api, (enum gt_kind)fn->kind),
		gt_nsight_operation(true));
	gt_tsv_put(out, name_of(v, e));
	fprintf(out, "\t%d\t", (int)origin);
	gt_nsight_stack(out, v->frames, origin, e->function, e->stack, GT_WHERE_LINE);
	fprintf(out, "\t%" PRIu32 "\t%" PRIu32 "\t%s\t%s\t%s\t%s\t%s\t",
		gt_recording_process(v->recording, e->process)->pid, e->tid, gt_api_keys[fn->api],
		kind->name, kind->type[fn->api] ? kind->type[fn->api] : "",
		gt_function_names[e->function], memory_names[kind->memory]);
	gt_tsv_put(out, gt_recording_place(v->recording, e->place));
}

/* Behind them the fate, if there is one, and where: columns that others read stay in place. */
#define OBJECT_COLUMNS                                                                             \
	"address\tstart_time\tbytes\tmemkind\tmem_op_type\tvar_name\ttrace_type\tstack"            \
	"\tpid\ttid\tapi\tkind\ttype\tfunction\tmemory\tplace"

/* A row for each object of a group; `fate` NULL: it has no such column. */
static void group_tsv(FILE *out, const struct gt_view *v, const struct gt_ledger *l,
		      const struct gt_group *g, const char *fate)
{
	char *where = gt_place_text(v->frames, g->site->stack, true);

	gt_group_sort(g);
	for (size_t i = 0; i < g->count; i++) {
		object_tsv(out, v, l, g->objects[i]);
		if (fate)
			fprintf(out, "\t%s", fate);
		putc('\t', out);
		gt_tsv_put(out, where);
		putc('\n', out);
	}
	free(where);
}

void gt_groups_tsv(FILE *out, const struct gt_view *v, const struct gt_ledger *l,
		   const struct gt_groups *groups)
{
	fputs(OBJECT_COLUMNS "\twhere\n", out);
	gt_places_list_groups(v->frames, groups, SIZE_MAX);
	for (size_t i = 0; i < groups->count && (!v->top || i < v->top); i++)
		group_tsv(out, v, l, &groups->list[i], NULL);
}

void gt_fate_groups_tsv(FILE *out, const struct gt_view *v,
			const struct gt_groups by_fate[GT_FATE_COUNT])
{
	size_t shown = 0;

	fputs(OBJECT_COLUMNS "\tfate\twhere\n", out);
	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		gt_places_list_groups(v->frames, &by_fate[fate], SIZE_MAX);
		for (size_t i = 0; i < by_fate[fate].count && (!v->top || shown < v->top); i++) {
			group_tsv(out, v, v->ledger, &by_fate[fate].list[i], gt_fate_keys[fate]);
			shown++;
		}
	}
}

void gt_put_change(struct gt_printer *p, uint64_t before, uint64_t now, bool bytes, unsigned column)
{
	char text[GT_FORMAT_MAX], with_sign[GT_FORMAT_MAX + 2];
	uint64_t by = gt_distance(before, now);

	if (bytes)
		gt_format_bytes(text, by);
	else
		gt_format_count(text, by);
	snprintf(with_sign, sizeof with_sign, "%s%s", !by ? "" : now > before ? "+" : "-", text);
	gt_print_right(p, GT_BOLD, by ? with_sign : "", column);
}

void gt_put_more(struct gt_printer *p, const struct gt_view *v, unsigned column, size_t places)
{
	if (!places)
		return;
	gt_print_tab(p, column);
	/* a row of another kind may be of a place that is above */
	if (gt_frames_by(v->frames) == GT_BY_LINE || gt_frames_by(v->frames) == GT_BY_STACK)
		gt_print_line(p, GT_DIM, "and %zu more %s", places,
			      gt_place_noun(v->frames, places));
	else
		gt_print_line(p, GT_DIM, "and %zu more", places);
}

void gt_groups_text(struct gt_printer *p, const struct gt_view *v, const struct gt_ledger *l,
		    const struct gt_groups *groups)
{
	size_t shown = v->top && v->top < groups->count ? v->top : groups->count;

	gt_places_list_groups(v->frames, groups, SIZE_MAX);
	for (size_t i = 0; i < shown; i++)
		gt_group_text(p, v, l, &groups->list[i], i + 1);
	gt_put_more(p, v, 4, groups->count - shown);
	if (shown < groups->count)
		gt_print_end(p);
}

void gt_kind_json(struct gt_json *j, int api, int kind)
{
	gt_json_text(j, "api", gt_api_keys[api]);
	gt_json_text(j, "kind", gt_kinds[kind].name);
	gt_json_text(j, "type", gt_kinds[kind].type[api]);
}
