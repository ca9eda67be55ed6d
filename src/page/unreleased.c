/* SPDX-License-Identifier: MIT */
/* unreleased.c - what was not released, as a page shows it: by fate, and by call site. */
#include "page/unreleased.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "judge/verdict.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/held.h"

enum { HANDLES_MAX = 8, LINE_WIDTH = 1 << 16 };

/* Text of reports as one line of a page. */
struct line {
	struct gt_printer printer;
	char *text;
	size_t size;
	FILE *file;
};

static void line_init(struct line *line)
{
	struct gt_style style = { .utf8 = true, .width = LINE_WIDTH, .whole = true };

	line->file = gt_memstream(&line->text, &line->size);
	gt_print_init(&line->printer, line->file, &style);
}

/* null if nothing was printed. */
static void line_json(struct line *line, struct gt_json *j, const char *key)
{
	char *text;

	gt_memstream_close(line->file);
	text = line->text + strspn(line->text, " ");
	text[strcspn(text, "\n")] = '\0';
	gt_json_text(j, key, *text ? text : NULL);
	free(line->text);
}

static size_t rows_with(const struct gt_page_rows *rows, enum gt_fate fate)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		count += gt_page_row_fates(rows, i)->count[fate] != 0;
	return count;
}

static void fate_json(struct gt_json *j, const struct gt_view *v, enum gt_fate fate,
		      const struct gt_fate_sum *sum, const struct gt_groups *groups,
		      const struct gt_page_rows *rows)
{
	struct line line;

	gt_json_object(j, gt_fate_keys[fate]);
	gt_json_uint(j, "count", sum->count);
	gt_json_uint(j, "device", sum->device_bytes);
	gt_json_uint(j, "host", sum->host_bytes);
	gt_json_uint(j, "sites", rows_with(rows, fate));
	gt_json_text(j, "word", gt_fate_words[fate]);
	gt_json_text(j, "phrase", gt_fate_phrases[fate]);
	line_init(&line);
	if (sum->count)
		gt_fate_line(&line.printer, v, fate, groups);
	line_json(&line, j, "why");
	gt_json_end(j);
}

void gt_page_fates_json(struct gt_json *j, const struct gt_view *v, const struct gt_page_rows *rows)
{
	struct gt_leaked all = gt_ledger_leaked(v->ledger);
	struct gt_groups groups, by_fate[GT_FATE_COUNT] = { 0 };
	struct gt_fate_sum sums[GT_FATE_COUNT];
	struct line line;
	char *held;

	gt_fate_sums(v, sums);
	/* leaks need no reason, and there may be very many of them */
	if (sums[GT_FATE_LEAKED].count < all.count) {
		gt_groups_init(&groups, v->ledger, GT_GROUPS_LEAKS);
		gt_place_groups(&groups, v);
		gt_fate_split(v, &groups, by_fate);
	}
	gt_json_object(j, "fates");
	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		fate_json(j, v, (enum gt_fate)fate, &sums[fate], &by_fate[fate], rows);
		gt_groups_fini(&by_fate[fate]);
	}
	gt_json_end(j);
	gt_json_uint(j, "leaked", sums[GT_FATE_LEAKED].count);
	gt_json_uint(j, "leaked_device", sums[GT_FATE_LEAKED].device_bytes);
	gt_json_uint(j, "leaked_host", sums[GT_FATE_LEAKED].host_bytes);
	gt_json_uint(j, "unreleased", all.count);
	gt_json_uint(j, "unreleased_bytes", all.device_bytes + all.host_bytes);
	held = gt_held_line(v->ledger);
	gt_json_text(j, "held_line", held);
	free(held);
	line_init(&line);
	if (!all.count)
		gt_verdict_no_leaks(&line.printer, v);
	line_json(&line, j, "no_leaks");
	gt_json_bool(j, "is_certain",
		     !gt_head_has_gaps(v->recording) && !gt_recording_goes_on(v->recording));
}

/* The fates, and behind them what libraries hold. */
enum { HELD = GT_FATE_COUNT, SLOTS };

/*
 * What is not released of one site and fate, and what its site does not have. With millions of
 * leaks most of the time goes into fetching these: what each of them needs comes first.
 */
struct leak {
	uint64_t count, bytes;
	uint64_t oldest_ns; /* of the last of `oldest` */
	uint32_t oldest_count;
	uint32_t references; /* of `held` */
	uint32_t pid;        /* 0: several */
	uint16_t function, place;
	bool several_places;
	uint32_t listed;             /* by held.h: its number, of what libraries hold */
	const struct gt_entry *held; /* the one with the most references, if retained */
	uint64_t kept, holders;      /* released ones that others keep, and these */
	const struct gt_entry *oldest[HANDLES_MAX];
};

struct gathering {
	const struct gt_view *view;
	const struct gt_page_sites *sites;
	struct leak (*leaks)[SLOTS]; /* by the page's number of the site */
	struct leak **leaks_of;      /* the same by the ledger's site; NULL: not in the page */
	uint32_t process, pid;       /* of the latest entry; pid 0: there was none */
};

/* The oldest few, the oldest first. */
static void keep_oldest(struct leak *leak, const struct gt_entry *e)
{
	uint32_t i = leak->oldest_count;

	if (i == HANDLES_MAX) {
		if (leak->oldest_ns <= e->time_ns)
			return;
		i--;
	} else {
		leak->oldest_count++;
	}
	for (; i && leak->oldest[i - 1]->time_ns > e->time_ns; i--)
		leak->oldest[i] = leak->oldest[i - 1];
	leak->oldest[i] = e;
	leak->oldest_ns = leak->oldest[leak->oldest_count - 1]->time_ns;
}

