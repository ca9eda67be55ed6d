/* SPDX-License-Identifier: MIT */
/* fleet_json.c - the answers of `gputrack fleet` for programs: doc/schema/fleet.schema.json. */
#include "base/json.h"
#include "cli/fleet/fleet_show.h"

enum { HOURS = 24 };

static void begin(struct gt_json *j, FILE *out, const char *question)
{
	gt_json_begin(j, out);
	gt_json_uint(j, "schema", 1);
	gt_json_text(j, "fleet", question);
}

static void put_since(struct gt_json *j, const char *since)
{
	gt_json_text(j, "growing_since", *since ? since : NULL);
}

static void put_growth(struct gt_json *j, double bytes_an_hour, double objects_an_hour)
{
	gt_json_real(j, "growth_bytes_per_day", bytes_an_hour * HOURS);
	gt_json_real(j, "growth_objects_per_day", objects_an_hour * HOURS);
}

static void put_words(struct gt_json *j, const struct gt_fleet_place *f)
{
	gt_json_text(j, "place", f->place);
	gt_json_text(j, "file", f->file);
	gt_json_uint(j, "line", f->line);
	gt_json_text(j, "api", f->api);
	gt_json_text(j, "kind", f->kind);
}

static void put_state(struct gt_json *j, const struct gt_fleet_place *f)
{
	gt_json_uint(j, "held_bytes", f->held_bytes);
	gt_json_uint(j, "held_objects", f->held_objects);
	put_growth(j, f->growth_bytes, f->growth_objects);
	gt_json_uint(j, "hosts", f->hosts);
	gt_json_uint(j, "processes", f->processes);
	put_since(j, f->since);
}

static void put_days(struct gt_json *j, const struct gt_fleet_answer *a)
{
	gt_json_text(j, "since", a->from);
	gt_json_text(j, "until", a->to);
	gt_json_uint(j, "hosts", a->hosts);
	gt_json_uint(j, "total", a->total);
}

void gt_fleet_top_json(FILE *out, const struct gt_fleet_answer *a)
{
	struct gt_json j;

	begin(&j, out, "top");
	put_days(&j, a);
	gt_json_array(&j, "places");
	for (size_t i = 0; i < a->count; i++) {
		gt_json_object(&j, NULL);
		put_words(&j, &a->places[i]);
		gt_json_uint(&j, "grown_bytes", a->places[i].grown_bytes);
		gt_json_uint(&j, "grown_objects", a->places[i].grown_objects);
		put_state(&j, &a->places[i]);
		gt_json_end(&j);
	}
	gt_json_end(&j);
	gt_json_finish(&j);
}

static void put_side(struct gt_json *j, const char *key, const struct gt_fleet_place *f)
{
	if (!f) {
		gt_json_null(j, key);
		return;
	}
	gt_json_object(j, key);
	put_state(j, f);
	gt_json_end(j);
}

static void put_moment(struct gt_json *j, const char *key, const struct gt_fleet_answer *a)
{
	gt_json_line(j, key);
	gt_json_text(j, "time", a->to);
	gt_json_uint(j, "hosts", a->hosts);
	gt_json_end(j);
}

void gt_fleet_diff_json(FILE *out, const struct gt_fleet_comparison *d)
{
	static const char *const names[GT_FLEET_CHANGES] = {
		[GT_FLEET_NEW] = "growing", [GT_FLEET_GROWS] = "growing as before",
		[GT_FLEET_GONE] = "gone",   [GT_FLEET_MORE] = "more",
		[GT_FLEET_LESS] = "less",
	};
	struct gt_json j;

	begin(&j, out, "diff");
	put_moment(&j, "before", d->before);
	put_moment(&j, "after", d->after);
	gt_json_array(&j, "places");
	for (size_t i = 0; i < d->count; i++) {
		const struct gt_fleet_difference *one = &d->list[i];

		gt_json_object(&j, NULL);
		gt_json_text(&j, "change", names[one->change]);
		put_words(&j, one->after ? one->after : one->before);
		put_side(&j, "before", one->before);
		put_side(&j, "after", one->after);
		gt_json_end(&j);
	}
	gt_json_end(&j);
	gt_json_finish(&j);
}

void gt_fleet_place_json(FILE *out, const struct gt_fleet_answer *a, const char *name)
{
	struct gt_json j;

	begin(&j, out, "place");
	gt_json_text(&j, "name", name);
	put_days(&j, a);
	gt_json_array(&j, "processes");
	for (size_t i = 0; i < a->count; i++) {
		const struct gt_fleet_process *f = &a->processes[i];

		gt_json_object(&j, NULL);
		gt_json_text(&j, "host", f->host);
		gt_json_text(&j, "pod", *f->pod ? f->pod : NULL);
		gt_json_text(&j, "process", f->process);
		gt_json_uint(&j, "pid", f->pid);
		gt_json_bool(&j, "running", f->runs);
		gt_json_text(&j, "place", f->place);
		gt_json_text(&j, "kind", f->kind);
		gt_json_text(&j, "gpu", f->gpu);
		gt_json_uint(&j, "held_bytes", f->held_bytes);
		gt_json_uint(&j, "held_objects", f->held_objects);
		put_growth(&j, f->growth_bytes, f->growth_objects);
		gt_json_text(&j, "first_day", f->first);
		gt_json_text(&j, "last_day", f->last);
		put_since(&j, f->since);
		gt_json_end(&j);
	}
	gt_json_end(&j);
	gt_json_finish(&j);
}
