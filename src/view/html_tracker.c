/* html_tracker.c - the resource tracker's CSV as what its page draws twelve charts from. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "view/html.h"
#include "view/html_rows.h"

enum { COLUMNS = 1000, TOP_IMPACTS = 5 };

static const char *const curve_keys[GT_CURVE_COUNT] = {
	[GT_CURVE_RSS] = "rss",           [GT_CURVE_SIZE] = "size",
	[GT_CURVE_DATA] = "data",         [GT_CURVE_CONTEXTS] = "contexts",
	[GT_CURVE_QUEUES] = "queues",     [GT_CURVE_MODULES] = "modules",
	[GT_CURVE_KERNELS] = "kernels",   [GT_CURVE_POOLS] = "pools",
	[GT_CURVE_LISTS] = "lists",       [GT_CURVE_EVENTS] = "events",
	[GT_CURVE_MEMORY] = "memory",
};

static void put_trail(struct gt_json *j, const char *key, struct gt_trail *t)
{
	gt_trail_fit(t, COLUMNS);
	gt_html_trail_json(j, key, t);
}

/* True when fewer than TOP_IMPACTS others have changed memory more. */
static bool leads(const struct gt_tracker_table *t, const struct gt_tracker_call *call)
{
	size_t before = 0;

	for (size_t i = 0; i < t->call_count; i++)
		before += fabs(t->calls[i].delta_kb) > fabs(call->delta_kb);
	return call->delta_kb != 0 && before < TOP_IMPACTS;
}

static void calls_json(struct gt_json *j, struct gt_tracker_table *t)
{
	gt_json_array(j, "calls");
	for (size_t i = 0; i < t->call_count; i++) {
		struct gt_tracker_call *call = &t->calls[i];

		gt_json_object(j, NULL);
		gt_json_text(j, "name", call->name);
		gt_json_uint(j, "count", call->count);
		gt_json_uint(j, "leaks", call->leaks);
		gt_json_real(j, "delta_kb", call->delta_kb);
		gt_json_real(j, "leak_kb", call->leak_kb);
		if (leads(t, call))
			put_trail(j, "impact", &call->impact);
		else
			gt_json_null(j, "impact");
		gt_json_end(j);
	}
	gt_json_end(j);
}

static void sums_json(struct gt_json *j, const struct gt_tracker_table *t)
{
	gt_json_uint(j, "rows", t->rows);
	gt_json_uint(j, "bad_rows", t->bad_rows);
	gt_json_uint(j, "bad_line", t->bad_line);
	gt_json_uint(j, "unsigned_falls", t->unsigned_falls);
	gt_json_real(j, "threshold_kb", t->threshold_kb);
	gt_json_uint(j, "leak_events", t->leak_events);
	gt_json_real(j, "leak_kb", t->leak_kb);
	gt_json_real(j, "first_ms", t->first_ms);
	gt_json_real(j, "last_ms", t->last_ms);
	gt_json_real(j, "first_rss", t->first_rss);
	gt_json_real(j, "last_rss", t->last_rss);
	gt_json_real(j, "peak_rss", t->peak[GT_CURVE_RSS]);
}

void gt_html_tracker_data(struct gt_tracker_table *t, const char *path, FILE *out)
{
	struct gt_json j;

	gt_json_begin(&j, out);
	j.in_html = true;
	j.flat = 1;
	gt_json_uint(&j, "schema", 1);
	gt_json_text(&j, "made_by", GT_VERSION);
	gt_json_object(&j, "tracker");
	gt_json_text(&j, "path", path);
	sums_json(&j, t);
	gt_json_object(&j, "curves");
	for (int i = 0; i < GT_CURVE_COUNT; i++)
		put_trail(&j, curve_keys[i], &t->curves[i]);
	gt_json_end(&j);
	put_trail(&j, "deltas", &t->deltas);
	gt_json_uint(&j, "leak_width", t->leaks.width);
	put_trail(&j, "leaks", &t->leaks);
	put_trail(&j, "leaked", &t->leaked);
	calls_json(&j, t);
	gt_json_end(&j);
	gt_json_finish(&j);
}
