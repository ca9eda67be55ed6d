/* SPDX-License-Identifier: MIT */
/* memory_series.c - where the memory of each device was over time, from one replay. */
#include "replay/memory_series.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ledger/extents.h"
#include "replay/gpu_figures.h"
#include "replay/held.h"
#include "replay/replay.h"
#include "replay/shortage.h"
#include "replay/vendor.h"

enum { PLACES = GT_EXTENT_PLACES };

enum site_owner { OWNER_UNKNOWN, OWNER_PROGRAM, OWNER_LIBRARY };

/* A column with what the GPU reported around its moment. */
struct column {
	struct gt_memory_column shown;
	struct gt_beyond beyond[GT_REPORTERS];
};

/* A device while the replay goes on. */
struct device {
	struct column *columns;
	int64_t sums[GT_PART_COUNT];
	uint64_t sampled_ns[GT_REPORTERS]; /* time of the latest sample that was taken */
};

struct following {
	const struct gt_view *view;
	struct gt_memory_series *series;
	struct gt_gpu_figures *figures;
	const struct gt_ledger *ledger;
	struct device devices[PLACES];
	uint8_t *owners; /* by site: enum site_owner */
	size_t owner_count;
	bool *held_modules; /* gt_held_modules */
	size_t module_count;
	uint64_t now_ns; /* events up to here have been applied */
	size_t column;   /* that it lies in */
};

size_t gt_memory_series_column(const struct gt_memory_series *s, uint64_t time_ns)
{
	uint64_t column = time_ns > s->start_ns ? (time_ns - s->start_ns) / s->column_ns : 0;

	return column < s->column_count ? (size_t)column : s->column_count - 1;
}

static bool is_of_library(struct following *f, const struct gt_site *site)
{
	const struct gt_recording *r = f->view->recording;
	struct gt_site copy = *site;

	/* a recording that is being written gets more of them */
	if (!f->held_modules || f->module_count != gt_recording_module_count(r)) {
		free(f->held_modules);
		f->module_count = gt_recording_module_count(r);
		f->held_modules = gt_held_modules(r);
	}
	copy.held = gt_held_entry_of(r, f->held_modules, f->view->frames, site);
	return gt_vendor_of(r, &copy) != NULL;
}

static enum gt_memory_part part_of(struct following *f, const struct gt_entry *entry)
{
	enum gt_memory_part part = gt_part_of(entry);
	const struct gt_site *site;
	size_t index;

	if (part != GT_PART_PLACES)
		return part;
	site = gt_ledger_site(f->ledger, entry);
	index = (size_t)(site - f->ledger->sites);
	GT_REACH(f->owners, f->owner_count, index);
	if (f->owners[index] == OWNER_UNKNOWN)
		f->owners[index] = is_of_library(f, site) ? OWNER_LIBRARY : OWNER_PROGRAM;
	return f->owners[index] == OWNER_LIBRARY ? GT_PART_LIBRARIES : GT_PART_PLACES;
}

static void count(struct following *f, const struct gt_entry *entry, int sign)
{
	enum gt_memory_part part = part_of(f, entry);
	struct device *d = &f->devices[entry->place];

	if (part == GT_PART_COUNT)
		return;
	if (!d->columns)
		d->columns = gt_alloc(GT_MEMORY_COLUMNS * sizeof *d->columns);
	/* the rest of a segment is counted by ledger/extents.h */
	if (part != GT_PART_CACHED)
		d->sums[part] += sign * (int64_t)entry->size;
}

static void born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	struct following *f = context;

	count(f, entry, 1);
	gt_gpu_figures_born(f->figures, entry);
}

static void ended(void *context, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	struct following *f = context;

	count(f, entry, -1);
	gt_gpu_figures_ended(f->figures, entry);
}

static void moved(void *context, const struct gt_entry *segment, int64_t bytes)
{
	struct following *f = context;

	gt_gpu_figures_moved(f->figures, segment, bytes);
}

static void became_segment(void *context, const struct gt_entry *entry)
{
	count(context, entry, -1);
}

static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static const struct gt_beyond *best_of(const struct column *c)
{
	return &c->beyond[c->beyond[GT_REPORTS_PROGRAM].any ? GT_REPORTS_PROGRAM :
							      GT_REPORTS_DEVICE];
}

/* How a device's memory is divided now. */
static struct column state_of(const struct following *f, uint16_t place)
{
	const struct gt_extent_sums *rest = &gt_ledger_extents(f->ledger)->sums[place];
	struct column c = { .shown.time_ns = f->now_ns };

