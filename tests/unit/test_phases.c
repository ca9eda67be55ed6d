/* SPDX-License-Identifier: MIT */
/* test_phases.c - phases of a recording: written, read, in place of a stack, grouped, filtered. */
#include "test_recording.h"

#include "ledger/ledger.h"
#include "replay/phase.h"
#include "replay/place.h"
#include "replay/replay.h"

/* A phase from its ranges, outermost first; ended by NULL. */
static uint32_t phase_of(struct process *p, const char *const *names)
{
	uint32_t phase = 0;

	for (; *names; names++) {
		phase = gt_writer_phase(p->writer, phase, &(struct gt_range){ .name = *names });
		assert_int_not_equal(phase, 0);
	}
	return phase;
}

#define PHASE(p, ...) phase_of(p, (const char *const[]){ __VA_ARGS__, NULL })

static void buffer(struct process *p, uint64_t handle, uint32_t stack, uint32_t phase)
{
	gt_lane_event(p->lane, &(struct gt_event){ .time_ns = gt_now_ns(),
						   .handle = handle,
						   .size = 100,
						   .tid = p->pid,
						   .stack = stack,
						   .phase = phase,
						   .function = GT_FN_clCreateBuffer });
}

static void release(struct process *p, uint64_t handle, uint32_t phase)
{
	gt_lane_event(p->lane, &(struct gt_event){ .time_ns = gt_now_ns(),
						   .handle = handle,
						   .tid = p->pid,
						   .phase = phase,
						   .function = GT_FN_clReleaseMemObject });
}

/* The next event's phase must be this. */
static void expect(struct gt_recording *r, const char *text, struct gt_event *e)
{
	uint32_t process;
	char *phase;

	assert_int_equal(gt_recording_next(r, e, &process), 1);
	phase = gt_recording_phase_text(r, e->phase);
	assert_string_equal(phase, text);
	free(phase);
}

static void an_event_knows_its_phase(void **state)
{
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct process p;
	struct gt_event e;
	uint32_t forward, again;

	start_process(&p, folder, 11);
	forward = PHASE(&p, "train", "forward");
	buffer(&p, 1, 0, 0);
	buffer(&p, 2, 0, forward);
	buffer(&p, 3, 0, forward);
	release(&p, 3, PHASE(&p, "train"));
	release(&p, 2, 0);
	again = PHASE(&p, "train", "forward");
	assert_int_equal(forward, again);
	buffer(&p, 4, 0,
	       gt_writer_phase(p.writer, again,
			       &(struct gt_range){ "reduce", .domain = "NCCL", .category = "c" }));
	end_writer(p.writer);
	r = open_recording(folder, 0);
	for (int round = 0; round < 2; round++) {
		expect(r, "(no phase)", &e);
		expect(r, "train > forward", &e);
		expect(r, "train > forward", &e);
		expect(r, "train", &e);
		expect(r, "(no phase)", &e);
		expect(r, "train > forward > NCCL:reduce [c]", &e);
		gt_recording_rewind(r);
	}
	gt_recording_close(r);
}

static void every_block_says_its_phase(void **state)
{
	enum { EVENTS = 20000 };
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct process p;
	struct gt_event e;
	uint32_t phases[2];

	start_process(&p, folder, 11);
	phases[0] = PHASE(&p, "a");
	phases[1] = PHASE(&p, "b");
	for (uint64_t i = 0; i < EVENTS; i++)
		buffer(&p, i + 1, 0, phases[i >= EVENTS / 2]);
	end_writer(p.writer);
	r = open_recording(folder, 0);
	for (uint64_t i = 0; i < EVENTS; i++)
		expect(r, i < EVENTS / 2 ? "a" : "b", &e);
	gt_recording_close(r);
}

static void a_lane_s_next_thread_has_no_phase(void **state)
{
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct process p;
	struct gt_event e;

	start_process(&p, folder, 11);
	buffer(&p, 1, 0, PHASE(&p, "a"));
	gt_lane_release(p.lane);
	p.lane = gt_lane_acquire(p.writer, 12, "other");
	buffer(&p, 2, 0, 0);
	buffer(&p, 3, 0, PHASE(&p, "a"));
	end_writer(p.writer);
	r = open_recording(folder, 0);
	expect(r, "a", &e);
	expect(r, "(no phase)", &e);
	expect(r, "a", &e);
	assert_int_equal(e.tid, 12);
	gt_recording_close(r);
}

static void a_call_in_flight_has_its_phase(void **state)
{
	const char *folder = fresh_folder();
	const uint64_t argv[] = { 0x10 };
	struct gt_recording *r;
	struct process p;
	struct gt_event e,
		call = { .time_ns = gt_now_ns(), .tid = 11, .function = GT_FN_clReleaseMemObject };

	start_process(&p, folder, 11);
	buffer(&p, 0x10, 0, PHASE(&p, "a"));
	call.phase = PHASE(&p, "a", "b");
	gt_lane_enter(p.lane, &call, argv, 1, argv);
	/* killed */
	gt_writer_free(p.writer);
	r = open_recording(folder, 0);
	expect(r, "a", &e);
	expect(r, "a > b", &e);
	assert_true(e.unfinished);
	assert_int_equal(e.handle, 0x10);
	gt_recording_close(r);
}

