/* SPDX-License-Identifier: MIT */
/* leakage.c - every call site with resources alive at the end. */
#include "base/format.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/held.h"
#include "replay/place.h"
#include "judge/residue.h"
#include "report/breakdown_text.h"
#include "judge/verdict.h"
#include "report/analyses.h"

/* Static variables, primary contexts: they hold memory but are not leaks. */
static void put_lasting(struct gt_printer *p, const struct gt_view *v)
{
	struct gt_groups groups;

	gt_groups_init(&groups, v->ledger, GT_GROUPS_LASTING);
	gt_place_groups(&groups, v);
	if (groups.count) {
		if (!gt_ledger_leaked(v->ledger).count)
			gt_print_end(p);
		gt_print_line(p, GT_BOLD, "NOT LEAKED  lives until the process ends");
		gt_put_kinds(p, &groups);
		gt_print_end(p);
		for (size_t i = 0; i < groups.count; i++)
			gt_group_text(p, v, v->ledger, &groups.list[i], i + 1);
	}
	gt_groups_fini(&groups);
}

/* Resources freed with their context, and those that died with their owners. */
static void put_owned(struct gt_printer *p, const struct gt_ledger *l)
{
	char text[GT_FORMAT_MAX];

	if (l->freed.count) {
		gt_print_put(p, GT_BOLD, "NOT LEAKED  %s %s freed with their context",
			     gt_format_count(text, l->freed.count),
			     gt_plural(l->freed.count, "resource", "resources"));
		if (l->freed.device_bytes || l->freed.host_bytes)
			gt_print_put(p, GT_BOLD, ": ");
		gt_put_memory(p, GT_PLAIN, l->freed.device_bytes, l->freed.host_bytes);
		gt_print_end(p);
	}
	if (l->died_with_owner)
		gt_print_line(p, GT_DIM, "  not counted: %s destroyed with their owners",
			      gt_format_count(text, l->died_with_owner));
}

/* What is alive at the end and has this fate. `known`: say how many are not new. */
static void put_fate(struct gt_printer *p, const struct gt_view *v, enum gt_fate fate,
		     const struct gt_groups *groups, const struct gt_groups *known, bool is_part)
{
	size_t places = gt_place_count_groups(v->frames, groups);
	char text[GT_FORMAT_MAX];
	struct gt_split split;

	gt_fate_word(p, fate);
	gt_print_line(p, GT_BOLD, "  %s %s from %zu %s",
		      gt_format_count(text, groups->object_count),
		      gt_plural(groups->object_count, "resource", "resources"), places,
		      gt_place_noun(v->frames, places));
	gt_fate_line(p, v, fate, groups);
	if (known)
		gt_verdict_known(p, v, known);
	if (groups->bytes) {
		gt_print_put(p, GT_PLAIN, "  ");
		gt_put_group_memory(p, GT_PLAIN, groups);
		gt_print_end(p);
	}
	gt_put_kinds(p, groups);
	gt_split_groups(&split, v, v->ledger, groups);
	split.is_part = is_part;
	gt_split_text(p, v, &split, fate == GT_FATE_LEAKED ? "leaked" : "alive");
	gt_split_fini(&split);
	gt_print_end(p);
	gt_groups_text(p, v, v->ledger, groups);
}

static unsigned count_fates(const struct gt_groups by_fate[GT_FATE_COUNT])
{
	unsigned count = 0;

	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		count += by_fate[fate].count > 0;
	return count;
}

static void put_leaks(struct gt_printer *p, const struct gt_view *v,
		      const struct gt_groups by_fate[GT_FATE_COUNT])
{
	const struct gt_groups *known = by_fate;

	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		if (!by_fate[fate].count)
			continue;
		put_fate(p, v, (enum gt_fate)fate, &by_fate[fate], known, count_fates(by_fate) > 1);
		known = NULL;
	}
}

void gt_leakage_text(const struct gt_view *v, FILE *out)
{
	const struct gt_ledger *l = v->ledger;
	struct gt_groups by_fate[GT_FATE_COUNT];
	struct gt_printer p;
	bool any;

	gt_verdict_groups(by_fate, v);
	any = count_fates(by_fate);
	gt_head_open(&p, out, v);
	if (!l->events)
		gt_head_nothing(&p, v);
	else if (any)
		put_leaks(&p, v, by_fate);
	else
		gt_verdict_no_leaks(&p, v);
	put_lasting(&p, v);
	put_owned(&p, l);
	gt_held_text(&p, v);
	gt_held_groups_text(&p, v);
	gt_residue_text(&p, v->recording);
	if (any)
		gt_head_modules(&p, v, 10);
	gt_verdict_groups_fini(by_fate);
}

void gt_leakage_json(const struct gt_view *v, FILE *out)
{
	const struct gt_freed *freed = &v->ledger->freed;
	struct gt_groups by_fate[GT_FATE_COUNT], groups, lasting;
	uint64_t device, host;
	struct gt_split split;
	struct gt_json j;

	gt_verdict_all(&groups, v);
	gt_groups_init(&lasting, v->ledger, GT_GROUPS_LASTING);
	gt_place_groups(&lasting, v);
	gt_head_json(&j, out, v, "leakage");
	gt_totals_json(&j, groups.object_count, groups.bytes);
	gt_groups_memory(&groups, &device, &host);
	gt_json_uint(&j, "device_bytes", device);
	gt_json_uint(&j, "host_bytes", host);
	gt_split_groups(&split, v, v->ledger, &groups);
	gt_split_json(&j, v, &split);
	gt_split_fini(&split);
	gt_fate_split(v, &groups, by_fate);
	gt_fates_json(&j, by_fate);
	gt_fate_groups_json(&j, "groups", v, by_fate);
	gt_groups_json(&j, "lasting", v, v->ledger, &lasting);
	gt_json_line(&j, "freed_with_context");
	gt_json_uint(&j, "count", freed->count);
	gt_json_uint(&j, "device_bytes", freed->device_bytes);
	gt_json_uint(&j, "host_bytes", freed->host_bytes);
	gt_json_end(&j);
	gt_json_uint(&j, "died_with_owner", v->ledger->died_with_owner);
	gt_held_json(&j, v);
	gt_residue_json(&j, v->recording);
	if (v->verdict)
		gt_verdict_json(v->verdict, &j);
	gt_foot_json(&j, v);
	gt_verdict_groups_fini(by_fate);
	gt_groups_fini(&lasting);
}

void gt_leakage_tsv(const struct gt_view *v, FILE *out)
{
	struct gt_groups by_fate[GT_FATE_COUNT];

	gt_verdict_groups(by_fate, v);
	gt_fate_groups_tsv(out, v, by_fate);
	gt_verdict_groups_fini(by_fate);
}
