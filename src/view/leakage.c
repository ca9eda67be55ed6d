/* leakage.c - every call site with something alive at the end. */
#include "base/format.h"
#include "view/group.h"
#include "view/head.h"
#include "view/verdict.h"

/* Without what the user knows of: suppressions, the baseline. */
static void init_groups(struct gt_groups *groups, const struct gt_view *v)
{
	gt_groups_init(groups, v->ledger, GT_GROUPS_ALL);
	if (v->verdict)
		gt_leaks_filter(&v->verdict->leaks, v->ledger, groups);
}

void gt_leakage_text(const struct gt_view *v, FILE *out)
{
	const struct gt_ledger *l = v->ledger;
	char text[GT_FORMAT_MAX];
	struct gt_groups groups;
	struct gt_page p;
	size_t shown;

	init_groups(&groups, v);
	shown = v->top && v->top < groups.count ? v->top : groups.count;
	gt_head_open(&p, out, v);
	if (!groups.count) {
		gt_page_put(&p, GT_GREEN, v->verdict && v->verdict->leaks.count ?
			    "No leaks but those that are known." :
			    "No leaks: nothing was alive at the end.");
		gt_page_end(&p);
		goto free_groups;
	}
	gt_page_put(&p, GT_RED, "LEAKED");
	gt_page_put(&p, GT_BOLD, "  %s %s from %zu %s", gt_format_count(text, groups.object_count),
		    gt_plural(groups.object_count, "resource", "resources"), groups.count,
		    gt_plural(groups.count, "call site", "call sites"));
	gt_page_end(&p);
	if (groups.bytes) {
		gt_page_put(&p, GT_PLAIN, "  ");
		gt_put_group_memory(&p, GT_PLAIN, &groups);
		gt_page_end(&p);
	}
	gt_put_kinds(&p, &groups);
	gt_page_end(&p);
	for (size_t i = 0; i < shown; i++)
		gt_group_text(&p, v, l, &groups.list[i], i + 1);
	if (shown < groups.count) {
		gt_page_put(&p, GT_DIM, "    and %zu more %s", groups.count - shown,
			    gt_plural(groups.count - shown, "call site", "call sites"));
		gt_page_end(&p);
		gt_page_end(&p);
	}
	if (l->died_with_owner) {
		gt_page_put(&p, GT_DIM, "  not counted: %s that died with their owners",
			    gt_format_count(text, l->died_with_owner));
		gt_page_end(&p);
	}
	gt_head_modules(&p, v, 10);
free_groups:
	gt_groups_fini(&groups);
}

void gt_leakage_json(const struct gt_view *v, FILE *out)
{
	struct gt_groups groups;
	struct gt_json j;

	init_groups(&groups, v);
	gt_head_json(&j, out, v, "leakage");
	gt_totals_json(&j, groups.object_count, groups.bytes);
	gt_groups_json(&j, v, v->ledger, &groups);
	if (v->verdict)
		gt_verdict_json(v->verdict, &j);
	gt_foot_json(&j, v);
	gt_groups_fini(&groups);
}

void gt_leakage_tsv(const struct gt_view *v, FILE *out)
{
	struct gt_groups groups;

	init_groups(&groups, v);
	gt_groups_tsv(out, v, &groups);
	gt_groups_fini(&groups);
}
