/* SPDX-License-Identifier: MIT */
/* collect.c - reads a recording twice and collects what its page shows. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/lives.h"
#include "page/page.h"
#include "page/rows.h"
#include "replay/replay.h"

enum {
	TOTAL_ROWS = 16384, /* of all processes together */
	KIND_ROWS = 4096,
	SET_TOTAL_ROWS = 2048, /* of one process */
	SET_KIND_ROWS = 512,
	LIFE_CELLS = 1 << 19,
	SET_LIFE_CELLS = 1 << 16,
	SERIES_MAX = 64,
	SAMPLES_MOST = 4096, /* points of one series */
};

enum total { DEVICE, HOST, OBJECTS, TOTALS };

/* The result of the first reading. */
struct survey {
	struct gt_page *page;
	uint64_t *events; /* by process */
	size_t process_count;
	uint64_t sampled_ns; /* the last sample's time */
};

struct ranked {
	uint32_t pid;
	uint64_t events;
};

static void survey_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct survey *s = context;

	if (sample->time_ns > s->sampled_ns)
		s->sampled_ns = sample->time_ns;
}

static void survey_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
			 uint32_t process)
{
	struct survey *s = context;

	struct gt_page *h = s->page;

	GT_REACH(s->events, s->process_count, process);
	s->events[process]++;
	if (!event->phase)
		return;
	GT_REACH(h->phase_ns, h->phase_count, event->phase);
	if (!h->phase_ns[event->phase])
		h->phase_ns[event->phase] = event->time_ns;
}

static void choose_kinds(struct gt_page *h, const struct gt_ledger *l)
{
	size_t room = 0;

	for (int kind = 0; kind < GT_KIND_COUNT; kind++)
		for (int other = 0; other < GT_KIND_COUNT; other++)
			if (gt_kinds[other].family == gt_kinds[kind].family)
				h->takes[kind] |= gt_kinds[other].habits & (GT_TAKES | GT_HOLDS);
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++)
			if (l->tally[api][kind].created) {
				GT_GROW(h->kinds, h->kind_count, room);
				h->kinds[h->kind_count++] =
					(struct gt_page_kind){ (uint8_t)api, (uint8_t)kind };
			}
}

/* The measures by which call sites are ranked. */
static const size_t keys[] = {
	offsetof(struct gt_site, bytes_live),    offsetof(struct gt_site, live),
	offsetof(struct gt_site, bytes_at_peak), offsetof(struct gt_site, bytes_peak),
	offsetof(struct gt_site, bytes_total),   offsetof(struct gt_site, created),
};

enum { KEY_COUNT = sizeof keys / sizeof *keys };

static uint64_t value_of(const struct gt_site *site, size_t key)
{
	return *(const uint64_t *)((const char *)site + key);
}

struct ranking {
	const struct gt_page_rows *rows;
	size_t key;
};

static int most_first(const void *a, const void *b, void *ranking)
{
	const struct ranking *r = ranking;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t p = value_of(gt_page_row(r->rows, x), r->key);
	uint64_t q = value_of(gt_page_row(r->rows, y), r->key);

	if (p != q)
		return p > q ? -1 : 1;
	return x < y ? -1 : x > y;
}

void gt_page_pick(const struct gt_page_rows *rows, size_t most, bool *marks)
{
	size_t count = rows->count, marked = 0;
	uint32_t *list;

	if (count <= most) {
		for (size_t i = 0; i < count; i++)
			marks[i] = true;
		return;
	}
	list = gt_alloc(KEY_COUNT * count * sizeof *list);
	for (size_t k = 0; k < KEY_COUNT; k++) {
		struct ranking ranking = { rows, keys[k] };

		for (size_t i = 0; i < count; i++)
			list[k * count + i] = (uint32_t)i;
		qsort_r(list + k * count, count, sizeof *list, most_first, &ranking);
	}
	/* the first by each measure, the second by each, … */
	for (size_t i = 0; i < count * KEY_COUNT && marked < most; i++) {
		uint32_t row = list[i % KEY_COUNT * count + i / KEY_COUNT];

		marked += !marks[row];
		marks[row] = true;
	}
	free(list);
}

