/* SPDX-License-Identifier: MIT */
/* collect.c - reads a recording twice and keeps what its page shows. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/walk.h"
#include "page/page.h"

enum {
	TOTAL_ROWS = 16384, /* of all processes together */
	KIND_ROWS = 4096,
	SET_TOTAL_ROWS = 2048, /* of one process */
	SET_KIND_ROWS = 512,
	TRACKS = 64,
	SERIES_MAX = 64,
	SAMPLES_MOST = 4096, /* points of one series */
};

enum total { DEVICE, HOST, OBJECTS, TOTALS };

/* What the first reading finds out. */
struct survey {
	struct gt_html *html;
	struct gt_ledger *ledger;
	uint64_t *events; /* by process */
	size_t event_room;
	uint64_t sampled_ns; /* the last sample's time */
};

struct ranked {
	uint32_t pid;
	uint64_t events;
};

static void survey_end(void *context, uint32_t process, uint64_t time_ns)
{
	struct survey *s = context;

	(void)time_ns;
	gt_ledger_process_end(s->ledger, process);
}

static void survey_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct survey *s = context;

	(void)process;
	if (sample->time_ns > s->sampled_ns)
		s->sampled_ns = sample->time_ns;
}

static bool survey_event(void *context, const struct gt_event *event, uint32_t process)
{
	struct survey *s = context;

	gt_ledger_apply(s->ledger, event, process);
	if (process >= s->event_room) {
		size_t room = process + 16;

		s->events = gt_realloc(s->events, room * sizeof *s->events);
		memset(s->events + s->event_room, 0, (room - s->event_room) * sizeof *s->events);
		s->event_room = room;
	}
	s->events[process]++;
	return true;
}

static void choose_kinds(struct gt_html *h, const struct gt_ledger *l)
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
					(struct gt_html_kind){ (uint8_t)api, (uint8_t)kind };
			}
}

static void choose_tracks(struct gt_html *h, const struct gt_ledger *l)
{
	bool *marks = gt_alloc(l->site_count * sizeof *marks);
	size_t room = 0;

	gt_html_pick(l, TRACKS, marks);
	for (size_t i = 0; i < l->site_count; i++)
		if (marks[i]) {
			GT_GROW(h->tracks, h->track_count, room);
			h->tracks[h->track_count++] =
				(struct gt_html_track){ .stack = l->sites[i].stack,
							.function = l->sites[i].function };
		}
	free(marks);
}

