/* SPDX-License-Identifier: MIT */
/* idle.c - device memory held while the GPU did nothing: before, between and after its work. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "replay/head.h"
#include "replay/replay.h"
#include "report/analyses.h"

enum { GPUS = 64 };

/* Byte-seconds: bytes times the seconds for which they were held. */
struct measured {
	const struct gt_view *view;
	uint64_t now_ns, bytes; /* bytes: held since then */
	bool is_busy[GPUS];     /* by series */
	unsigned busy;          /* how many of them */
	bool has_worked;
	double held, before, between, since_work; /* since_work: idle since the last work */
	uint64_t busy_ns;
};

static void advance(struct measured *m, uint64_t time_ns)
{
	double area;

	if (time_ns <= m->now_ns)
		return;
	area = (double)m->bytes * (double)(time_ns - m->now_ns) / 1e9;
	m->held += area;
	if (m->busy)
		m->busy_ns += time_ns - m->now_ns;
	else
		*(m->has_worked ? &m->since_work : &m->before) += area;
	m->now_ns = time_ns;
}

static void before_event(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	advance(context, time_ns);
}

static void after_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
			uint32_t process)
{
	((struct measured *)context)->bytes = l->device_bytes;
}

static void process_ended(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	((struct measured *)context)->bytes = l->device_bytes;
}

static void take_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct measured *m = context;
	const struct gt_series *series = gt_recording_series(m->view->recording, sample->series);
	bool is_busy = sample->value > 0;

	if (sample->series >= GPUS || strcmp(series->name, GT_SERIES_GPU_BUSY) ||
	    m->is_busy[sample->series] == is_busy)
		return;
	advance(m, sample->time_ns);
	m->is_busy[sample->series] = is_busy;
	m->busy += is_busy ? 1 : -1u;
	if (is_busy) {
		m->between += m->since_work;
		m->since_work = 0;
		m->has_worked = true;
	}
}

static void measure(struct measured *m, const struct gt_view *v)
{
	struct gt_recording *r = v->recording;

	*m = (struct measured){ .view = v, .now_ns = gt_recording_start_ns(r) };
	gt_ledger_free(gt_replay_run(r, &(struct gt_replay){ .before = before_event,
							     .each = after_event,
							     .ended = process_ended,
							     .sampled = take_sample,
							     .context = m,
							     .tick = v->tick }));
	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		advance(m, gt_recording_process(r, i)->end_ns);
}

static double idle_of(const struct measured *m)
{
	return m->before + m->between + m->since_work;
}

/* A damaged recording may have held any amount for any time. */
static uint64_t whole(double value)
{
	return value < 1e19 ? (uint64_t)value : UINT64_MAX;
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

void gt_idle_text(const struct gt_view *v, FILE *out)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];
	struct gt_printer p;
	struct measured m;
	double idle;

	gt_head_open(&p, out, v);
	measure(&m, v);
	if (!m.has_worked) {
		gt_print_wrap(&p, GT_YELLOW, 0,
			      "No GPU work was recorded: only imported profiles contain kernels, "
			      "copies and fills.");
		return;
	}
	idle = idle_of(&m);
	gt_print_put(&p, GT_YELLOW, "IDLE");
	gt_print_line(&p, GT_BOLD,
		      "  %u %% of the device memory was held while the GPU did nothing",
		      percent(idle, m.held));
	gt_print_wrap(&p, GT_PLAIN, 2,
		      "by bytes times seconds: %s s of %s s; the GPU worked %s of %s",
		      gt_format_bytes(a, whole(idle)), gt_format_bytes(b, whole(m.held)),
		      gt_format_span((char[GT_FORMAT_MAX]){ 0 }, m.busy_ns),
		      gt_format_span((char[GT_FORMAT_MAX]){ 0 }, gt_view_elapsed(v, m.now_ns)));
	put_part(&p, m.since_work, idle, "of that after the last GPU work");
	put_part(&p, m.between, idle, "between");
	put_part(&p, m.before, idle, "before the first");
}

void gt_idle_json(const struct gt_view *v, FILE *out)
{
	struct measured m;
	struct gt_json j;

	gt_head_json(&j, out, v, "idle");
	measure(&m, v);
	gt_json_bool(&j, "known", m.has_worked);
	gt_json_real(&j, "held_byte_seconds", m.held);
	gt_json_real(&j, "idle_before_byte_seconds", m.before);
	gt_json_real(&j, "idle_between_byte_seconds", m.between);
	gt_json_real(&j, "idle_after_byte_seconds", m.has_worked ? m.since_work : 0);
	gt_json_uint(&j, "busy_ns", m.busy_ns);
	gt_json_uint(&j, "duration_ns", gt_view_elapsed(v, m.now_ns));
	gt_foot_json(&j, v);
}

void gt_idle_tsv(const struct gt_view *v, FILE *out)
{
	struct measured m;

	measure(&m, v);
	fputs("held_byte_seconds\tidle_before\tidle_between\tidle_after\tbusy_ns\tduration_ns\n",
	      out);
	fprintf(out, "%.0f\t%.0f\t%.0f\t%.0f\t%" PRIu64 "\t%" PRIu64 "\n", m.held, m.before,
		m.between, m.since_work, m.busy_ns, gt_view_elapsed(v, m.now_ns));
}