static void choose_range(const struct survey *s, const struct gt_ledger *l)
{
	struct gt_page *h = s->page;
	const struct gt_recording *r = h->recording;

	h->start_ns = gt_recording_start_ns(r);
	h->end_ns = h->start_ns;
	if (l->last_ns > h->end_ns)
		h->end_ns = l->last_ns;
	if (s->sampled_ns > h->end_ns)
		h->end_ns = s->sampled_ns;
	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		if (gt_recording_process(r, i)->end_ns > h->end_ns)
			h->end_ns = gt_recording_process(r, i)->end_ns;
}

static int busiest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_pid(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The pids with events, each once, with the events of every program it executed. */
static size_t rank_processes(const struct survey *s, struct ranked **out)
{
	const struct gt_recording *r = s->page->recording;
	size_t count = gt_recording_process_count(r), used = 0;
	struct ranked *list = gt_alloc(count * sizeof *list);

	for (size_t i = 0; i < count && i < s->process_count; i++)
		if (s->events[i])
			list[used++] =
				(struct ranked){ gt_recording_process(r, i)->pid, s->events[i] };
	count = used;
	qsort(list, count, sizeof *list, by_pid);
	used = 0;
	for (size_t i = 0; i < count; i++) {
		if (used && list[used - 1].pid == list[i].pid)
			list[used - 1].events += list[i].events;
		else
			list[used++] = list[i];
	}
	qsort(list, used, sizeof *list, busiest_first);
	*out = list;
	return used;
}

static void set_init(struct gt_page *h, uint32_t pid, uint64_t events)
{
	struct gt_page_set *set = &h->sets[h->set_count++];
	struct gt_time_span span = {
		.start_ns = h->start_ns,
		.end_ns = h->end_ns,
		/* the ends of processes are changes too */
		.changes = events + gt_recording_process_count(h->recording),
	};

	set->pid = pid;
	gt_time_series_init_span(&set->totals, TOTALS, pid ? SET_TOTAL_ROWS : TOTAL_ROWS, &span);
	gt_time_series_init_span(&set->kinds, 2 * h->kind_count, pid ? SET_KIND_ROWS : KIND_ROWS,
				 &span);
	set->lives = gt_alloc(sizeof *set->lives);
	gt_page_lives_init(set->lives, set->kinds.row_max, pid ? SET_LIFE_CELLS : LIFE_CELLS);
}

static void choose_sets(const struct survey *s, const struct gt_ledger *l)
{
	struct gt_page *h = s->page;
	struct ranked *list;
	size_t count = rank_processes(s, &list);

	set_init(h, 0, l->events);
	for (size_t i = 0; count > 1 && i < count; i++) {
		if (h->set_count < GT_PAGE_SETS_MAX)
			set_init(h, list[i].pid, list[i].events);
		else
			h->process_left_out++;
	}
	free(list);
}

/* A set while the second reading fills it. */
struct filling {
	struct gt_page *page;
	struct gt_page_set *set;
};

static void begin_moment(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	struct gt_page_set *set = ((const struct filling *)context)->set;

	gt_time_series_advance(&set->kinds, time_ns);
	gt_time_series_advance(&set->totals, time_ns);
	set->lives->lives.ledger = l;
	set->lives->lives.now = (uint32_t)(set->kinds.count - 1);
}

static void end_rows(void *context, const struct gt_ledger *l)
{
	gt_lives_end(&((const struct filling *)context)->set->lives->lives);
}

/* `function` GT_FN_NONE: anything may have changed; otherwise what that function can affect. */
static void set_moment(const struct filling *f, const struct gt_ledger *l, uint16_t function)
{
	const struct gt_page *h = f->page;
	struct gt_page_set *set = f->set;
	const struct gt_function *fn = &gt_functions[function];
	/* a block of a pool has bytes of a segment, which is of another kind */
	bool anything = !function || (h->takes[fn->kind] && gt_function_ends(fn)) ||
			gt_kinds[fn->kind].habits & GT_POOLED;

	gt_time_series_set(&set->totals, DEVICE, l->device_bytes);
	gt_time_series_set(&set->totals, HOST, l->host_bytes);
	gt_time_series_set(&set->totals, OBJECTS, l->live.count - l->gone);
	for (size_t i = 0; i < h->kind_count; i++) {
		const struct gt_page_kind *k = &h->kinds[i];
		const struct gt_tally *t = &l->tally[k->api][k->kind];

		if (!anything &&
		    (k->api != fn->api || gt_kinds[k->kind].family != gt_kinds[fn->kind].family))
			continue;
		gt_time_series_set(&set->kinds, 2 * i, t->bytes_live - t->bytes_gone);
		gt_time_series_set(&set->kinds, 2 * i + 1, t->live - t->gone);
	}
}

static void take_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
		       uint32_t process)
{
	set_moment(context, l, event->function);
}

