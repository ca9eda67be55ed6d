/* leakage.c - every call site with something alive at the end. */
#include "base/format.h"
#include "view/group.h"
#include "view/head.h"
#include "view/share.h"

/* Static variables, which are alive as long as their module: no leaks, but memory all the same. */
static void put_static(struct gt_page *p, const struct gt_view *v)
{
	char bytes[GT_FORMAT_MAX], count[GT_FORMAT_MAX];
	struct gt_groups groups;

	gt_groups_init(&groups, v->ledger, GT_GROUPS_STATIC);
	if (groups.count) {
		if (!gt_ledger_leaked(v->ledger).count)
			gt_page_end(p);
		gt_page_put(p, GT_BOLD, "NOT LEAKED  %s %s, %s",
			    gt_format_count(count, groups.object_count),
			    gt_plural(groups.object_count, "static variable", "static variables"),
			    gt_format_bytes(bytes, groups.bytes));
		gt_page_end(p);
		gt_page_end(p);
		for (size_t i = 0; i < groups.count; i++)
			gt_group_text(p, v, v->ledger, &groups.list[i], i + 1);
	}
	gt_groups_fini(&groups);
}

static void put_leaks(struct gt_page *p, const struct gt_view *v, const struct gt_groups *groups)
{
	size_t shown = v->top && v->top < groups->count ? v->top : groups->count;
	struct gt_leaked leaked = gt_ledger_leaked(v->ledger);
	char text[GT_FORMAT_MAX];
	struct gt_split split;

	gt_page_put(p, GT_RED, "LEAKED");
	gt_page_put(p, GT_BOLD, "  %s %s from %zu %s", gt_format_count(text, groups->object_count),
		    gt_plural(groups->object_count, "resource", "resources"), groups->count,
		    gt_plural(groups->count, "call site", "call sites"));
	gt_page_end(p);
	if (groups->bytes) {
		gt_page_put(p, GT_PLAIN, "  ");
		gt_put_memory(p, GT_PLAIN, leaked.device_bytes, leaked.host_bytes);
		gt_page_end(p);
	}
	gt_put_kinds(p, groups);
	gt_split_groups(&split, v, v->ledger, groups);
	gt_split_text(p, v, &split, "leaked");
	gt_split_fini(&split);
	gt_page_end(p);
	for (size_t i = 0; i < shown; i++)
		gt_group_text(p, v, v->ledger, &groups->list[i], i + 1);
	if (shown < groups->count) {
		gt_page_put(p, GT_DIM, "    and %zu more %s", groups->count - shown,
			    gt_plural(groups->count - shown, "call site", "call sites"));
		gt_page_end(p);
		gt_page_end(p);
	}
}

void gt_leakage_text(const struct gt_view *v, FILE *out)
{
	const struct gt_ledger *l = v->ledger;
	char text[GT_FORMAT_MAX];
	struct gt_groups groups;
	struct gt_page p;

	gt_groups_init(&groups, l, GT_GROUPS_LEAKS);
	gt_head_open(&p, out, v);
	if (groups.count) {
		put_leaks(&p, v, &groups);
	} else {
		gt_page_put(&p, GT_GREEN, "No leaks: nothing was alive at the end.");
		gt_page_end(&p);
	}
	put_static(&p, v);
	if (l->died_with_owner) {
		gt_page_put(&p, GT_DIM, "  not counted: %s that died with their owners",
			    gt_format_count(text, l->died_with_owner));
		gt_page_end(&p);
	}
	if (groups.count)
		gt_head_modules(&p, v, 10);
	gt_groups_fini(&groups);
}

void gt_leakage_json(const struct gt_view *v, FILE *out)
{
	struct gt_groups groups, statics;
	struct gt_leaked leaked = gt_ledger_leaked(v->ledger);
	struct gt_split split;
	struct gt_json j;

	gt_groups_init(&groups, v->ledger, GT_GROUPS_LEAKS);
	gt_groups_init(&statics, v->ledger, GT_GROUPS_STATIC);
	gt_head_json(&j, out, v, "leakage");
	gt_totals_json(&j, groups.object_count, groups.bytes);
	gt_json_uint(&j, "device_bytes", leaked.device_bytes);
	gt_json_uint(&j, "host_bytes", leaked.host_bytes);
	gt_split_groups(&split, v, v->ledger, &groups);
	gt_split_json(&j, v, &split);
	gt_split_fini(&split);
	gt_groups_json(&j, "groups", v, v->ledger, &groups);
	gt_groups_json(&j, "static", v, v->ledger, &statics);
	gt_json_uint(&j, "died_with_owner", v->ledger->died_with_owner);
	gt_foot_json(&j, v);
	gt_groups_fini(&groups);
	gt_groups_fini(&statics);
}

void gt_leakage_tsv(const struct gt_view *v, FILE *out)
{
	struct gt_groups groups;

	gt_groups_init(&groups, v->ledger, GT_GROUPS_LEAKS);
	gt_groups_tsv(out, v, v->ledger, &groups);
	gt_groups_fini(&groups);
}