static void processes_share_their_phases(void **state)
{
	const char *folder = fresh_folder();
	struct process p[2];
	struct gt_event e[2];
	struct gt_recording *r;

	start_process(&p[0], folder, 11);
	start_process(&p[1], folder, 12);
	PHASE(&p[1], "only here");
	for (int i = 0; i < 2; i++)
		buffer(&p[i], 1, 0, PHASE(&p[i], "train", "forward"));
	end_writer(p[0].writer);
	end_writer(p[1].writer);
	r = open_recording(folder, 0);
	expect(r, "train > forward", &e[0]);
	expect(r, "train > forward", &e[1]);
	assert_int_equal(e[0].phase, e[1].phase);
	gt_recording_close(r);
}

/* How the place of an event's stack is said. */
static void expect_place(struct gt_frames *f, const struct gt_event *e, const char *text)
{
	char *place = gt_place_text(f, e->stack, true);

	assert_string_equal(place, text);
	free(place);
}

static struct gt_frames *frames_of(struct gt_recording *r, enum gt_by by)
{
	struct gt_frames_options options = { .no_symbols = true, .by = by };
	struct gt_frames *f;

	assert_int_equal(gt_frames_new(&f, r, &options), 0);
	return f;
}

static void a_phase_stands_in_for_a_missing_stack(void **state)
{
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct gt_event e[5];
	struct gt_frames *f;
	struct process p;
	uint64_t call;
	uint32_t named, whole;

	start_process(&p, folder, 11);
	call = gt_writer_text_frame(p.writer, &(struct gt_text_frame){ .function = "cudaMalloc",
								       .module = GT_CALL_ONLY });
	named = gt_writer_stack(p.writer, &call, 1);
	buffer(&p, 1, 0, PHASE(&p, "train", "forward"));
	buffer(&p, 2, 0, PHASE(&p, "train", "main"));
	buffer(&p, 3, named, PHASE(&p, "train", "forward"));
	buffer(&p, 4, stack_of(&p, 1), PHASE(&p, "train"));
	buffer(&p, 5, 0, 0);
	end_writer(p.writer);
	r = open_recording(folder, 0);
	expect(r, "train > forward", &e[0]);
	expect(r, "train > main", &e[1]);
	expect(r, "train > forward", &e[2]);
	expect(r, "train", &e[3]);
	expect(r, "(no phase)", &e[4]);
	f = frames_of(r, GT_BY_LINE);
	expect_place(f, &e[0], "phase train > forward");
	expect_place(f, &e[1], "phase train > main");
	assert_int_not_equal(gt_place_key(f, e[0].stack), gt_place_key(f, e[1].stack));
	whole = gt_recording_stack_whole(r, e[3].stack);
	assert_int_equal(whole, e[3].stack);
	expect_place(f, &e[4], "(no stack)");
	/* how much is known of the source stays the same */
	assert_int_equal(gt_recording_origin(r, GT_FN_nsysDeviceAllocation, e[0].stack),
			 GT_ORIGIN_INVALID);
	assert_int_equal(gt_recording_origin(r, GT_FN_nsysDeviceAllocation, e[2].stack),
			 GT_ORIGIN_INVALID);
	assert_int_equal(gt_recording_origin(r, GT_FN_clCreateBuffer, e[3].stack), GT_ORIGIN_VALID);
	gt_frames_free(f);
	gt_recording_close(r);
}

static void stacks_are_parted_by_phase(void **state)
{
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct gt_event e[4];
	struct gt_frames *f;
	struct process p;

	start_process(&p, folder, 11);
	buffer(&p, 1, stack_of(&p, 1), PHASE(&p, "a"));
	buffer(&p, 2, stack_of(&p, 1), PHASE(&p, "b"));
	buffer(&p, 3, stack_of(&p, 2), PHASE(&p, "a"));
	buffer(&p, 4, 0, PHASE(&p, "a"));
	end_writer(p.writer);
	r = open_recording(folder, 0);
	gt_recording_part_stacks(r, GT_PART_PHASE);
	expect(r, "a", &e[0]);
	expect(r, "b", &e[1]);
	expect(r, "a", &e[2]);
	expect(r, "a", &e[3]);
	f = frames_of(r, GT_BY_PHASE);
	expect_place(f, &e[0], "a");
	expect_place(f, &e[1], "b");
	assert_int_equal(gt_place_key(f, e[0].stack), gt_place_key(f, e[2].stack));
	assert_int_equal(gt_place_key(f, e[0].stack), gt_place_key(f, e[3].stack));
	assert_int_not_equal(gt_place_key(f, e[0].stack), gt_place_key(f, e[1].stack));
	gt_frames_free(f);
	gt_recording_close(r);
}

