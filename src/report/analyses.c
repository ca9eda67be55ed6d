/* SPDX-License-Identifier: MIT */
/* analyses.c - the table of analyses, and the replay that gives each what it needs. */
#include "report/analyses.h"

#include <stdlib.h>

#include "replay/replay.h"

#define ANALYSIS(name_, traits_, help)                                                             \
	{                                                                                          \
		.name = #name_,                                                                    \
		.traits = (traits_),                                                               \
		.text = gt_##name_##_text,                                                         \
		.json = gt_##name_##_json,                                                         \
		.tsv = gt_##name_##_tsv,                                                           \
	},
const struct gt_analysis gt_analyses[GT_ANALYSIS_COUNT] = {
#include "report/analyses.def"
};
#undef ANALYSIS

const char *gt_analyses_with(char out[128], enum gt_analysis_trait trait)
{
	const char *before = "-a ";
	size_t used = 0;

	for (int i = 0; i < GT_ANALYSIS_COUNT && used < 128; i++)
		if (gt_analyses[i].traits & trait) {
			used += (size_t)snprintf(out + used, 128 - used, "%s%s", before,
						 gt_analyses[i].name);
			before = " or ";
		}
	return out;
}

/* The timeline that a replay fills. */
struct filling {
	struct gt_timeline *timeline;
	uint64_t start_ns;
};

static void add_moment(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	const struct filling *f = context;

	gt_timeline_add(
		f->timeline,
		&(struct gt_moment){ .time_ns = time_ns > f->start_ns ? time_ns - f->start_ns : 0,
				     .device_bytes = l->device_bytes,
				     .host_bytes = l->host_bytes,
				     .objects = l->live.count - l->gone });
}

static void add_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
		      uint32_t process)
{
	add_moment(context, l, event->time_ns);
}

/* When the last process ended, relative to the start; 0 when no end is known. */
static uint64_t end_of(const struct gt_recording *r)
{
	uint64_t start = gt_recording_start_ns(r), end = start;

	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		if (gt_recording_process(r, i)->end_ns > end)
			end = gt_recording_process(r, i)->end_ns;
	return end - start;
}

void gt_analysis_replay(struct gt_replayed *replayed, const struct gt_analysis *a,
			enum gt_form form, struct gt_view *v)
{
	struct gt_recording *r = v->recording;
	struct filling filling = { .start_ns = gt_recording_start_ns(r) };
	struct gt_replay how = {
		.tick = v->tick,
		.held = v->no_held ? NULL : v->frames,
		.samples = a->traits & GT_NEEDS_SAMPLES,
		.growth = a->traits & GT_NEEDS_GROWTH ||
			  (a->traits & GT_TEXT_NEEDS_GROWTH && form == GT_FORM_TEXT) ||
			  form >= GT_FORM_JUNIT || v->judges_growth,
	};

	*replayed = (struct gt_replayed){ 0 };
	v->ledger = v->at_peak = NULL;
	v->timeline = NULL;
	if (a->traits & GT_TSV_REPLAYS && form == GT_FORM_TSV)
		return;
	if (a->traits & GT_NEEDS_TIMELINE) {
		filling.timeline = replayed->timeline = gt_timeline_new();
		how.each = add_event;
		how.ended = add_moment;
		how.context = &filling;
	}
	v->ledger = replayed->ledger = gt_replay_run(r, &how);
	if (a->traits & GT_NEEDS_TIMELINE) {
		gt_timeline_finish(filling.timeline, end_of(r));
		v->timeline = filling.timeline;
	}
	if (a->traits & GT_NEEDS_PEAK) {
		uint64_t events = replayed->ledger->peak_events;
		struct gt_replay to_peak = { .until = events, .tick = v->tick };

		if (!v->judges)
			gt_ledger_forget_sites(replayed->ledger);
		/* without a peak nothing was alive at it; `until` 0 would replay everything */
		replayed->at_peak = events ? gt_replay_run(r, &to_peak) : gt_ledger_new();
		v->at_peak = replayed->at_peak;
	}
}

void gt_analysis_write_ci(enum gt_form form, const struct gt_views *views, FILE *out)
{
	static gt_views_fn *const writers[GT_FORM_COUNT] = {
		[GT_FORM_JUNIT] = gt_leaks_junit,       [GT_FORM_SARIF] = gt_leaks_sarif,
		[GT_FORM_GITHUB] = gt_leaks_github,     [GT_FORM_GITLAB] = gt_leaks_gitlab,
		[GT_FORM_VALGRIND] = gt_leaks_valgrind,
	};

	writers[form](views, out);
}

void gt_analysis_write(const struct gt_analysis *a, enum gt_form form, const struct gt_view *v,
		       FILE *out)
{
	gt_view_fn *const writers[] = {
		[GT_FORM_TEXT] = a->text,
		[GT_FORM_JSON] = a->json,
		[GT_FORM_TSV] = a->tsv,
	};

	if (form < GT_FORM_JUNIT)
		writers[form](v, out);
	else
		gt_analysis_write_ci(form, &(struct gt_views){ &v, 1 }, out);
}

void gt_analysis_fini(struct gt_replayed *replayed)
{
	gt_ledger_free(replayed->ledger);
	gt_ledger_free(replayed->at_peak);
	gt_timeline_free(replayed->timeline);
}
