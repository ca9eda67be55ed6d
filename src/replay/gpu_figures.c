/* SPDX-License-Identifier: MIT */
/* gpu_figures.c - what the GPU itself reports (NVML's samples), held against what is known. */
#include "replay/gpu_figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "replay/device_memory.h"
#include "replay/replay.h"

enum {
	PLACES = 64,                /* as struct gt_entry numbers them */
	SETTLED_NS = 110 * 1000000, /* a sample's period and a bit */
};

/* What one series tells of a device. */
struct reported {
	bool any;
	int64_t start, latest_beyond; /* the first value; of the last sample so far, as below */
	/* of the sample that tells most about the moment */
	int64_t value, beyond; /* beyond: what was known then */
	uint64_t off_ns, time_ns;
};

struct gt_gpu_figures {
	const struct gt_view *view;
	uint64_t time_ns;
	int64_t known[PLACES];
	struct gt_map in_blocks; /* by segment: the bytes that blocks have of it */
	uint64_t begun_ns;       /* when the first context or memory had been made; 0: not yet */
	uint64_t sampled_ns;     /* of the last sample */
	bool is_settled;         /* samples have shown it */
	int64_t program_first[PLACES], device_first[PLACES]; /* beyond what was known then */
	struct reported program[PLACES], device[PLACES];
};

static bool counts(const struct gt_entry *entry)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[entry->function].kind;

	return kind == GT_DRIVER_MEMORY ||
	       (gt_kind_on_device(kind) && !(gt_kinds[kind].habits & GT_POOLED) &&
		!gt_awaits_context(entry));
}

void gt_gpu_figures_born(struct gt_gpu_figures *g, const struct gt_entry *entry)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[entry->function].kind;

	if (!g->begun_ns && (gt_kinds[kind].family == GT_CUDA_CONTEXT || counts(entry)))
		g->begun_ns = entry->time_ns;
	if (counts(entry))
		g->known[entry->place] += (int64_t)entry->size;
}

static uint64_t key_of(const struct gt_entry *segment)
{
	uint64_t family = gt_kinds[gt_entry_kind(segment)].family;

	return gt_mix64(segment->handle ^ gt_mix64(family << 32 | segment->process));
}

void gt_gpu_figures_moved(struct gt_gpu_figures *g, const struct gt_entry *segment, int64_t bytes)
{
	void **at = gt_map_at(&g->in_blocks, key_of(segment));

	*at = (void *)((uintptr_t)*at + (uintptr_t)bytes);
}

/* A segment that ends with blocks in it, as a context or a process takes it along, ends whole. */
void gt_gpu_figures_ended(struct gt_gpu_figures *g, const struct gt_entry *entry)
{
	void **in_blocks;

	if (!counts(entry))
		return;
	g->known[entry->place] -= (int64_t)entry->size;
	in_blocks = gt_map_find(&g->in_blocks, key_of(entry));
	if (in_blocks) {
		g->known[entry->place] -= (int64_t)(uintptr_t)*in_blocks;
		*in_blocks = NULL;
	}
}

/* "NVIDIA H200" of "GPU 0: NVIDIA H200". */
static const char *name_of(const char *text)
{
	const char *name = strstr(text, ": ");

	return name ? name + 2 : text;
}

/*
 * The place that a GPU's samples are about. Programs may number their devices in another order: by
 * name alone, if only one place has it.
 */
static uint16_t place_of(const struct gt_recording *r, const char *subject)
{
	uint16_t found = 0;
	size_t alike = 0;

	for (uint16_t i = 1; i < PLACES && i < gt_recording_place_count(r); i++) {
		const char *place = gt_recording_place(r, i);

		if (!strcmp(place, subject))
			return i;
		if (!strcmp(name_of(place), name_of(subject))) {
			found = i;
			alike++;
		}
	}
	return alike == 1 ? found : 0;
}

/* Values are written when they change: the latest before a moment is still true then. */
static void take(const struct gt_gpu_figures *g, struct reported *x, const struct gt_sample *sample,
		 int64_t known)
{
	uint64_t moment_ns = g->time_ns;
	uint64_t off = sample->time_ns > moment_ns ? sample->time_ns - moment_ns :
						     moment_ns - sample->time_ns;
	int64_t beyond = sample->value - known;

	if (!x->any)
		x->start = sample->value;
	if (!x->any || sample->time_ns <= moment_ns || off < x->off_ns) {
		x->value = sample->value;
		x->beyond = beyond;
		x->off_ns = off;
		x->time_ns = sample->time_ns;
	}
	x->any = true;
	x->latest_beyond = beyond;
}