static void a_filter_keeps_whole_lifetimes(void **state)
{
	static const char *const patterns[] = { "forward", NULL };
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct gt_ledger *l;
	struct process p;
	uint32_t forward, backward;

	start_process(&p, folder, 11);
	forward = PHASE(&p, "train", "forward");
	backward = PHASE(&p, "train", "backward");
	buffer(&p, 1, 0, forward);
	release(&p, 1, backward);
	buffer(&p, 1, 0, backward); /* the same handle, elsewhere */
	release(&p, 1, forward);
	buffer(&p, 1, 0, forward);
	buffer(&p, 2, 0, backward);
	buffer(&p, 3, 0, PHASE(&p, "train", "forward", "layer"));
	release(&p, 3, 0);
	release(&p, 2, forward);
	end_writer(p.writer);
	r = open_recording(folder, 0);
	gt_recording_only_phases(r, gt_phase_matches, (void *)patterns);
	for (int round = 0; round < 2; round++) {
		l = gt_replay_run(r, &(struct gt_replay){ 0 });
		assert_int_equal(l->events, 5);
		assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].created, 3);
		assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].live, 1);
		assert_int_equal(l->redundant_calls, 0);
		gt_ledger_free(l);
	}
	gt_recording_close(r);
}

static bool find_only(void *context, const struct gt_entry *entry)
{
	*(const struct gt_entry **)context = entry;
	return true;
}

static void a_living_resource_knows_where_it_was_created(void **state)
{
	const char *folder = fresh_folder();
	const struct gt_entry *entry = NULL;
	struct gt_recording *r;
	struct gt_ledger *l;
	struct process p;
	char *text;

	start_process(&p, folder, 11);
	buffer(&p, 1, 0, PHASE(&p, "a"));
	release(&p, 1, 0);
	buffer(&p, 2, 0, PHASE(&p, "b", "c")); /* in the same slot */
	end_writer(p.writer);
	r = open_recording(folder, 0);
	l = gt_replay_run(r, &(struct gt_replay){ 0 });
	gt_live_each(&l->live, find_only, &entry);
	text = gt_recording_phase_text(r, gt_ledger_phase(l, entry));
	assert_string_equal(text, "b > c");
	free(text);
	gt_ledger_free(l);
	gt_recording_close(r);
}

static void very_many_ranges_that_differ_in_a_number_are_one_phase(void **state)
{
	enum { STEPS = 300, LAYERS = 12 };
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct gt_event e;
	struct process p;
	char step[32], layer[32], whole[96];

	start_process(&p, folder, 11);
	for (uint64_t i = 0; i < STEPS; i++) {
		snprintf(step, sizeof step, "step %d of 300", (int)i);
		snprintf(layer, sizeof layer, "layer %d", (int)(i % LAYERS));
		buffer(&p, i + 1, 0, PHASE(&p, "train", step, layer));
	}
	end_writer(p.writer);
	r = open_recording(folder, 0);
	for (int i = 0; i < STEPS; i++) {
		snprintf(whole, sizeof whole, "train > step * of * > layer %d", i % LAYERS);
		expect(r, whole, &e);
	}
	assert_int_equal(gt_recording_phase_count(r), 1 + 2 + LAYERS);
	gt_recording_close(r);
}

static void nesting_without_end_has_a_text(void **state)
{
	enum { DEEP = 5000 };
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct gt_event e;
	struct process p;
	uint32_t phase = 0, process;
	const struct gt_trace_frame *frames;
	char *text;

	start_process(&p, folder, 11);
	for (int i = 0; i < DEEP; i++)
		phase = gt_writer_phase(p.writer, phase, &(struct gt_range){ .name = "r" });
	buffer(&p, 1, 0, phase);
	end_writer(p.writer);
	r = open_recording(folder, 0);
	assert_int_equal(gt_recording_next(r, &e, &process), 1);
	text = gt_recording_phase_text(r, e.phase);
	assert_true(strlen(text) < 4 * GT_STACK_FRAMES_MAX);
	free(text);
	assert_int_equal(gt_recording_stack(r, e.stack, &frames), GT_STACK_FRAMES_MAX);
	gt_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_knows_its_phase),
		cmocka_unit_test(every_block_says_its_phase),
		cmocka_unit_test(a_lane_s_next_thread_has_no_phase),
		cmocka_unit_test(a_call_in_flight_has_its_phase),
		cmocka_unit_test(processes_share_their_phases),
		cmocka_unit_test(a_phase_stands_in_for_a_missing_stack),
		cmocka_unit_test(stacks_are_parted_by_phase),
		cmocka_unit_test(a_filter_keeps_whole_lifetimes),
		cmocka_unit_test(a_living_resource_knows_where_it_was_created),
		cmocka_unit_test(very_many_ranges_that_differ_in_a_number_are_one_phase),
		cmocka_unit_test(nesting_without_end_has_a_text),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
