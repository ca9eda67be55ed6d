/* SPDX-License-Identifier: MIT */
/*
 * code_quality.c - leaks as GitLab's code quality report: an array with an object for each call
 * site that counts, which a merge request shows beside the line.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/merged.h"
#include "judge/verdict.h"
#include "replay/place.h"

/* A finding; `key` recognises it in the report of another branch. `frame` NULL: no place. */
struct finding {
	const struct gt_view *v;
	const char *rule, *text;
	const struct gt_frame *frame;
	uint64_t key;
	bool fails;
};

static void put(struct gt_json *j, const struct finding *f)
{
	/* the recording where there is no line: GitLab drops findings without a path */
	char *file = f->frame ? gt_frame_file(f->v, f->frame) :
				gt_strdup(gt_style_relative(&f->v->style,
							    gt_recording_path(f->v->recording)));
	char fingerprint[32];

	snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, f->key);
	gt_json_object(j, NULL);
	gt_json_text(j, "description", f->text);
	gt_json_text(j, "check_name", f->rule);
	gt_json_text(j, "fingerprint", fingerprint);
	gt_json_text(j, "severity", f->fails ? "critical" : "minor");
	gt_json_object(j, "location");
	gt_json_text(j, "path", file);
	gt_json_line(j, "lines");
	gt_json_uint(j, "begin", f->frame ? f->frame->line : 1);
	gt_json_end(j);
	gt_json_end(j);
	gt_json_end(j);
	free(file);
}

static void put_leak(struct gt_json *j, const struct gt_view *v, const struct gt_leak *leak)
{
	char word[96] = "gputrack.", *title = gt_leak_title(v, leak);
	struct gt_frame frame;

	gt_select_word(word + strlen(word), sizeof word - strlen(word), (enum gt_api)leak->api,
		       (enum gt_kind)leak->kind);
	put(j, &(struct finding){ .v = v,
				  .rule = word,
				  .text = title,
				  .frame = gt_place_frame(v->frames, leak->stack, &frame) ? &frame :
											    NULL,
				  .key = leak->key,
				  .fails = gt_verdict_fails(v->verdict, leak) });
	free(title);
}

/* The fingerprint is that of the test. */
static void put_whole(void *context, const struct gt_view *v, const struct gt_whole *whole)
{
	char rule[32], *words = NULL, *named = NULL;

	snprintf(rule, sizeof rule, "gputrack.%s", whole->rule);
	if (asprintf(&words, "%s %s", rule, whole->test) < 0 ||
	    asprintf(&named, "%s: %s", whole->test, whole->text) < 0)
		words = named = NULL;
	put(context, &(struct finding){ .v = v,
					.rule = rule,
					.text = named ? named : whole->text,
					.frame = whole->frame,
					.key = words ? gt_hash_bytes(words, strlen(words)) : 0,
					.fails = true });
	free(words);
	free(named);
}

static void put_recording(struct gt_json *j, const struct gt_views *views, size_t view)
{
	const struct gt_view *v = views->list[view];
	const struct gt_verdict *verdict = v->verdict;
	struct gt_frame frame;

	for (size_t i = 0; i < verdict->growing.count; i++) {
		const struct gt_growing *one = &verdict->growing.list[i];
		char *text = gt_growing_title(v, one);

		if (!one->suppressed && !one->is_known &&
		    !gt_views_grew_before(views, view, one->key))
			put(j,
			    &(struct finding){
				    .v = v,
				    .rule = "gputrack.growth",
				    .text = text,
				    .frame = gt_place_frame(v->frames, one->site->stack, &frame) ?
						     &frame :
						     NULL,
				    .key = ~one->key, /* a leak there has the key */
				    .fails = one->fails });
		free(text);
	}
	gt_views_wholes(views, view, put_whole, j);
}

void gt_leaks_gitlab(const struct gt_views *views, FILE *out)
{
	struct gt_merged m;
	struct gt_json j;

	gt_merged_init(&m, views);
	gt_merged_list_places(&m, views);
	gt_json_begin_array(&j, out);
	for (size_t i = 0; i < m.leaks.count; i++) {
		struct gt_leak_part new = gt_leak_new(&m.leaks.list[i]);

		if (new.count || new.bytes)
			put_leak(&j, views->list[m.from[i]], &m.leaks.list[i]);
	}
	for (size_t i = 0; i < views->count; i++)
		put_recording(&j, views, i);
	gt_json_finish(&j);
	gt_merged_fini(&m);
}
