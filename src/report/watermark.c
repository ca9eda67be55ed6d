/* SPDX-License-Identifier: MIT */
/* watermark.c - what was alive when device memory peaked, by call site. */
#include "base/format.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/place.h"
#include "report/breakdown_text.h"
#include "report/analyses.h"

void gt_watermark_text(const struct gt_view *v, FILE *out)
{
	char text[GT_FORMAT_MAX], when[GT_FORMAT_MAX], count[GT_FORMAT_MAX];
	size_t places;
	struct gt_groups groups;
	struct gt_split split;
	struct gt_printer p;

	gt_groups_init(&groups, v->at_peak, GT_GROUPS_DEVICE);
	gt_place_groups(&groups, v);
	gt_head_open(&p, out, v);
	if (!groups.count) {
		gt_print_line(&p, GT_PLAIN, "No device memory was allocated.");
		goto free_groups;
	}
	places = gt_place_count_groups(v->frames, &groups);
	gt_print_line(&p, GT_BOLD, "PEAK  %s of device memory at %s, in %s %s from %zu %s",
		      gt_format_bytes(text, groups.bytes),
		      gt_format_span(when, gt_view_elapsed(v, v->ledger->peak_ns)),
		      gt_format_count(count, groups.object_count),
		      gt_plural(groups.object_count, "resource", "resources"), places,
		      gt_place_noun(v->frames, places));
	gt_put_kinds(&p, &groups);
	if (v->at_peak->host_bytes)
		gt_print_wrap(&p, GT_PLAIN, 2, "plus %s of host memory",
			      gt_format_bytes(text, v->at_peak->host_bytes));
	gt_split_groups(&split, v, v->at_peak, &groups);
	gt_split_text(&p, v, &split, "at the peak");
	gt_split_fini(&split);
	gt_print_end(&p);
	gt_groups_text(&p, v, v->at_peak, &groups);
	gt_head_modules(&p, v, 10);
free_groups:
	gt_groups_fini(&groups);
}

void gt_watermark_json(const struct gt_view *v, FILE *out)
{
	struct gt_groups groups;
	struct gt_split split;
	struct gt_json j;

	gt_groups_init(&groups, v->at_peak, GT_GROUPS_DEVICE);
	gt_place_groups(&groups, v);
	gt_head_json(&j, out, v, "watermark");
	gt_totals_json(&j, groups.object_count, groups.bytes);
	gt_json_line(&j, "peak");
	gt_json_uint(&j, "time_ns", gt_view_elapsed(v, v->ledger->peak_ns));
	gt_json_uint(&j, "device_bytes", v->at_peak->device_bytes);
	gt_json_uint(&j, "host_bytes", v->at_peak->host_bytes);
	gt_json_uint(&j, "objects", v->at_peak->live.count - v->at_peak->gone);
	gt_json_end(&j);
	gt_split_groups(&split, v, v->at_peak, &groups);
	gt_split_json(&j, v, &split);
	gt_split_fini(&split);
	gt_groups_json(&j, "groups", v, v->at_peak, &groups);
	gt_foot_json(&j, v);
	gt_groups_fini(&groups);
}

void gt_watermark_tsv(const struct gt_view *v, FILE *out)
{
	struct gt_groups groups;

	gt_groups_init(&groups, v->at_peak, GT_GROUPS_DEVICE);
	gt_place_groups(&groups, v);
	gt_groups_tsv(out, v, v->at_peak, &groups);
	gt_groups_fini(&groups);
}
