/* SPDX-License-Identifier: MIT */
/* summary.c - at most a screen: what leaked, the peak, mistakes, and what to type next. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/tool.h"
#include "replay/call_text.h"
#include "replay/group_text.h"
#include "replay/growth_text.h"
#include "replay/head.h"
#include "replay/held.h"
#include "judge/residue.h"
#include "replay/phase.h"
#include "replay/place.h"
#include "replay/rank.h"
#include "replay/shortage.h"
#include "replay/stack.h"
#include "judge/verdict.h"
#include "report/analyses.h"
#include "report/call_counts.h"
#include "report/mistakes.h"

enum {
	LEAKS_SHOWN = 4,
	MODULES_SHOWN = 2,
	HOLDER_COLUMN = 28,
	GROWTH_SHOWN = 2,
	LISTED = 1000, /* a place that is shown differs from so many, shown or not */
	HOLDERS_SHOWN = 2,
	PHASE_LEAST = 16, /* columns in which a phase says something */
};

static void put_leak(struct gt_printer *p, const struct gt_view *v, const struct gt_group *g,
		     size_t frames)
{
	char text[GT_FORMAT_MAX], words[GT_KIND_TEXT], *phase;

	gt_print_right(p, GT_BOLD, g->bytes ? gt_format_bytes(text, g->bytes) : "", 12);
	gt_print_tab(p, 14);
	gt_group_count(p, GT_BOLD, g);
	gt_print_put(p, GT_PLAIN, " by %s (%s)",
		     gt_call_name(words, v, g->site->function, g->site->stack),
		     gt_api_names[g->site->api]);
	phase = gt_print_left(p) >= PHASE_LEAST ?
			gt_group_phase(v, v->ledger, g, gt_print_left(p) - 5) :
			NULL;
	if (phase) {
		gt_print_put(p, GT_DIM, ", in ");
		gt_print_name(p, GT_DIM, phase, gt_print_left(p));
	}
	free(phase);
	gt_print_end(p);
	gt_put_kept(p, v->ledger, g, 16);
	gt_stack_brief(p, v, g->site->stack, frames, 16);
}

/* Resources of one fate; at most `most` call sites. `known`: say how many are not new. */
static void put_fate(struct gt_printer *p, const struct gt_view *v, enum gt_fate fate,
		     const struct gt_groups *groups, const struct gt_groups *known, size_t most)
{
	char text[GT_FORMAT_MAX];

	gt_fate_word(p, fate);
	gt_print_put(p, GT_BOLD, "  %s %s", gt_format_count(text, groups->object_count),
		     gt_plural(groups->object_count, "resource", "resources"));
	if (groups->bytes)
		gt_print_put(p, GT_BOLD, ", ");
	gt_put_group_memory(p, GT_BOLD, groups);
	gt_print_end(p);
	gt_fate_line(p, v, fate, groups);
	if (known)
		gt_verdict_known(p, v, known);
	gt_rank_put(p, v, groups);
	gt_put_kinds(p, groups);
	gt_places_list_groups(v->frames, groups, LISTED);
	for (size_t i = 0; i < groups->count && i < most; i++)
		put_leak(p, v, &groups->list[i], gt_mistakes_count(v->ledger) ? 2 : 3);
	gt_put_more(p, v, 14, groups->count > most ? groups->count - most : 0);
}

static void put_leaks(struct gt_printer *p, const struct gt_view *v,
		      const struct gt_groups by_fate[GT_FATE_COUNT])
{
	/* mistakes take room below: the report must fit on a screen */
	unsigned others = gt_mistakes_count(v->ledger);
	size_t most = v->top ? (size_t)v->top : others > 1 ? LEAKS_SHOWN / 2 : LEAKS_SHOWN;
	const struct gt_groups *known = by_fate;

	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		if (!by_fate[fate].count)
			continue;
		put_fate(p, v, (enum gt_fate)fate, &by_fate[fate], known, most);
		/* what comes first matters most */
		most = v->top ? most : 1;
		known = NULL;
	}
}