static void note_references(struct leak *leak, const struct gt_entry *e, const struct gt_ledger *l)
{
	uint32_t references = gt_ledger_references(l, e);

	if (references > leak->references && (references > 1 || gt_ledger_retain_stack(l, e))) {
		leak->held = e;
		leak->references = references;
	}
	if (!references) {
		leak->kept++;
		leak->holders += gt_ledger_holders(l, e);
	}
}

static void add_to(struct gathering *g, const struct gt_entry *e, int slot)
{
	const struct gt_ledger *l = g->view->ledger;
	const struct gt_site *site = gt_ledger_site(l, e);
	struct leak *leak = site ? g->leaks_of[site - l->sites] : NULL;

	if (!leak)
		return;
	leak += slot;
	if (!g->pid || g->process != e->process) {
		g->process = e->process;
		g->pid = gt_recording_process(g->view->recording, e->process)->pid;
	}
	if (!leak->count) {
		leak->listed = site->held;
		leak->function = e->function;
		leak->place = e->place;
		leak->pid = g->pid;
	}
	leak->count++;
	leak->bytes += gt_entry_bytes(e);
	leak->several_places |= leak->place != e->place;
	if (leak->pid != g->pid)
		leak->pid = 0;
	note_references(leak, e, l);
	keep_oldest(leak, e);
}

static void add_unreleased(void *context, const struct gt_entry *e, enum gt_fate fate)
{
	add_to(context, e, (int)fate);
}

static bool add_held(void *context, const struct gt_entry *e)
{
	struct gathering *g = context;

	if (gt_ledger_is_held(g->view->ledger, e))
		add_to(g, e, HELD);
	return true;
}

static void leak_json(struct gt_json *j, const struct gt_view *v, struct gt_page_names *names,
		      const struct leak *leak)
{
	char text[GT_KIND_TEXT];

	gt_json_uint(j, "count", leak->count);
	gt_json_uint(j, "bytes", leak->bytes);
	gt_json_text(j, "function", gt_function_names[leak->function]);
	gt_json_text(j, "place",
		     leak->several_places ? "several devices" :
					    gt_recording_place(v->recording, leak->place));
	gt_json_uint(j, "pid", leak->pid);
	if (leak->held) {
		gt_json_uint(j, "references", leak->references);
		gt_json_uint(j, "retained",
			     gt_page_stack(names, gt_ledger_retain_stack(v->ledger, leak->held)));
	}
	if (leak->kept) {
		gt_json_uint(j, "kept", leak->kept);
		gt_json_text(j, "kept_by", gt_holder_count(text, leak->oldest[0], leak->holders));
	}
	gt_json_array(j, "handles");
	for (size_t i = 0; i < leak->oldest_count; i++)
		gt_json_hex(j, NULL, leak->oldest[i]->handle);
	gt_json_end(j);
}

/* Nothing if there is nothing. */
static void slot_json(struct gt_json *j, const struct gathering *g, struct gt_page_names *names,
		      size_t row, int slot)
{
	const struct leak *leak = &g->leaks[g->sites->numbers[row]][slot];
	const struct gt_held_entry *list;

	if (!leak->count)
		return;
	gt_json_object(j, NULL);
	gt_json_uint(j, "site", g->sites->numbers[row]);
	if (slot == HELD) {
		gt_held_list(&list);
		gt_json_text(j, "library", list[leak->listed - 1].library);
		gt_json_text(j, "reason", list[leak->listed - 1].reason);
	} else {
		gt_json_text(j, "fate", gt_fate_keys[slot]);
	}
	leak_json(j, g->view, names, leak);
	gt_json_end(j);
}

static void gather(struct gathering *g)
{
	const struct gt_page_sites *sites = g->sites;
	const struct gt_ledger *l = g->view->ledger;
	size_t shown = 0;
	bool has_held = false;

	for (size_t i = 0; i < sites->rows->count; i++)
		shown += sites->marks[i];
	g->leaks = gt_alloc((shown + 1) * sizeof *g->leaks);
	g->leaks_of = gt_alloc((l->site_count + 1) * sizeof *g->leaks_of);
	for (size_t i = 0; i < l->site_count; i++) {
		uint32_t row = sites->rows->row_of[i];

		has_held |= l->sites[i].held != 0;
		if (sites->marks[row])
			g->leaks_of[i] = g->leaks[sites->numbers[row]];
	}
	gt_fate_each(g->view, add_unreleased, g);
	if (has_held)
		gt_live_each(&l->live, add_held, g);
}

void gt_page_leaks_json(struct gt_json *j, const struct gt_view *v, struct gt_page_names *names,
			const struct gt_page_sites *sites)
{
	struct gathering g = { .view = v, .sites = sites };
	size_t count = sites->rows->count;

	gather(&g);
	gt_json_array(j, "leaks");
	for (size_t i = 0; i < count; i++)
		for (int fate = 0; sites->marks[i] && fate < GT_FATE_COUNT; fate++)
			slot_json(j, &g, names, i, fate);
	gt_json_end(j);
	gt_json_array(j, "held");
	for (size_t i = 0; i < count; i++)
		if (sites->marks[i])
			slot_json(j, &g, names, i, HELD);
	gt_json_end(j);
	free(g.leaks_of);
	free(g.leaks);
}
