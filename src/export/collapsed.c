/* SPDX-License-Identifier: MIT */
/* collapsed.c - call sites as collapsed stacks and for speedscope. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/format.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "export/export.h"
#include "replay/ending.h"
#include "replay/place.h"
#include "replay/replay.h"
#include "replay/stack.h"

/* clang-format off */
const char *const gt_weight_names[] = {
	[GT_WEIGHT_LEAKED] = "leaked", [GT_WEIGHT_PEAK] = "peak",
	[GT_WEIGHT_ALLOCATED] = "allocated", [GT_WEIGHT_OBJECTS] = "objects",
	[GT_WEIGHT_ALIVE] = "alive", NULL,
};
/* clang-format on */

/* A replayed recording. */
struct sites {
	struct gt_ledger *ledger;
	struct gt_site_fates *fates; /* by site */
};

static struct sites sites_of(const struct gt_export *e)
{
	struct gt_ledger *l = gt_replay_run(
		e->recording, &(struct gt_replay){ .held = e->held, .tick = e->tick });
	struct gt_view v = { .recording = e->recording, .ledger = l, .strict = e->strict };

	gt_places_list_ledger(e->frames, l);
	return (struct sites){ l, gt_site_fates(&v) };
}

static void sites_fini(struct sites *s)
{
	free(s->fates);
	gt_ledger_free(s->ledger);
}

static uint64_t weight_of(const struct sites *s, size_t i, enum gt_weight weight)
{
	const struct gt_site_fates *fates = &s->fates[i];
	uint64_t alive = 0;

	switch (weight) {
	case GT_WEIGHT_LEAKED: return fates->bytes[GT_FATE_LEAKED];
	case GT_WEIGHT_OBJECTS: return fates->count[GT_FATE_LEAKED];
	case GT_WEIGHT_PEAK: return s->ledger->sites[i].bytes_at_peak;
	case GT_WEIGHT_ALLOCATED: return s->ledger->sites[i].bytes_total;
	case GT_WEIGHT_ALIVE:
	case GT_WEIGHT_COUNT: break;
	}
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		alive += fates->bytes[fate];
	return alive;
}

/* As JSON wants it; frees `name`. The caller frees the result. */
static char *repaired(char *name)
{
	char *clean = gt_utf8_repair(name);

	free(name);
	return clean;
}

/* The tip of a stack: what was created, and the place if there is one. The caller frees it. */
static char *tip_of(struct gt_frames *frames, const struct gt_site *site)
{
	char *place = site->stack ? gt_place_text(frames, site->stack, true) : gt_strdup(""), *tip;

	if (asprintf(&tip, "[%s %s]%s%s", gt_api_names[site->api], gt_kinds[site->kind].name,
		     *place ? " " : "", place) < 0)
		tip = gt_strdup("");
	free(place);
	return repaired(tip);
}

void gt_collapsed_put(FILE *out, const char *name)
{
	char *tame = gt_text_sanitize(name);

	for (char *c = tame; *c; c++)
		putc(*c == ';' ? ':' : *c == '\n' ? '?' : *c, out);
	free(tame);
}

/* Frees `name`. */
static void put_name(FILE *out, char *name)
{
	gt_collapsed_put(out, name);
	free(name);
}

void gt_export_collapsed(const struct gt_export *e)
{
	struct sites all = sites_of(e);

	for (size_t i = 0; i < all.ledger->site_count; i++) {
		const struct gt_site *site = &all.ledger->sites[i];
		uint64_t weight = weight_of(&all, i, e->weight);
		const struct gt_frame *frames;
		size_t count = gt_frames_get(e->frames, site->stack, &frames);

		if (!weight)
			continue;
		while (count--) {
			put_name(e->out, repaired(gt_frame_name(&frames[count])));
			putc(';', e->out);
		}
		put_name(e->out, tip_of(e->frames, site));
		fprintf(e->out, " %" PRIu64 "\n", weight);
	}
	sites_fini(&all);
}

/* Frames numbered as they are met, and the stacks made of those numbers. */
struct speedscope {
	struct sites sites;
	struct gt_frames *frames;
	struct gt_intern *seen;
	struct gt_json json;
};

