/* SPDX-License-Identifier: MIT */
/* test_alive_over_time.c - a picture's curves reach whatever was reached, however briefly. */
#include <math.h>

#include "test_recording.h"

#include "plot/alive_over_time.h"
#include "replay/replay.h"

enum {
	EVENTS = 300000,
	ALIVE = 500, /* handles in turn, about half of them alive */
	STEP_NS = 1000,
	PAUSES = 10,
	PAUSE_NS = EVENTS / 20 * STEP_NS,
	COLUMNS = 100, /* compared; the trails have several in each */
	CURVES = 3,
};

/* Device bytes, live buffers, live events. */
static const uint16_t creates[] = { GT_FN_clCreateBuffer, GT_FN_clCreateUserEvent };
static const uint16_t ends[] = { GT_FN_clReleaseMemObject, GT_FN_clReleaseEvent };

struct range {
	double low, high;
};

struct watch {
	struct gt_alive_over_time *history;
	uint64_t start_ns, duration_ns;
	struct range reached[CURVES][COLUMNS];
	double last[CURVES];
	size_t column;
};

/* A few short spikes and gaps, each far beyond what is around it. */
static uint64_t size_of(int i)
{
	return i % 50021 == 777 ? 1 << 30 : 4096 + (uint64_t)(i % 97) * 64;
}

static uint64_t time_of(int i)
{
	return (uint64_t)i * STEP_NS + (uint64_t)(i / (EVENTS / PAUSES)) * PAUSE_NS;
}

static const char *write_churn(void)
{
	const char *folder = fresh_folder();
	static bool alive[2][ALIVE];
	uint64_t random = 1, now;
	bool large = false;
	struct process p;

	memset(alive, 0, sizeof alive);
	start_process(&p, folder, 11);
	now = gt_now_ns();
	for (int i = 0; i < EVENTS; i++) {
		int kind = random_word(&random) % 4 == 0;
		uint64_t handle = random_word(&random) % ALIVE;
		bool *is_alive = &alive[kind][handle];

		/* the large ones live for one event */
		if (size_of(i) > 1 << 20 || size_of(i - 1) > 1 << 20) {
			kind = 0;
			handle = ALIVE;
			is_alive = &large;
		}
		gt_lane_event(p.lane, &(struct gt_event){
					      .time_ns = now + time_of(i),
					      .handle = 0x1000 + handle * 16 + (uint64_t)kind,
					      .size = *is_alive || kind ? 0 : size_of(i),
					      .function = *is_alive ? ends[kind] : creates[kind],
				      });
		*is_alive = !*is_alive;
	}
	end_writer(p.writer);
	return folder;
}

static void reach(struct range *r, double value)
{
	r->low = value < r->low ? value : r->low;
	r->high = value > r->high ? value : r->high;
}

/* A column begins with what held before it. */
static void begin_columns(struct watch *w, size_t until)
{
	for (; w->column < until; w->column++)
		for (int c = 0; c < CURVES; c++)
			w->reached[c][w->column + 1] = (struct range){ w->last[c], w->last[c] };
}

static void watch_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
			uint32_t process)
{
	struct watch *w = context;
	const double now[CURVES] = {
		(double)l->device_bytes,
		(double)l->tally[GT_OPENCL][GT_BUFFER].live,
		(double)l->tally[GT_OPENCL][GT_EVENT].live,
	};
	size_t column = (event->time_ns - w->start_ns) * COLUMNS / w->duration_ns;

	begin_columns(w, column < COLUMNS ? column : COLUMNS - 1);
	for (int c = 0; c < CURVES; c++) {
		reach(&w->reached[c][w->column], now[c]);
		w->last[c] = now[c];
	}
	gt_alive_over_time_event(w->history, l, event, process);
}

static void watch_before(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	gt_alive_over_time_before(((struct watch *)context)->history, l, time_ns);
}

static void watch_last(void *context, const struct gt_ledger *l)
{
	gt_alive_over_time_last(((struct watch *)context)->history, l);
}

/* What the curve reaches from one moment to another. */
static struct range drawn(const struct gt_trail *t, double from_s, double to_s)
{
	struct range r = { INFINITY, -INFINITY };

	for (size_t i = 0; i < t->count && gt_trail_x(t, i) < to_s; i++)
		if (i + 1 == t->count || gt_trail_x(t, i + 1) >= from_s)
			reach(&r, gt_trail_value(t, i, 0));
	return r;
}

/* The curve reaches whatever was reached in a column, or just beside it, and no more. */
static void compare(const struct watch *w, const struct gt_trail *t, int curve)
{
	double width_s = (double)w->duration_ns / 1e9 / COLUMNS;

	for (size_t c = 1; c + 1 < COLUMNS; c++) {
		double from_s = (double)c * width_s, beside_s = width_s / 3;
		struct range is = w->reached[curve][c];
		struct range wide = drawn(t, from_s - beside_s, from_s + width_s + beside_s);
		struct range inside = drawn(t, from_s + beside_s, from_s + width_s - beside_s);

		assert_true(wide.low <= is.low && wide.high >= is.high);
		assert_true(inside.low >= is.low && inside.high <= is.high);
	}
}

static void spikes_are_drawn_and_pauses_hold_the_latest(void **state)
{
	struct gt_recording *r = open_recording(write_churn(), 0);
	struct gt_alive_over_time *history = gt_alive_over_time_new(r);
	const struct gt_live_observer observer = gt_alive_over_time_observer(history);
	struct watch w = { .history = history,
			   .start_ns = gt_recording_start_ns(r),
			   .duration_ns = time_of(EVENTS - 1) + STEP_NS };
	struct gt_ledger *l = gt_replay_run(r, &(struct gt_replay){ .observer = &observer,
								    .before = watch_before,
								    .each = watch_event,
								    .last = watch_last,
								    .context = &w });

	gt_alive_over_time_finish(history, l);
	assert_int_equal(l->events, EVENTS);
	assert_true(l->peak_bytes > 1 << 30);
	assert_true(history->most_bytes == (double)l->peak_bytes);
	compare(&w, &history->bytes, 0);
	compare(&w, &history->objects[GT_BUFFER], 1);
	compare(&w, &history->objects[GT_EVENT], 2);
	gt_ledger_free(l);
	gt_alive_over_time_free(history);
	gt_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spikes_are_drawn_and_pauses_hold_the_latest),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
