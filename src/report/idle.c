/* SPDX-License-Identifier: MIT */
/*
 * idle.c - device memory held while the GPU did nothing: before, between and after its work, and
 * which call sites held it.
 *
 * Measured in byte-seconds: bytes times the seconds for which they were held. What a call site
 * holds changes seldom: its share is added up when it does, from clocks that run while the GPU
 * idles.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/gpu_work.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/place.h"
#include "replay/replay.h"
#include "replay/stack.h"
#include "report/analyses.h"

enum { TOP_DEFAULT = 10, LISTED = 1000 };

/* Byte-seconds, or of one byte: seconds. `recent`: idle since the last work began. */
struct areas {
	double held, before, between, recent;
};

/* What a call site holds, and what it has held up to `at`. */
struct holding {
	uint64_t bytes;
	struct areas at; /* clocks */
	uint64_t works;  /* periods of work up to then */
	struct areas sum;
};

struct measured {
	const struct gt_view *view;
	struct gt_gpu_work work;
	uint64_t works;        /* periods of work that have begun */
	bool is_submitted;     /* all that is known of work is when it was submitted */
	uint64_t submitted_ns; /* the first of it */
	uint64_t now_ns, busy_ns;
	struct areas clock; /* of one byte that was there from the start */
	struct holding all;
	struct holding *sites; /* by the ledger's number */
	size_t site_count;
};

static void advance(struct measured *m, uint64_t time_ns)
{
	double seconds;

	if (time_ns <= m->now_ns)
		return;
	seconds = (double)(time_ns - m->now_ns) / 1e9;
	m->clock.held += seconds;
	if (m->work.busy)
		m->busy_ns += time_ns - m->now_ns;
	else
		*(m->works ? &m->clock.recent : &m->clock.before) += seconds;
	m->now_ns = time_ns;
}

/* Adds what was held since the last change. */
static void settle(const struct measured *m, struct holding *h)
{
	double bytes = (double)h->bytes;

	/* what was recent then lies between two periods of work now */
	if (h->works != m->works) {
		h->sum.between += h->sum.recent;
		h->sum.recent = 0;
		h->sum.between += bytes * (m->clock.between - h->at.between - h->at.recent);
		h->at.recent = 0;
	}
	h->sum.held += bytes * (m->clock.held - h->at.held);
	h->sum.before += bytes * (m->clock.before - h->at.before);
	h->sum.recent += bytes * (m->clock.recent - h->at.recent);
	h->at = m->clock;
	h->works = m->works;
}

static void hold(const struct measured *m, struct holding *h, uint64_t bytes)
{
	settle(m, h);
	h->bytes = bytes;
}

static void before_event(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	advance(context, time_ns);
}

/* The sites that have changed. */
static void take_changes(struct measured *m, const struct gt_ledger *l)
{
	if (l->site_count > m->site_count) {
		m->sites = gt_realloc(m->sites, 2 * l->site_count * sizeof *m->sites);
		for (; m->site_count < 2 * l->site_count; m->site_count++)
			m->sites[m->site_count] = (struct holding){ 0 };
	}
	for (size_t i = 0; i < l->touched_count; i++) {
		const struct gt_site *s = &l->sites[l->touched[i]];

		if (gt_kind_on_device((enum gt_kind)s->kind))
			hold(m, &m->sites[l->touched[i]], s->bytes_live - s->bytes_gone);
	}
	hold(m, &m->all, l->device_bytes);
}

static void after_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
			uint32_t process)
{
	take_changes(context, l);
}

static void process_ended(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	take_changes(context, l);
}

static void begin_work(struct measured *m)
{
	m->clock.between += m->clock.recent;
	m->clock.recent = 0;
	m->works++;
}

/* Nobody knows when it ends: up to the last of it, the GPU counts as working. */
static void take_touch(void *context, const struct gt_ledger *l, const struct gt_touch *touch,
		       uint32_t process)
{
	struct measured *m = context;

	if (m->work.any || !gt_gpu_work_submits(touch))
		return;
	advance(m, touch->time_ns);
	if (!m->works)
		m->submitted_ns = m->now_ns;
	m->busy_ns = m->now_ns - m->submitted_ns;
	m->is_submitted = true;
	begin_work(m);
}

static void take_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct measured *m = context;
	enum gt_gpu_work_change change = gt_gpu_work_look(&m->work, m->view->recording, sample);

	if (change == GT_GPU_WORK_SAME)
		return;
	advance(m, sample->time_ns);
	gt_gpu_work_apply(&m->work, sample, change);
	if (change == GT_GPU_WORK_BEGINS)
		begin_work(m);
}

/* The end of the recording: what was held between two submissions was not held idle. */
static void finish(const struct measured *m, struct holding *h)
{
	settle(m, h);
	if (m->is_submitted)
		h->sum.between = 0;
}