static uint32_t number_of(struct speedscope *s, const char *name, const char *file, uint32_t line,
			  bool *is_new)
{
	char *key;
	int size = asprintf(&key, "%s%c%s%c%" PRIu32, name, 0, file ? file : "", 0, line);
	size_t before = gt_intern_count(s->seen);
	uint32_t number;

	if (size < 0)
		return 0;
	number = gt_intern(s->seen, key, (size_t)size);
	*is_new = number == before;
	free(key);
	return number;
}

/* The frame's number; writes it into the shared list when it is met for the first time. */
static uint32_t frame_number(struct speedscope *s, const char *name, const char *file,
			     uint32_t line)
{
	bool is_new = false;
	uint32_t number = number_of(s, name, file, line, &is_new);

	if (!is_new)
		return number;
	gt_json_line(&s->json, NULL);
	gt_json_text(&s->json, "name", name);
	if (file)
		gt_json_text(&s->json, "file", file);
	if (line)
		gt_json_uint(&s->json, "line", line);
	gt_json_end(&s->json);
	return number;
}

/* The numbers of a site's frames, outermost first, with its tip as the last. */
static size_t site_numbers(struct speedscope *s, const struct gt_site *site, uint32_t **numbers)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(s->frames, site->stack, &frames), used = 0;
	struct gt_frame at = { 0 };
	char *name;

	*numbers = gt_alloc((count + 1) * sizeof **numbers);
	for (size_t i = count; i--;) {
		name = repaired(gt_frame_name(&frames[i]));
		(*numbers)[used++] = frame_number(s, name, frames[i].file, frames[i].line);
		free(name);
	}
	name = tip_of(s->frames, site);
	gt_place_frame(s->frames, site->stack, &at);
	(*numbers)[used++] = frame_number(s, name, at.file, at.line);
	free(name);
	return used;
}

static void put_profile(struct speedscope *s, enum gt_weight weight)
{
	const struct gt_ledger *l = s->sites.ledger;
	struct gt_json *j = &s->json;
	uint64_t total = 0;

	gt_json_object(j, NULL);
	gt_json_text(j, "type", "sampled");
	gt_json_text(j, "name", gt_weight_names[weight]);
	gt_json_text(j, "unit", weight == GT_WEIGHT_OBJECTS ? "none" : "bytes");
	gt_json_array(j, "samples");
	for (size_t i = 0; i < l->site_count; i++) {
		uint32_t *numbers;
		size_t count;

		if (!weight_of(&s->sites, i, weight))
			continue;
		total += weight_of(&s->sites, i, weight);
		count = site_numbers(s, &l->sites[i], &numbers);
		gt_json_array(j, NULL);
		for (size_t k = 0; k < count; k++)
			gt_json_uint(j, NULL, numbers[k]);
		gt_json_end(j);
		free(numbers);
	}
	gt_json_end(j);
	gt_json_array(j, "weights");
	for (size_t i = 0; i < l->site_count; i++)
		if (weight_of(&s->sites, i, weight))
			gt_json_uint(j, NULL, weight_of(&s->sites, i, weight));
	gt_json_end(j);
	gt_json_uint(j, "startValue", 0);
	gt_json_uint(j, "endValue", total);
	gt_json_end(j);
}

void gt_export_speedscope(const struct gt_export *e)
{
	struct speedscope s = { .sites = sites_of(e),
				.frames = e->frames,
				.seen = gt_intern_new() };
	const struct gt_ledger *l = s.sites.ledger;

	gt_json_begin(&s.json, e->out);
	gt_json_text(&s.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	gt_json_text(&s.json, "exporter", "gputrack " GT_VERSION);
	gt_json_text(&s.json, "name", gt_recording_info(e->recording, "command"));
	gt_json_uint(&s.json, "activeProfileIndex", e->weight);
	gt_json_object(&s.json, "shared");
	gt_json_array(&s.json, "frames");
	for (size_t i = 0; i < l->site_count; i++) {
		uint32_t *numbers;

		site_numbers(&s, &l->sites[i], &numbers);
		free(numbers);
	}
	gt_json_end(&s.json);
	gt_json_end(&s.json);
	gt_json_array(&s.json, "profiles");
	for (int weight = 0; weight < GT_WEIGHT_COUNT; weight++)
		put_profile(&s, (enum gt_weight)weight);
	gt_json_end(&s.json);
	gt_json_finish(&s.json);
	gt_intern_free(s.seen);
	sites_fini(&s.sites);
}
