/* SPDX-License-Identifier: MIT */
/* device_memory.c - where the memory of each device is at one moment. */
#include "replay/device_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/gpu_figures.h"
#include "replay/held.h"
#include "replay/place.h"
#include "replay/replay.h"
#include "replay/shortage.h"
#include "replay/vendor.h"

/* clang-format off */
const char *const gt_part_keys[GT_PART_COUNT] = {
	[GT_PART_PLACES] = "places", [GT_PART_LIBRARIES] = "libraries",
	[GT_PART_CACHED] = "cached", [GT_PART_FRAGMENTED] = "fragmented",
	[GT_PART_STATICS] = "statics", [GT_PART_CODE] = "code", [GT_PART_GRAPHS] = "graphs",
	[GT_PART_CONTEXTS] = "contexts", [GT_PART_UNKNOWN] = "unknown",
};
const char *const gt_part_names[GT_PART_COUNT] = {
	[GT_PART_PLACES] = "allocated by the program",
	[GT_PART_LIBRARIES] = "libraries' own",
	[GT_PART_CACHED] = "cached by the pool, in segments without a living block",
	[GT_PART_FRAGMENTED] = "fragmented: cached in segments that a living block pins",
	[GT_PART_STATICS] = "static variables",
	[GT_PART_CODE] = "code and local memory of kernels (measured)",
	[GT_PART_GRAPHS] = "executable graphs (measured)",
	[GT_PART_CONTEXTS] = "contexts and streams (measured)",
	[GT_PART_UNKNOWN] = "unknown",
};
const char *const gt_part_labels[GT_PART_COUNT] = {
	[GT_PART_PLACES] = "allocated by the program", [GT_PART_LIBRARIES] = "libraries' own",
	[GT_PART_CACHED] = "cached", [GT_PART_FRAGMENTED] = "fragmented",
	[GT_PART_STATICS] = "static variables", [GT_PART_CODE] = "code",
	[GT_PART_GRAPHS] = "graphs", [GT_PART_CONTEXTS] = "contexts",
	[GT_PART_UNKNOWN] = "unknown",
};
/* clang-format on */

static bool is_static(enum gt_kind kind)
{
	return kind == GT_STATIC_MEMORY || kind == GT_STATIC_MANAGED;
}

bool gt_awaits_context(const struct gt_entry *entry)
{
	return !entry->place && is_static(gt_entry_kind(entry));
}

static enum gt_memory_part part_of_function(uint16_t function)
{
	return function == GT_FN_cudaCodeMemory  ? GT_PART_CODE :
	       function == GT_FN_cudaGraphMemory ? GT_PART_GRAPHS :
						   GT_PART_CONTEXTS;
}

enum gt_memory_part gt_part_of(const struct gt_entry *entry)
{
	enum gt_kind kind = gt_entry_kind(entry);

	if (kind == GT_DRIVER_MEMORY)
		return part_of_function(entry->function);
	if (!gt_kind_on_device(kind) || gt_awaits_context(entry))
		return GT_PART_COUNT;
	return gt_kind_is_cache(kind) ? GT_PART_CACHED :
	       is_static(kind)        ? GT_PART_STATICS :
					GT_PART_PLACES;
}

/* What the classification needs of each site, found once. */
struct sorting {
	struct gt_memory_moment *moment;
	const struct gt_view *view;
	const char **library; /* by site; NULL: the program's own */
};

static struct gt_device_memory *device_of(struct gt_memory_moment *m, uint16_t place)
{
	for (size_t i = 0; i < m->device_count; i++)
		if (m->devices[i].place == place)
			return &m->devices[i];
	m->devices = gt_realloc(m->devices, (m->device_count + 1) * sizeof *m->devices);
	m->devices[m->device_count] = (struct gt_device_memory){ .place = place };
	return &m->devices[m->device_count++];
}

static void add(struct gt_part *part, uint64_t bytes)
{
	part->bytes += bytes;
	part->count++;
}

static void add_to_library(struct gt_device_memory *d, const char *name, uint64_t bytes)
{
	size_t i = 0;

	while (i < d->library_count && strcmp(d->libraries[i].name, name))
		i++;
	if (i == GT_MEMORY_LIBRARIES) {
		i--;
		d->libraries[i].name = "other libraries";
	} else if (i == d->library_count) {
		d->libraries[d->library_count++].name = name;
	}
	add(&d->libraries[i].part, bytes);
}