static void choose_range(const struct survey *s)
{
	struct gt_html *h = s->html;
	const struct gt_recording *r = h->recording;

	h->start_ns = gt_recording_start_ns(r);
	h->end_ns = h->start_ns;
	if (s->ledger->last_ns > h->end_ns)
		h->end_ns = s->ledger->last_ns;
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

/* The pids with events, each once with all it did: an exec goes on under the same one. */
static size_t rank_processes(const struct survey *s, struct ranked **out)
{
	const struct gt_recording *r = s->html->recording;
	size_t count = gt_recording_process_count(r), used = 0;
	struct ranked *list = gt_alloc(count * sizeof *list);

	for (size_t i = 0; i < count && i < s->event_room; i++)
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

static void set_init(struct gt_html *h, uint32_t pid, uint64_t events)
{
	struct gt_html_set *set = &h->sets[h->set_count++];
	struct gt_time_span span = {
		.start_ns = h->start_ns,
		.end_ns = h->end_ns,
		/* the ends of processes are changes too */
		.changes = events + gt_recording_process_count(h->recording),
	};

	set->pid = pid;
	set->ledger = gt_ledger_new();
	set->growth = gt_growth_new();
	gt_time_series_init_span(&set->totals, TOTALS, pid ? SET_TOTAL_ROWS : TOTAL_ROWS, &span);
	gt_time_series_init_span(&set->kinds, 2 * h->kind_count, pid ? SET_KIND_ROWS : KIND_ROWS,
				 &span);
	set->tracks = gt_alloc(set->kinds.row_max * h->track_count * sizeof *set->tracks);
}

static void choose_sets(struct survey *s)
{
	struct gt_html *h = s->html;
	struct ranked *list;
	size_t count = rank_processes(s, &list);

	set_init(h, 0, s->ledger->events);
	for (size_t i = 0; count > 1 && i < count; i++) {
		if (h->set_count < GT_HTML_SETS_MAX)
			set_init(h, list[i].pid, list[i].events);
		else
			h->process_left_out++;
	}
	free(list);
}

/* How the row that is open ends, as far as call sites go. */
static void note_tracks(const struct gt_html *h, struct gt_html_set *set)
{
	struct gt_html_state *row;

	if (!set->kinds.count)
		return;
	row = &set->tracks[(set->kinds.count - 1) * h->track_count];
	for (size_t i = 0; i < h->track_count; i++) {
		const struct gt_html_track *t = &h->tracks[i];
		const struct gt_site *site =
			gt_ledger_find_site(set->ledger, t->stack, t->function);

		if (site)
			row[i] = (struct gt_html_state){ site->bytes_live - site->bytes_gone,
							 site->live - site->gone };
	}
}

static void begin_moment(const struct gt_html *h, struct gt_html_set *set, uint64_t time_ns)
{
	if (gt_time_series_begins_row(&set->kinds, time_ns))
		note_tracks(h, set);
	gt_time_series_advance(&set->kinds, time_ns);
	gt_time_series_advance(&set->totals, time_ns);
}

/* `function` 0: anything may have changed, otherwise what it can have to do with. */
static void note_moment(const struct gt_html *h, struct gt_html_set *set, uint16_t function)
{
	const struct gt_ledger *l = set->ledger;
	const struct gt_function *fn = &gt_functions[function];
	bool anything = !function || (h->takes[fn->kind] && gt_function_ends(fn));

	gt_time_series_set(&set->totals, DEVICE, l->device_bytes);
	gt_time_series_set(&set->totals, HOST, l->host_bytes);
	gt_time_series_set(&set->totals, OBJECTS, l->live.count - l->gone);
	for (size_t i = 0; i < h->kind_count; i++) {
		const struct gt_html_kind *k = &h->kinds[i];
		const struct gt_tally *t = &l->tally[k->api][k->kind];

		if (!anything &&
		    (k->api != fn->api || gt_kinds[k->kind].family != gt_kinds[fn->kind].family))
			continue;
		gt_time_series_set(&set->kinds, 2 * i, t->bytes_live - t->bytes_gone);
		gt_time_series_set(&set->kinds, 2 * i + 1, t->live - t->gone);
	}
}

static bool is_about(const struct gt_html *h, const struct gt_html_set *set, uint32_t process)
{
	return !set->pid || gt_recording_process(h->recording, process)->pid == set->pid;
}

static void process_ended(void *context, uint32_t process, uint64_t time_ns)
{
	struct gt_html *h = context;

	for (size_t i = 0; i < h->set_count; i++) {
		if (!is_about(h, &h->sets[i], process))
			continue;
		begin_moment(h, &h->sets[i], time_ns);
		gt_ledger_process_end(h->sets[i].ledger, process);
		gt_growth_record(h->sets[i].growth, h->sets[i].ledger, time_ns);
		note_moment(h, &h->sets[i], GT_FN_NONE);
	}
}

static struct gt_html_samples *samples_of(struct gt_html *h, uint16_t series, uint32_t process)
{
	struct gt_html_samples *one;

	for (size_t i = 0; i < h->sample_count; i++)
		if (h->samples[i].series == series && h->samples[i].process == process)
			return &h->samples[i];
	if (h->sample_count == SERIES_MAX)
		return NULL;
	GT_GROW(h->samples, h->sample_count, h->sample_room);
	one = &h->samples[h->sample_count++];
	*one = (struct gt_html_samples){ .series = series, .process = process };
	gt_trail_init(&one->trail, 1, SAMPLES_MOST);
	return one;
}

static void take_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct gt_html *h = context;
	struct gt_html_samples *samples = samples_of(h, sample->series, process);
	double value = (double)sample->value;

	if (samples)
		gt_trail_add(&samples->trail,
			     (double)(int64_t)(sample->time_ns - h->start_ns) / 1e9, &value);
}

static bool take_event(void *context, const struct gt_event *event, uint32_t process)
{
	struct gt_html *h = context;

	for (size_t i = 0; i < h->set_count; i++) {
		if (!is_about(h, &h->sets[i], process))
			continue;
		begin_moment(h, &h->sets[i], event->time_ns);
		gt_ledger_apply(h->sets[i].ledger, event, process);
		gt_growth_record(h->sets[i].growth, h->sets[i].ledger, event->time_ns);
		note_moment(h, &h->sets[i], event->function);
	}
	return true;
}

struct gt_html *gt_html_new(struct gt_recording *r, void (*tick)(uint64_t events))
{
	struct gt_html *h = gt_alloc(sizeof *h);
	struct survey s = { .html = h, .ledger = gt_ledger_new() };

	h->recording = r;
	gt_walk(r, &(struct gt_walk){ .event = survey_event,
				      .ended = survey_end,
				      .sampled = survey_sample,
				      .context = &s,
				      .tick = tick });
	gt_ledger_finish(s.ledger);
	choose_range(&s);
	choose_kinds(h, s.ledger);
	choose_tracks(h, s.ledger);
	choose_sets(&s);
	gt_ledger_free(s.ledger);
	free(s.events);
	gt_walk(r, &(struct gt_walk){ .event = take_event,
				      .ended = process_ended,
				      .sampled = take_sample,
				      .context = h,
				      .tick = tick });
	for (size_t i = 0; i < h->set_count; i++) {
		note_tracks(h, &h->sets[i]);
		gt_ledger_finish(h->sets[i].ledger);
	}
	return h;
}

void gt_html_free(struct gt_html *h)
{
	for (size_t i = 0; i < h->set_count; i++) {
		gt_ledger_free(h->sets[i].ledger);
		gt_growth_free(h->sets[i].growth);
		gt_time_series_fini(&h->sets[i].totals);
		gt_time_series_fini(&h->sets[i].kinds);
		free(h->sets[i].tracks);
	}
	for (size_t i = 0; i < h->sample_count; i++)
		gt_trail_fini(&h->samples[i].trail);
	free(h->samples);
	free(h->kinds);
	free(h->tracks);
	free(h);
}