	for (int part = 0; part < GT_PART_COUNT; part++)
		c.shown.parts[part] = not_negative(f->devices[place].sums[part]);
	c.shown.parts[GT_PART_CACHED] = not_negative((int64_t)rest->idle);
	c.shown.parts[GT_PART_FRAGMENTED] = not_negative((int64_t)rest->pinned);
	for (int i = 0; i < GT_REPORTERS; i++)
		c.beyond[i] = gt_gpu_beyond(f->figures, place, (enum gt_reporter)i);
	for (int part = 0; part < GT_PART_COUNT; part++)
		c.shown.total += c.shown.parts[part];
	if (best_of(&c)->any)
		c.shown.total += not_negative(best_of(&c)->bytes);
	return c;
}

static uint64_t in_use(const struct column *c)
{
	return c->shown.parts[GT_PART_PLACES] + c->shown.parts[GT_PART_LIBRARIES];
}

/* Of equal totals, the one with the most in blocks: a new segment is all cached at first. */
static bool is_higher(const struct column *a, const struct column *b)
{
	return !b->shown.time_ns || a->shown.total > b->shown.total ||
	       (a->shown.total == b->shown.total && in_use(a) > in_use(b));
}

/* The state since `now_ns` holds until `time_ns`. */
static void advance(struct following *f, uint64_t time_ns)
{
	size_t next;

	if (time_ns <= f->now_ns)
		return;
	next = gt_memory_series_column(f->series, time_ns);
	for (uint16_t place = 0; place < PLACES; place++) {
		struct device *d = &f->devices[place];
		struct column now;

		if (!d->columns)
			continue;
		now = state_of(f, place);
		if (is_higher(&now, &d->columns[f->column]))
			d->columns[f->column] = now;
		for (size_t i = f->column + 1; i <= next; i++)
			d->columns[i] = now;
	}
	f->now_ns = time_ns;
	f->column = next > f->column ? next : f->column;
}

static void before(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	struct following *f = context;

	f->ledger = l;
	advance(f, time_ns);
	gt_gpu_figures_before(f->figures, time_ns);
}

/* Of moments since the sample before, those that are nearer to this one go by it. */
static void take_nearest(struct device *d, size_t column, struct gt_beyond sample,
			 enum gt_reporter reporter)
{
	uint64_t before_ns = d->sampled_ns[reporter];

	d->sampled_ns[reporter] = sample.time_ns;
	for (size_t i = column + 1; i-- > 0;) {
		uint64_t time_ns = d->columns[i].shown.time_ns;
		struct gt_beyond *old = &d->columns[i].beyond[reporter];

		if (!time_ns || time_ns < before_ns)
			return;
		if (!old->any || sample.time_ns - time_ns < time_ns - old->time_ns)
			*old = sample;
	}
}

static void sampled(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct following *f = context;

	if (f->ledger)
		advance(f, sample->time_ns);
	gt_gpu_figures_sampled(f->figures, sample);
	for (uint16_t place = 1; place < PLACES; place++)
		for (int i = 0; f->devices[place].columns && i < GT_REPORTERS; i++) {
			struct gt_beyond now =
				gt_gpu_beyond(f->figures, place, (enum gt_reporter)i);

			if (now.any && now.time_ns > f->devices[place].sampled_ns[i])
				take_nearest(&f->devices[place], f->column, now,
					     (enum gt_reporter)i);
		}
}

static void last(void *context, const struct gt_ledger *l)
{
	struct following *f = context;
	const struct gt_memory_series *s = f->series;

	f->ledger = l;
	/* beyond the end, so that the last column is complete */
	advance(f, s->start_ns + s->column_ns * s->column_count);
}

/* What the GPU reports beyond what is known is the contexts', or unknown. */
static void divide(const struct following *f, struct gt_device_series *d, const struct column *from)
{
	enum gt_reporter reporter = gt_gpu_beyond(f->figures, d->place, GT_REPORTS_PROGRAM).any ?
					    GT_REPORTS_PROGRAM :
					    GT_REPORTS_DEVICE;

	d->is_reported = gt_gpu_beyond(f->figures, d->place, reporter).any;
	for (size_t i = 0; i < f->series->column_count; i++) {
		struct gt_memory_column *c = &d->columns[i];
		const struct gt_beyond *beyond = &from[i].beyond[reporter];

		*c = from[i].shown;
		if (beyond->any && c->time_ns) {
			uint64_t first =
				gt_gpu_first(f->figures, d->place, reporter, beyond->bytes);

			c->parts[GT_PART_CONTEXTS] += first;
			c->parts[GT_PART_UNKNOWN] = not_negative(beyond->bytes) - first;
		}
		c->total = 0;
		for (int part = 0; part < GT_PART_COUNT; part++)
			c->total += c->parts[part];
		if (c->total > d->columns[d->highest].total)
			d->highest = i;
	}
}