/*
 * What the first context takes. A sample may have been taken while it was in the making, and the
 * next one may be late: the GPU answers slowly then.
 */
static void settle(struct gt_gpu_figures *g, uint64_t time_ns)
{
	if (g->is_settled || !g->begun_ns || time_ns < g->begun_ns + SETTLED_NS ||
	    g->sampled_ns < g->begun_ns)
		return;
	g->is_settled = true;
	for (size_t i = 0; i < PLACES; i++) {
		g->program_first[i] = g->program[i].latest_beyond;
		g->device_first[i] = g->device[i].latest_beyond;
	}
}

void gt_gpu_figures_before(struct gt_gpu_figures *g, uint64_t time_ns)
{
	settle(g, time_ns);
}

void gt_gpu_figures_sampled(struct gt_gpu_figures *g, const struct gt_sample *sample)
{
	const struct gt_series *series = gt_recording_series(g->view->recording, sample->series);
	bool is_program = !strcmp(series->name, GT_SERIES_PROGRAM_USED);
	uint16_t place;

	settle(g, sample->time_ns);
	if (sample->value < 0 || (!is_program && strcmp(series->name, GT_SERIES_DEVICE_USED)))
		return;
	place = place_of(g->view->recording, series->subject);
	if (!place || (is_program && !sample->value))
		return;
	g->sampled_ns = sample->time_ns;
	if (is_program)
		take(g, &g->program[place], sample, g->known[place]);
	else
		take(g, &g->device[place], sample,
		     g->known[place] +
			     (g->device[place].any ? g->device[place].start : sample->value));
}

static void born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	gt_gpu_figures_born(context, entry);
}

static void ended(void *context, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	gt_gpu_figures_ended(context, entry);
}

static void moved(void *context, const struct gt_entry *segment, int64_t bytes)
{
	gt_gpu_figures_moved(context, segment, bytes);
}

static void before_event(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	gt_gpu_figures_before(context, time_ns);
}

static void sampled(void *context, uint32_t process, const struct gt_sample *sample)
{
	gt_gpu_figures_sampled(context, sample);
}

struct gt_gpu_figures *gt_gpu_figures_follow(const struct gt_view *v)
{
	struct gt_gpu_figures *g = gt_alloc(sizeof *g);

	g->view = v;
	g->time_ns = UINT64_MAX;
	return g;
}

struct gt_gpu_figures *gt_gpu_figures_new(const struct gt_view *v, uint64_t time_ns)
{
	struct gt_gpu_figures *g = gt_gpu_figures_follow(v);
	struct gt_live_observer observer = {
		.born = born, .ended = ended, .moved = moved, .context = g
	};

	g->time_ns = time_ns;
	gt_ledger_free(gt_replay_run(v->recording, &(struct gt_replay){ .observer = &observer,
									.before = before_event,
									.sampled = sampled,
									.context = g,
									.tick = v->tick }));
	return g;
}

void gt_gpu_figures_free(struct gt_gpu_figures *g)
{
	gt_map_fini(&g->in_blocks);
	free(g);
}

static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

struct gt_beyond gt_gpu_beyond(const struct gt_gpu_figures *g, uint16_t place,
			       enum gt_reporter reporter)
{
	const struct reported *x =
		reporter == GT_REPORTS_PROGRAM ? &g->program[place] : &g->device[place];

	return (struct gt_beyond){ .any = x->any, .bytes = x->beyond, .time_ns = x->time_ns };
}

uint64_t gt_gpu_first(const struct gt_gpu_figures *g, uint16_t place, enum gt_reporter reporter,
		      int64_t beyond)
{
	int64_t first = !g->is_settled                 ? beyond :
			reporter == GT_REPORTS_PROGRAM ? g->program_first[place] :
							 g->device_first[place];

	return not_negative(first < beyond ? first : beyond);
}

bool gt_gpu_figure_at(const struct gt_gpu_figures *g, uint16_t place, struct gt_gpu_figure *figure)
{
	const struct reported *program = &g->program[place], *device = &g->device[place];
	const struct reported *x = program->any ? program : device;
	enum gt_reporter reporter = program->any ? GT_REPORTS_PROGRAM : GT_REPORTS_DEVICE;

	if (!x->any)
		return false;
	*figure = (struct gt_gpu_figure){ .is_of_program = program->any,
					  .beyond = not_negative(x->beyond),
					  .first = gt_gpu_first(g, place, reporter, x->beyond),
					  .off_ns = x->off_ns };
	if (device->any)
		figure->others = program->any ? not_negative(device->value - program->value) :
						not_negative(device->start);
	return true;
}