/* Also for gt_groups_select: what counts as allocated by the program, on device `which`. */
static bool is_own(const void *context, const struct gt_entry *entry, int which)
{
	const struct sorting *s = context;
	const struct gt_site *site = gt_ledger_site(s->moment->ledger, entry);

	return entry->place == which && !is_static((enum gt_kind)site->kind) &&
	       !gt_kind_is_cache((enum gt_kind)site->kind) &&
	       !s->library[site - s->moment->ledger->sites];
}

static bool sort_entry(void *context, const struct gt_entry *entry)
{
	struct sorting *s = context;
	const struct gt_ledger *l = s->moment->ledger;
	enum gt_memory_part part = gt_part_of(entry);
	struct gt_device_memory *d;
	const char *library;

	/* a segment's rest is counted with its segment */
	if (gt_ledger_is_gone(l, entry) || part == GT_PART_COUNT || part == GT_PART_CACHED)
		return true;
	d = device_of(s->moment, entry->place);
	library = part == GT_PART_PLACES ? s->library[gt_ledger_site(l, entry) - l->sites] : NULL;
	if (library) {
		part = GT_PART_LIBRARIES;
		add_to_library(d, library, entry->size);
	}
	add(&d->parts[part], entry->size);
	return true;
}

static void sort_segments(struct gt_memory_moment *m)
{
	for (size_t i = 0; i < m->pools.segment_count; i++) {
		const struct gt_pool_segment *s = &m->pools.segments[i];

		if (s->cached &&
		    !gt_ledger_is_gone(m->ledger, &(struct gt_entry){ .process = s->process }))
			add(&device_of(m, s->place)
				     ->parts[s->live ? GT_PART_FRAGMENTED : GT_PART_CACHED],
			    s->cached);
	}
}

static int biggest_first(const void *a, const void *b)
{
	const struct gt_library_part *x = a, *y = b;

	if (x->part.bytes != y->part.bytes)
		return x->part.bytes > y->part.bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_place(const void *a, const void *b)
{
	const struct gt_device_memory *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

static void add_reported(struct gt_device_memory *d, const struct gt_view *v,
			 const struct gt_gpu_figures *figures)
{
	struct gt_gpu_figure figure;
	uint64_t known = 0;

	for (int i = 0; i < GT_PART_COUNT; i++)
		known += d->parts[i].bytes;
	d->capacity = gt_device_capacity(v, d->place);
	if (gt_gpu_figure_at(figures, d->place, &figure)) {
		d->is_reported = true;
		d->is_of_program = figure.is_of_program;
		d->parts[GT_PART_CONTEXTS].bytes += figure.first;
		d->parts[GT_PART_UNKNOWN].bytes = figure.beyond - figure.first;
		known += figure.beyond;
		d->total = known + figure.others;
	}
	d->program = known;
}

void gt_memory_init(struct gt_memory_moment *m, const struct gt_view *v, uint64_t time_ns)
{
	struct gt_gpu_figures *figures;
	struct sorting s = { .moment = m, .view = v };

	*m = (struct gt_memory_moment){ .time_ns = time_ns };
	m->ledger = gt_replay_run(
		v->recording,
		&(struct gt_replay){ .until_ns = time_ns, .held = v->frames, .tick = v->tick });
	/* second: this one reads to the end, where the calls are that nobody saw return */
	figures = gt_gpu_figures_new(v, time_ns);
	s.library = gt_alloc(m->ledger->site_count * sizeof *s.library);
	for (size_t i = 0; i < m->ledger->site_count; i++)
		s.library[i] = gt_vendor_of(v->recording, &m->ledger->sites[i]);
	gt_live_each(&m->ledger->live, sort_entry, &s);
	gt_pools_init(&m->pools, m->ledger);
	sort_segments(m);
	if (m->device_count)
		qsort(m->devices, m->device_count, sizeof *m->devices, by_place);
	gt_groups_init(&m->all, m->ledger, GT_GROUPS_DEVICE);
	for (size_t i = 0; i < m->device_count; i++) {
		struct gt_device_memory *d = &m->devices[i];

		qsort(d->libraries, d->library_count, sizeof *d->libraries, biggest_first);
		gt_groups_select(&d->places, &m->all, is_own, &s, d->place);
		gt_place_groups(&d->places, v);
		add_reported(d, v, figures);
	}
	gt_gpu_figures_free(figures);
	free(s.library);
}

void gt_memory_fini(struct gt_memory_moment *m)
{
	for (size_t i = 0; i < m->device_count; i++)
		gt_groups_fini(&m->devices[i].places);
	gt_groups_fini(&m->all);
	gt_pools_fini(&m->pools);
	free(m->devices);
	gt_ledger_free(m->ledger);
}