static struct gt_ledger *measure(struct measured *m, const struct gt_view *v)
{
	struct gt_recording *r = v->recording;
	struct gt_ledger *l;

	*m = (struct measured){ .view = v, .now_ns = gt_recording_start_ns(r) };
	l = gt_replay_run(r, &(struct gt_replay){ .before = before_event,
						  .each = after_event,
						  .ended = process_ended,
						  .sampled = take_sample,
						  .touched = take_touch,
						  .context = m,
						  .tick = v->tick });
	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		advance(m, gt_recording_process(r, i)->end_ns);
	finish(m, &m->all);
	for (size_t i = 0; i < l->site_count && i < m->site_count; i++)
		finish(m, &m->sites[i]);
	return l;
}

static double idle_of(const struct areas *a)
{
	return a->before + a->between + a->recent;
}

/* What a place held while the GPU idled. */
struct place {
	uint32_t stack;
	uint8_t api, kind;
	uint64_t live, bytes;
	struct areas sum;
};

struct places {
	struct measured measured;
	struct place *list; /* those that held most first */
	size_t count, room, shown;
};

static int most_idle(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	double p = idle_of(&x->sum), q = idle_of(&y->sum);

	if (p < q || p > q)
		return p > q ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static void add_site(struct places *p, struct gt_place_numbers *numbers, const struct gt_view *v,
		     const struct gt_site *s, const struct areas *sum)
{
	size_t number = gt_place_number(numbers, v->frames, s->stack, (enum gt_kind)s->kind);
	struct place *place;

	if (number == p->count) {
		GT_GROW(p->list, p->count, p->room);
		p->list[p->count++] =
			(struct place){ .stack = s->stack, .api = s->api, .kind = s->kind };
	}
	place = &p->list[number];
	place->live += s->live;
	place->bytes += s->bytes_live;
	place->sum.held += sum->held;
	place->sum.before += sum->before;
	place->sum.between += sum->between;
	place->sum.recent += sum->recent;
}

/* `suits` are shown if nobody asked for a number. */
static void find_places(struct places *p, const struct gt_view *v, size_t suits)
{
	struct gt_place_numbers numbers = { 0 };
	uint64_t top = v->top ? v->top : suits;
	struct gt_ledger *l;
	uint32_t *stacks;

	*p = (struct places){ 0 };
	l = measure(&p->measured, v);
	for (size_t i = 0; p->measured.works && i < l->site_count && i < p->measured.site_count;
	     i++)
		if (idle_of(&p->measured.sites[i].sum) > 0)
			add_site(p, &numbers, v, &l->sites[i], &p->measured.sites[i].sum);
	gt_map_fini(&numbers.map);
	gt_ledger_free(l);
	if (p->count)
		qsort(p->list, p->count, sizeof *p->list, most_idle);
	p->shown = top < p->count ? (size_t)top : p->count;
	stacks = gt_alloc((p->count + 1) * sizeof *stacks);
	for (size_t i = 0; i < p->count; i++)
		stacks[i] = p->list[i].stack;
	gt_places_list(v->frames, stacks,
		       p->count < LISTED || p->count == p->shown ? p->count : LISTED);
	free(stacks);
}

static void places_fini(struct places *p)
{
	free(p->list);
	free(p->measured.sites);
}

/* A damaged recording may have held any amount for any time. */
static uint64_t whole(double value)
{
	return value < 1 ? 0 : value < 1e19 ? (uint64_t)value : UINT64_MAX;
}

static unsigned percent(double part, double whole)
{
	return whole > 0 ? (unsigned)(100 * part / whole + 0.5) : 0;
}

static void put_part(struct gt_printer *p, double part, double whole, const char *when)
{
	char text[GT_FORMAT_MAX];

	snprintf(text, sizeof text, "%u %%", percent(part, whole));
	gt_print_right(p, GT_BOLD, text, 8);
	gt_print_line(p, GT_PLAIN, "  %s", when);
}

static void put_place(struct gt_printer *p, const struct gt_view *v, const struct place *place,
		      double idle)
{
	char bytes[GT_FORMAT_MAX], text[GT_FORMAT_MAX + 8];

	snprintf(text, sizeof text, "%u %%", percent(idle_of(&place->sum), idle));
	gt_print_right(p, GT_BOLD, text, 8);
	snprintf(text, sizeof text, "%s s", gt_format_bytes(bytes, whole(idle_of(&place->sum))));
	gt_print_right(p, GT_PLAIN, text, 22);
	gt_print_tab(p, 24);
	gt_print_need(p, GT_WHERE_LEAST);
	gt_place_put(p, v, place->stack, gt_print_left(p));
	gt_print_end(p);
}

static void put_idle(struct gt_printer *p, const struct gt_view *v, const struct places *places)
{
	const struct measured *m = &places->measured;
	const struct areas *sum = &m->all.sum;
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX], c[GT_FORMAT_MAX], d[GT_FORMAT_MAX];
	double idle = idle_of(sum);

	gt_print_put(p, GT_YELLOW, "IDLE");
	gt_print_line(p, GT_BOLD,
		      "  %s%u %% of the device memory was held while the GPU did nothing",
		      m->is_submitted ? "about " : "", percent(idle, sum->held));
	gt_print_wrap(p, GT_PLAIN, 2, "by bytes times seconds: %s s of %s s; %s %s of %s",
		      gt_format_bytes(a, whole(idle)), gt_format_bytes(b, whole(sum->held)),
		      m->is_submitted ? "work was submitted for" : "the GPU worked",
		      gt_format_span(c, m->busy_ns),
		      gt_format_span(d, gt_view_elapsed(v, m->now_ns)));
	put_part(p, sum->recent, idle,
		 m->is_submitted ? "of that after the last GPU work was submitted" :
				   "of that after the last GPU work");
	if (!m->is_submitted)
		put_part(p, sum->between, idle, "between");
	put_part(p, sum->before, idle, "before the first");
	if (m->is_submitted)
		gt_print_wrap(p, GT_DIM, 2,
			      "how long work ran is not recorded: from the first submission to the "
			      "last, the GPU counts as working");
	if (!places->shown)
		return;
	gt_print_end(p);
	gt_print_line(p, GT_BOLD, "HELD IDLE BY");
	for (size_t i = 0; i < places->shown; i++)
		put_place(p, v, &places->list[i], idle);
	gt_put_more(p, v, 2, places->count - places->shown);
	gt_head_modules(p, v, 3);
}