static bool held_at_peak(const struct gt_site *site)
{
	return site->bytes_at_peak && gt_kind_on_device((enum gt_kind)site->kind);
}

static int most_at_peak(const void *a, const void *b)
{
	const struct gt_site *x = *(const struct gt_site *const *)a;
	const struct gt_site *y = *(const struct gt_site *const *)b;

	if (x->bytes_at_peak != y->bytes_at_peak)
		return x->bytes_at_peak > y->bytes_at_peak ? -1 : 1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static void put_peak(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	char text[GT_FORMAT_MAX], when[GT_FORMAT_MAX], count_text[GT_KIND_TEXT];
	size_t count, most = gt_mistakes_count(l) > 1 ? 1 : 3;
	unsigned column = HOLDER_COLUMN; /* of where they are */
	const struct gt_site **holders;
	struct gt_place_sites sites;

	gt_place_sites_init(&sites, l, v->frames, held_at_peak);
	holders = sites.list;
	count = sites.count;
	qsort(holders, count, sizeof *holders, most_at_peak);
	gt_places_list_sites(v->frames, &sites, LISTED);
	gt_print_line(p, GT_BOLD, "PEAK  %s of device memory at %s, held by",
		      gt_format_bytes(text, l->peak_bytes),
		      gt_format_span(when, gt_view_elapsed(v, l->peak_ns)));
	for (size_t i = 0; i < count && i < most; i++) {
		unsigned end = 16 + (unsigned)strlen(gt_kind_count(count_text,
								   (enum gt_kind)holders[i]->kind,
								   holders[i]->live_at_peak));

		column = end > column ? end : column;
	}
	for (size_t i = 0; i < count && i < most; i++) {
		gt_print_right(p, GT_PLAIN, gt_format_bytes(text, holders[i]->bytes_at_peak), 12);
		gt_print_tab(p, 14);
		gt_print_put(p, GT_PLAIN, "%s",
			     gt_kind_count(count_text, (enum gt_kind)holders[i]->kind,
					   holders[i]->live_at_peak));
		gt_print_tab(p, column);
		gt_print_need(p, GT_WHERE_LEAST);
		gt_place_put(p, v, holders[i]->stack, gt_print_left(p));
		gt_print_end(p);
	}
	gt_put_more(p, v, 14, count > most ? count - most : 0);
	gt_print_end(p);
	gt_place_sites_fini(&sites);
}

/* A path as a shell takes it: plain where it can be, quoted otherwise. */
static void put_path(struct gt_printer *p, const char *path)
{
	bool plain = *path != '-';

	for (const char *c = path; *c; c++)
		plain &= (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			 (*c >= '+' && *c <= '9') || *c == '_' || *c == '@' ||
			 (unsigned char)*c >= 0x80;
	/* never broken, however long: people copy it */
	gt_print_name(p, GT_BOLD, plain ? "" : "'", UINT32_MAX);
	for (const char *quote; !plain && (quote = strchr(path, '\'')); path = quote + 1) {
		char *before = gt_strndup(path, (size_t)(quote - path));

		gt_print_name(p, GT_BOLD, before, UINT32_MAX);
		gt_print_name(p, GT_BOLD, "'\\''", UINT32_MAX);
		free(before);
	}
	gt_print_name(p, GT_BOLD, path, UINT32_MAX);
	gt_print_name(p, GT_BOLD, plain ? "" : "'", UINT32_MAX);
}

static void put_next(struct gt_printer *p, const struct gt_view *v, const char *analysis,
		     const char *why)
{
	char option[48], *command;
	uint32_t pid = gt_recording_pid(v->recording);

	if (asprintf(&command, "  %s report ", gt_tool_name()) < 0)
		return;
	gt_print_name(p, GT_BOLD, command, UINT32_MAX);
	free(command);
	put_path(p, gt_style_relative(&v->style, gt_recording_path(v->recording)));
	if (pid)
		snprintf(option, sizeof option, " --pid %" PRIu32 " -a %s", pid, analysis);
	else
		snprintf(option, sizeof option, " -a %s", analysis);
	gt_print_name(p, GT_BOLD, option, UINT32_MAX);
	gt_print_tab(p, p->column + 2 + (unsigned)(sizeof "watermark" - 1 - strlen(analysis)));
	gt_print_need(p, (unsigned)strlen(why) + 2);
	gt_print_line(p, GT_DIM, "# %s", why);
}

/* Resources freed with their context: not leaked, but worth a line. */
static void put_freed(struct gt_printer *p, const struct gt_freed *freed)
{
	char text[GT_FORMAT_MAX];

	if (!freed->count)
		return;
	gt_print_put(p, GT_PLAIN, "  not leaked: %s %s freed with their context",
		     gt_format_count(text, freed->count),
		     gt_plural(freed->count, "resource", "resources"));
	if (freed->device_bytes || freed->host_bytes)
		gt_print_put(p, GT_PLAIN, ", ");
	gt_put_memory(p, GT_PLAIN, freed->device_bytes, freed->host_bytes);
	gt_print_end(p);
}

/* What is alive at the end, or that nothing is. */
static void put_left(struct gt_printer *p, const struct gt_view *v)
{
	struct gt_groups by_fate[GT_FATE_COUNT];
	bool any = false;

	gt_verdict_groups(by_fate, v);
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		any |= by_fate[fate].count > 0;
	if (any)
		put_leaks(p, v, by_fate);
	else
		gt_verdict_no_leaks(p, v);
	gt_verdict_groups_fini(by_fate);
}

static const struct gt_sampled *sampled(const struct gt_view *v, size_t series, const char *name)
{
	const struct gt_samples *s = &v->ledger->samples;

	if (series >= s->count || !s->series[series].any ||
	    series >= gt_recording_series_count(v->recording) ||
	    strcmp(gt_recording_series(v->recording, (uint16_t)series)->name, name))
		return NULL;
	return &s->series[series];
}

static const char *subject(const struct gt_view *v, size_t series)
{
	return gt_recording_series(v->recording, (uint16_t)series)->subject;
}

/* The memory of the program itself on the same GPU, if the GPU reports it. */
static const struct gt_sampled *program_of(const struct gt_view *v, size_t device)
{
	for (size_t i = 0; i < v->ledger->samples.count; i++) {
		const struct gt_sampled *one = sampled(v, i, GT_SERIES_PROGRAM_USED);

		if (one && !strcmp(subject(v, i), subject(v, device)))
			return one;
	}
	return NULL;
}

static bool has_devices(const struct gt_view *v)
{
	for (size_t i = 0; i < v->ledger->samples.count; i++)
		if (sampled(v, i, GT_SERIES_DEVICE_USED))
			return true;
	return false;
}

static uint64_t size_of(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

/* The most the program added to all GPUs: as they report it, or else above their first sample. */
static uint64_t added(const struct gt_view *v)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < v->ledger->samples.count; i++) {
		const struct gt_sampled *device = sampled(v, i, GT_SERIES_DEVICE_USED);
		const struct gt_sampled *program = device ? program_of(v, i) : NULL;

		if (device)
			sum += program ? size_of(program->peak) :
					 size_of(device->peak - device->first);
	}
	return sum;
}

static void put_device(struct gt_printer *p, const struct gt_view *v, size_t series,
		       const struct gt_sampled *device)
{
	const struct gt_sampled *program = program_of(v, series);
	char text[GT_FORMAT_MAX];

	gt_print_right(p, GT_PLAIN, gt_format_bytes(text, size_of(device->peak)), 12);
	gt_print_tab(p, 14);
	gt_print_name(p, GT_PLAIN, subject(v, series), 40);
	gt_print_put(p, GT_DIM, ", %s at the start", gt_format_bytes(text, size_of(device->first)));
	if (program)
		gt_print_put(p, GT_DIM, ", up to %s by the program",
			     gt_format_bytes(text, size_of(program->peak)));
	gt_print_end(p);
}

/* A paragraph: each GPU's peak, and how much of it was not traced. Nothing without samples. */
static void put_devices(struct gt_printer *p, const struct gt_view *v)
{
	uint64_t more, traced = v->ledger->peak_bytes;
	char text[GT_FORMAT_MAX];

	if (!has_devices(v))
		return;
	gt_print_line(p, GT_BOLD, "GPU  peak memory use, as reported by the GPU");
	for (size_t i = 0; i < v->ledger->samples.count; i++) {
		const struct gt_sampled *device = sampled(v, i, GT_SERIES_DEVICE_USED);

		/* leave out a GPU that nothing used */
		if (device && (device->peak != device->first || program_of(v, i)))
			put_device(p, v, i, device);
	}
	more = added(v) > traced ? added(v) - traced : 0;
	gt_print_right(p, GT_PLAIN, gt_format_bytes(text, more), 12);
	gt_print_tab(p, 14);
	gt_print_line(p, GT_PLAIN, "of it was not traced: contexts, libraries, other processes");
	gt_print_end(p);
}

/* Call sites that hold more and more: a few lines, if the program ran long enough to tell. */
static bool put_growth(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	size_t count;
	struct gt_rise *rises = gt_view_rises(v, &count);

	gt_view_rises_list(v, rises, count);
	for (size_t i = 0; i < count && i < GROWTH_SHOWN; i++) {
		gt_print_put(p, GT_RED, i ? "         " : "GROWING  ");
		if (!gt_growth_line(p, v, &rises[i])) {
			gt_print_end(p);
			gt_print_tab(p, 11);
			gt_place_put(p, v, l->sites[rises[i].site].stack, gt_print_left(p));
		}
		gt_print_end(p);
	}
	gt_put_more(p, v, 9, count > GROWTH_SHOWN ? count - GROWTH_SHOWN : 0);
	if (count)
		gt_print_end(p);
	free(rises);
	return count;
}

void gt_summary_text(const struct gt_view *v, FILE *out)
{
	const struct gt_ledger *l = v->ledger;
	uint64_t leaked = gt_ledger_leaked(l).count;
	struct gt_printer p;
	bool growing;

	gt_head_open(&p, out, v);
	if (!l->events && !gt_has_call_counts(v)) {
		gt_head_nothing(&p, v);
		return;
	}
	gt_shortage_put(&p, v, gt_mistakes_count(l) > 1 ? 1 : HOLDERS_SHOWN);
	if (gt_has_call_counts(v)) {
		gt_call_counts_text(&p, v);
		gt_mistakes_text(&p, v);
		return;
	}
	put_left(&p, v);
	put_freed(&p, &l->freed);
	gt_held_text(&p, v);
	gt_print_end(&p);
	if (gt_residue_text(&p, v->recording))
		gt_print_end(&p);
	if (l->peak_bytes)
		put_peak(&p, v);
	growing = put_growth(&p, v);
	put_devices(&p, v);
	gt_mistakes_text(&p, v);
	gt_head_modules(&p, v, MODULES_SHOWN);
	gt_print_put(&p, GT_PLAIN, "recorded in ");
	gt_print_put(&p, GT_BOLD, "%s",
		     gt_style_relative(&v->style, gt_recording_path(v->recording)));
	gt_print_line(&p, GT_PLAIN, "; next:");
	if (leaked)
		put_next(&p, v, "leakage", "every leak with its full stack");
	if (l->peak_bytes)
		put_next(&p, v, "watermark", "everything alive at the peak");
	if (growing)
		put_next(&p, v, "growth", "call sites that keep growing");
	if (!leaked || !l->peak_bytes)
		put_next(&p, v, "sites", "allocations by call site");
}

/* "devices": one object for each GPU; nothing without samples. */
static void devices_json(struct gt_json *j, const struct gt_view *v)
{
	uint64_t traced = v->ledger->peak_bytes;

	if (!has_devices(v))
		return;
	gt_json_array(j, "devices");
	for (size_t i = 0; i < v->ledger->samples.count; i++) {
		const struct gt_sampled *device = sampled(v, i, GT_SERIES_DEVICE_USED);
		const struct gt_sampled *program = device ? program_of(v, i) : NULL;

		if (!device)
			continue;
		gt_json_line(j, NULL);
		gt_json_text(j, "device", subject(v, i));
		gt_json_int(j, "first_bytes", device->first);
		gt_json_int(j, "peak_bytes", device->peak);
		gt_json_int(j, "peak_time_ns", gt_view_time(v, device->peak_ns));
		gt_json_int(j, "last_bytes", device->last);
		if (program)
			gt_json_int(j, "program_peak_bytes", program->peak);
		else
			gt_json_null(j, "program_peak_bytes");
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_uint(j, "untraced_bytes", added(v) > traced ? added(v) - traced : 0);
}

static void kind_json(struct gt_json *j, int api, int kind, const struct gt_tally *t)
{
	gt_json_line(j, NULL);
	gt_kind_json(j, api, kind);
	gt_json_uint(j, "created", t->created);
	gt_json_uint(j, "ended", t->ended);
	gt_json_uint(j, "live", t->live);
	gt_json_uint(j, "live_bytes", t->bytes_live);
	gt_json_uint(j, "peak_bytes", t->bytes_peak);
	gt_json_uint(j, "total_bytes", t->bytes_total);
	gt_json_uint(j, "failed", t->failed);
	gt_json_end(j);
}

static void kinds_json(struct gt_json *j, const struct gt_ledger *l)
{
	gt_json_array(j, "kinds");
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++)
			if (l->tally[api][kind].created || l->tally[api][kind].failed)
				kind_json(j, api, kind, &l->tally[api][kind]);
	gt_json_end(j);
}

void gt_summary_json(const struct gt_view *v, FILE *out)
{
	const struct gt_ledger *l = v->ledger;
	uint64_t device, host;
	struct gt_groups by_fate[GT_FATE_COUNT], groups;
	struct gt_json j;

	gt_verdict_all(&groups, v);
	gt_head_json(&j, out, v, "summary");
	gt_totals_json(&j, groups.object_count, groups.bytes);
	gt_groups_memory(&groups, &device, &host);
	gt_json_uint(&j, "device_bytes", device);
	gt_json_uint(&j, "host_bytes", host);
	gt_json_line(&j, "peak");
	gt_json_int(&j, "time_ns", l->peak_bytes ? gt_view_time(v, l->peak_ns) : 0);
	gt_json_uint(&j, "device_bytes", l->peak_bytes);
	gt_json_uint(&j, "objects", l->peak_live);
	gt_json_end(&j);
	devices_json(&j, v);
	gt_shortage_json(&j, "out_of_memory", v);
	gt_residue_json(&j, v->recording);
	kinds_json(&j, l);
	gt_rank_json(&j, v, &groups);
	gt_fate_split(v, &groups, by_fate);
	gt_fates_json(&j, by_fate);
	gt_fate_groups_json(&j, "groups", v, by_fate);
	gt_held_json(&j, v);
	gt_mistakes_json(&j, v);
	gt_call_counts_json(&j, v);
	if (v->verdict)
		gt_verdict_json(v->verdict, &j);
	gt_foot_json(&j, v);
	gt_verdict_groups_fini(by_fate);
}

/* The table behind the summary: one row for each kind that was used. */
void gt_summary_tsv(const struct gt_view *v, FILE *out)
{
	fputs("api\tkind\ttype\tcreated\tended\tlive\tlive_bytes\tpeak_bytes\ttotal_bytes"
	      "\tfailed\n",
	      out);
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
			const struct gt_tally *t = &v->ledger->tally[api][kind];
			const char *type = gt_kinds[kind].type[api];

			if (!t->created && !t->failed)
				continue;
			fprintf(out,
				"%s\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
				"\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
				gt_api_keys[api], gt_kinds[kind].name, type ? type : "", t->created,
				t->ended, t->live, t->bytes_live, t->bytes_peak, t->bytes_total,
				t->failed);
		}
}