static void finish(struct following *f)
{
	struct gt_memory_series *s = f->series;

	for (uint16_t place = 0; place < PLACES; place++) {
		struct gt_device_series *d;

		if (!f->devices[place].columns)
			continue;
		s->devices = gt_realloc(s->devices, (s->device_count + 1) * sizeof *s->devices);
		d = &s->devices[s->device_count++];
		*d = (struct gt_device_series){ .place = place };
		d->capacity = gt_device_capacity(f->view, place);
		divide(f, d, f->devices[place].columns);
		free(f->devices[place].columns);
	}
}

static uint64_t end_of(const struct gt_view *v)
{
	uint64_t end_ns = v->ledger->last_ns;

	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++)
		if (gt_recording_process(v->recording, i)->end_ns > end_ns)
			end_ns = gt_recording_process(v->recording, i)->end_ns;
	return end_ns;
}

static bool is_sampled(const struct gt_view *v)
{
	const struct gt_samples *samples = &v->ledger->samples;
	size_t count = gt_recording_series_count(v->recording);

	for (size_t i = 0; i < samples->count && i < count; i++) {
		const char *name = gt_recording_series(v->recording, (uint16_t)i)->name;

		if (samples->series[i].any &&
		    (!strcmp(name, GT_SERIES_PROGRAM_USED) || !strcmp(name, GT_SERIES_DEVICE_USED)))
			return true;
	}
	return false;
}

/* True if more may be known than what the program allocated: otherwise no replay is needed. */
static bool may_tell_more(struct following *f)
{
	const struct gt_view *v = f->view;
	const struct gt_ledger *l = v->ledger;

	if (!l->peak_bytes)
		return false;
	if (is_sampled(v) || gt_memory_series_shortage(v))
		return true;
	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *site = &l->sites[i];
		enum gt_memory_part part =
			gt_part_of(&(struct gt_entry){ .function = site->function, .place = 1 });

		if (part != GT_PART_COUNT && (part != GT_PART_PLACES || is_of_library(f, site)))
			return true;
	}
	return false;
}

void gt_memory_series_init(struct gt_memory_series *s, const struct gt_view *v)
{
	struct following *f;
	struct gt_live_observer observer;
	uint64_t start_ns = gt_recording_start_ns(v->recording), end_ns = end_of(v);

	*s = (struct gt_memory_series){ .start_ns = start_ns, .column_count = GT_MEMORY_COLUMNS };
	s->column_ns = (end_ns > start_ns ? (end_ns - start_ns) / GT_MEMORY_COLUMNS : 0) + 1;
	f = gt_alloc(sizeof *f);
	f->view = v;
	f->series = s;
	if (!may_tell_more(f))
		goto free_f;
	f->figures = gt_gpu_figures_follow(v);
	observer = (struct gt_live_observer){
		.born = born,
		.ended = ended,
		.became_segment = became_segment,
		.moved = moved,
		.context = f,
	};
	gt_ledger_free(gt_replay_run(v->recording, &(struct gt_replay){ .observer = &observer,
									.before = before,
									.sampled = sampled,
									.last = last,
									.context = f,
									.tick = v->tick }));
	finish(f);
	gt_gpu_figures_free(f->figures);
free_f:
	free(f->owners);
	free(f->held_modules);
	free(f);
}

void gt_memory_series_fini(struct gt_memory_series *s)
{
	free(s->devices);
	*s = (struct gt_memory_series){ 0 };
}

const struct gt_device_series *gt_memory_series_main(const struct gt_memory_series *s,
						     const struct gt_view *v)
{
	const struct gt_shortage *shortage = gt_shortage_of(v);
	const struct gt_device_series *found = NULL;

	for (size_t i = 0; i < s->device_count; i++) {
		const struct gt_device_series *d = &s->devices[i];

		if (shortage && shortage->place && shortage->place == d->place)
			return d;
		if (!found || d->columns[d->highest].total > found->columns[found->highest].total)
			found = d;
	}
	return found;
}

const struct gt_shortage *gt_memory_series_shortage(const struct gt_view *v)
{
	const struct gt_shortage *s = gt_shortage_of(v);
	enum gt_kind kind = s ? (enum gt_kind)gt_functions[s->function].kind : GT_KIND_COUNT;

	return s && (!gt_kind_has_bytes(kind) || gt_kind_on_device(kind)) ? s : NULL;
}

bool gt_memory_series_tells_more(const struct gt_memory_series *s, const struct gt_view *v)
{
	const struct gt_device_series *d = gt_memory_series_main(s, v);

	if (!d)
		return false;
	for (size_t i = 0; i < s->column_count; i++)
		if (d->columns[i].total > d->columns[i].parts[GT_PART_PLACES])
			return true;
	return gt_memory_series_shortage(v) != NULL;
}