void gt_idle_text(const struct gt_view *v, FILE *out)
{
	struct gt_printer p;
	struct places places;

	gt_head_open(&p, out, v);
	find_places(&places, v, TOP_DEFAULT);
	if (places.measured.works)
		put_idle(&p, v, &places);
	else
		gt_print_wrap(
			&p, GT_YELLOW, 0,
			"No GPU work was recorded: imported profiles contain kernels, copies and "
			"fills, and so do recordings of `gputrack run --touches` (CUDA).");
	places_fini(&places);
}

static void areas_json(struct gt_json *j, const struct areas *a)
{
	gt_json_real(j, "held_byte_seconds", a->held);
	gt_json_real(j, "idle_before_byte_seconds", a->before);
	gt_json_real(j, "idle_between_byte_seconds", a->between);
	gt_json_real(j, "idle_after_byte_seconds", a->recent);
}

void gt_idle_json(const struct gt_view *v, FILE *out)
{
	struct places p;
	struct gt_json j;

	find_places(&p, v, SIZE_MAX);
	gt_head_json(&j, out, v, "idle");
	gt_json_bool(&j, "known", p.measured.works);
	gt_json_bool(&j, "submitted_only", p.measured.is_submitted);
	areas_json(&j, &p.measured.all.sum);
	gt_json_uint(&j, "busy_ns", p.measured.busy_ns);
	gt_json_uint(&j, "duration_ns", gt_view_elapsed(v, p.measured.now_ns));
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < p.shown; i++) {
		const struct place *place = &p.list[i];

		gt_json_object(&j, NULL);
		gt_kind_json(&j, place->api, place->kind);
		gt_json_uint(&j, "count", place->live);
		gt_json_uint(&j, "bytes", place->bytes);
		areas_json(&j, &place->sum);
		gt_place_and_stack_json(&j, v->frames, place->stack);
		gt_json_end(&j);
	}
	gt_json_end(&j);
	gt_foot_json(&j, v);
	places_fini(&p);
}

static void areas_tsv(FILE *out, const struct areas *a)
{
	fprintf(out, "%.0f\t%.0f\t%.0f\t%.0f\t", a->held, a->before, a->between, a->recent);
}

/* The first row is everything; then one for each place. */
void gt_idle_tsv(const struct gt_view *v, FILE *out)
{
	struct places p;

	find_places(&p, v, SIZE_MAX);
	fputs("held_byte_seconds\tidle_before\tidle_between\tidle_after\tbusy_ns\tduration_ns\tapi"
	      "\tkind\tstack\twhere\n",
	      out);
	areas_tsv(out, &p.measured.all.sum);
	fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t\t\t\t\n", p.measured.busy_ns,
		gt_view_elapsed(v, p.measured.now_ns));
	for (size_t i = 0; i < p.shown; i++) {
		const struct place *place = &p.list[i];

		areas_tsv(out, &place->sum);
		fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t", p.measured.busy_ns,
			gt_view_elapsed(v, p.measured.now_ns), gt_api_keys[place->api],
			gt_kinds[place->kind].name);
		gt_place_end_tsv(out, v->frames, place->stack);
	}
	places_fini(&p);
}