static void process_ended(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	set_moment(context, l, GT_FN_NONE);
}

static struct gt_page_samples *samples_of(struct gt_page *h, uint16_t series, uint32_t process)
{
	struct gt_page_samples *one;

	for (size_t i = 0; i < h->sample_count; i++)
		if (h->samples[i].series == series && h->samples[i].process == process)
			return &h->samples[i];
	if (h->sample_count == SERIES_MAX)
		return NULL;
	GT_GROW(h->samples, h->sample_count, h->sample_room);
	one = &h->samples[h->sample_count++];
	*one = (struct gt_page_samples){ .series = series, .process = process };
	gt_trail_init(&one->trail, 1, SAMPLES_MOST);
	return one;
}

static void take_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct gt_page *h = ((const struct filling *)context)->page;
	const char *name = gt_recording_series(h->recording, sample->series)->name;
	/* the page's charts have no line for how much there is, and none for work */
	bool is_shown = strcmp(name, GT_SERIES_DEVICE_CAPACITY) && strcmp(name, GT_SERIES_GPU_BUSY);
	struct gt_page_samples *samples = is_shown ? samples_of(h, sample->series, process) : NULL;
	double value = (double)sample->value;

	if (samples)
		gt_trail_add(&samples->trail,
			     (double)(int64_t)(sample->time_ns - h->start_ns) / 1e9, &value);
}

/* All sets in one reading. Samples are taken once, with the set of all processes. */
static void fill_sets(struct gt_page *h, struct gt_frames *held, gt_tick_fn *tick)
{
	struct gt_ledger *ledgers[GT_PAGE_SETS_MAX];
	struct gt_replay replays[GT_PAGE_SETS_MAX];
	struct filling filling[GT_PAGE_SETS_MAX];

	for (size_t i = 0; i < h->set_count; i++) {
		filling[i] = (struct filling){ h, &h->sets[i] };
		replays[i] = (struct gt_replay){ .pid = h->sets[i].pid,
						 .growth = true,
						 .samples = true,
						 .held = held,
						 .observer = &h->sets[i].lives->lives.observer,
						 .before = begin_moment,
						 .each = take_event,
						 .ended = process_ended,
						 .sampled = i ? NULL : take_sample,
						 .last = end_rows,
						 .context = &filling[i],
						 .tick = tick };
	}
	gt_replay_run_all(h->recording, replays, h->set_count, ledgers);
	for (size_t i = 0; i < h->set_count; i++)
		h->sets[i].ledger = ledgers[i];
}

struct gt_page *gt_page_new(struct gt_recording *r, struct gt_frames *frames,
			    struct gt_frames *held, gt_tick_fn *tick)
{
	struct gt_page *h = gt_alloc(sizeof *h);
	struct survey s = { .page = h };
	struct gt_ledger *l;

	h->recording = r;
	h->frames = frames;
	h->tick = tick;
	l = gt_replay_run(r, &(struct gt_replay){ .each = survey_event,
						  .sampled = survey_sample,
						  .context = &s,
						  .tick = tick });
	choose_range(&s, l);
	choose_kinds(h, l);
	choose_sets(&s, l);
	gt_ledger_free(l);
	free(s.events);
	fill_sets(h, held, tick);
	return h;
}

void gt_page_free(struct gt_page *h)
{
	for (size_t i = 0; i < h->set_count; i++) {
		gt_ledger_free(h->sets[i].ledger);
		gt_time_series_fini(&h->sets[i].totals);
		gt_time_series_fini(&h->sets[i].kinds);
		gt_page_lives_fini(h->sets[i].lives);
		free(h->sets[i].lives);
	}
	for (size_t i = 0; i < h->sample_count; i++)
		gt_trail_fini(&h->samples[i].trail);
	free(h->samples);
	free(h->phase_ns);
	free(h->kinds);
	free(h);
}
