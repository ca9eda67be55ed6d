/* SPDX-License-Identifier: MIT */
/* collect.c - reads a recording twice and collects what its page shows. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/blocks.h"
#include "page/life_matrix.h"
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
	LIFE_SITES = 1 << 16,
	SEGMENTS = 1024,
	SET_SEGMENTS = 64,
	SERIES_MAX = 64,
	SAMPLES_MOST = 4096, /* points of one series */
};

/* Parts of the time, and blocks of each: of all processes together, of one. */
static const struct gt_block_limits block_limits[] = {
	{ .windows = { 1, 32, 256 }, .blocks = { 4096, 48, 4 }, .segments = SEGMENTS },
	{ .windows = { 1, 16, 1 }, .blocks = { 256, 16, 0 }, .segments = SET_SEGMENTS },
};

enum total { DEVICE, HOST, OBJECTS, TOTALS };

/* The result of the first reading, which needs no ledger: it takes a fraction of the second. */
struct survey {
	struct gt_page *page;
	uint64_t *events; /* by process */
	size_t process_count;
	uint64_t event_count, last_ns;
	bool has_kind[GT_API_COUNT][GT_KIND_COUNT]; /* some call was about it */
};

struct ranked {
	uint32_t pid;
	uint64_t events;
};

static void survey_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct survey *s = context;

	if (sample->time_ns > s->last_ns)
		s->last_ns = sample->time_ns;
}

static bool survey_event(void *context, const struct gt_event *event, uint32_t process)
{
	const struct gt_function *fn = &gt_functions[event->function];
	struct survey *s = context;
	struct gt_page *h = s->page;

	GT_REACH(s->events, s->process_count, process);
	s->events[process]++;
	s->event_count++;
	if (event->time_ns > s->last_ns)
		s->last_ns = event->time_ns;
	s->has_kind[fn->api][fn->kind] = true;
	if (!event->phase)
		return true;
	GT_REACH(h->phase_ns, h->phase_count, event->phase);
	if (!h->phase_ns[event->phase])
		h->phase_ns[event->phase] = event->time_ns;
	return true;
}

/* More than are ever created, perhaps: drop_kinds. */
static void choose_kinds(const struct survey *s)
{
	struct gt_page *h = s->page;
	size_t room = 0;
	bool has_pool = false;

	for (int kind = 0; kind < GT_KIND_COUNT; kind++)
		for (int other = 0; other < GT_KIND_COUNT; other++)
			if (gt_kinds[other].family == gt_kinds[kind].family)
				h->takes[kind] |= gt_kinds[other].habits & (GT_TAKES | GT_HOLDS);
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++)
			has_pool |= s->has_kind[api][kind] && gt_kinds[kind].habits & GT_POOLED;
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++)
			/* memory turns out to be a pool's once a block lies in it */
			if (s->has_kind[api][kind] ||
			    (has_pool && api == GT_CUDA && gt_kind_is_cache((enum gt_kind)kind))) {
				GT_GROW(h->kinds, h->kind_count, room);
				h->kinds[h->kind_count] = (struct gt_page_kind){
					.api = (uint8_t)api,
					.kind = (uint8_t)kind,
					.channel = 2 * h->kind_count,
				};
				h->kind_count++;
			}
}

/* After the second reading: the kinds that no resource was of. */
static void drop_kinds(struct gt_page *h)
{
	size_t count = h->kind_count;

	h->kind_count = 0;
	for (size_t i = 0; i < count; i++)
		if (h->sets[0].ledger->tally[h->kinds[i].api][h->kinds[i].kind].created)
			h->kinds[h->kind_count++] = h->kinds[i];
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

static void choose_range(const struct survey *s)
{
	struct gt_page *h = s->page;
	const struct gt_recording *r = h->recording;

	h->start_ns = gt_recording_start_ns(r);
	h->end_ns = h->start_ns;
	if (s->last_ns > h->end_ns)
		h->end_ns = s->last_ns;
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

static uint64_t row_key(void *frames, const struct gt_site *site)
{
	return gt_page_row_key(frames, site);
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
	struct gt_block_limits limits = block_limits[pid != 0];

	limits.start_ns = h->start_ns;
	limits.end_ns = h->end_ns;
	set->pid = pid;
	gt_time_series_init_span(&set->totals, TOTALS, pid ? SET_TOTAL_ROWS : TOTAL_ROWS, &span);
	gt_time_series_init_span(&set->kinds, 2 * h->kind_count, pid ? SET_KIND_ROWS : KIND_ROWS,
				 &span);
	set->lives = gt_alloc(sizeof *set->lives);
	gt_page_lives_init(set->lives, &(struct gt_page_lives_limits){
					       .rows = set->kinds.row_max,
					       .cells = pid ? SET_LIFE_CELLS : LIFE_CELLS,
					       .sites = LIFE_SITES,
					       .row_key = row_key,
					       .context = h->frames,
				       });
	set->blocks = gt_alloc(sizeof *set->blocks);
	gt_page_blocks_init(set->blocks, &limits);
	set->lives->blocks = set->blocks;
}

static void choose_sets(const struct survey *s)
{
	struct gt_page *h = s->page;
	struct ranked *list;
	size_t count = rank_processes(s, &list);

	set_init(h, 0, s->event_count);
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
	set->blocks->now_ns = time_ns;
}

static void end_rows(void *context, const struct gt_ledger *l)
{
	gt_page_lives_end(((const struct filling *)context)->set->lives);
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
		gt_time_series_set(&set->kinds, k->channel, t->bytes_live - t->bytes_gone);
		gt_time_series_set(&set->kinds, k->channel + 1, t->live - t->gone);
	}
}

static void take_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
		       uint32_t process)
{
	set_moment(context, l, event->function);
	gt_page_blocks_applied(((const struct filling *)context)->set->blocks, event->stack);
}

static void process_ended(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	set_moment(context, l, GT_FN_NONE);
	gt_page_blocks_applied(((const struct filling *)context)->set->blocks, 0);
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

	h->recording = r;
	h->frames = frames;
	h->tick = tick;
	gt_recording_on_sample(r, survey_sample, &s);
	gt_replay_events(r, survey_event, &s, tick);
	gt_recording_on_sample(r, NULL, NULL);
	choose_range(&s);
	choose_kinds(&s);
	choose_sets(&s);
	free(s.events);
	fill_sets(h, held, tick);
	drop_kinds(h);
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
		gt_page_blocks_fini(h->sets[i].blocks);
		free(h->sets[i].blocks);
	}
	for (size_t i = 0; i < h->sample_count; i++)
		gt_trail_fini(&h->samples[i].trail);
	free(h->samples);
	free(h->phase_ns);
	free(h->kinds);
	free(h);
}
