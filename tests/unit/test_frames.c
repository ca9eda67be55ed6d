/* test_frames.c - what a reader sees of recorded addresses. */
#include "test_recording.h"

#include "view/frames.h"

/* The frames of the only event of a process with this stack. */
static size_t frames_of(const uint64_t *addresses, size_t count, struct gt_frame *frames, size_t room)
{
	static const struct gt_frames_options nameless = { .no_symbols = true };
	const char *folder = fresh_folder();
	const struct gt_frame *found;
	struct gt_recording *r;
	struct gt_event event;
	struct gt_frames *f;
	struct process p;
	uint32_t process;

	start_process(&p, folder, 11);
	gt_lane_event(p.lane, &(struct gt_event){ .time_ns = gt_now_ns(), .handle = 1, .tid = 11,
						  .stack = gt_writer_stack(p.writer, addresses, count),
						  .function = GT_FN_clCreateUserEvent });
	end_writer(p.writer);
	r = open_recording(folder, 0);
	assert_int_equal(gt_frames_new(&f, r, &nameless), 0);
	assert_int_equal(gt_recording_next(r, &event, &process), 1);
	count = gt_frames_get(f, event.stack, &found);
	assert_true(count <= room);
	/* texts that are not of the recording outlive it, the rest is not asked for below */
	memcpy(frames, found, count * sizeof *found);
	gt_frames_free(f);
	gt_recording_close(r);
	return count;
}

static void return_probes_of_tracers_are_called_so(void **state)
{
	const uint64_t addresses[] = { 0x7fffffffe000, 0x7fffffffeffe };
	struct gt_frame frames[4];

	assert_int_equal(frames_of(addresses, 2, frames, 4), 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(frames[i].function, "[a tracer's return probe]");
		assert_int_equal(frames[i].offset, addresses[i] - 1);
	}
}

static void addresses_of_nothing_have_no_name(void **state)
{
	const uint64_t addresses[] = { 0x42, 0x7fffffffdfff, 0x7ffffffff000 };
	struct gt_frame frames[4];

	assert_int_equal(frames_of(addresses, 3, frames, 4), 3);
	for (int i = 0; i < 3; i++) {
		assert_null(frames[i].function);
		assert_null(frames[i].module);
		assert_int_equal(frames[i].offset, addresses[i] - 1);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(return_probes_of_tracers_are_called_so),
		cmocka_unit_test(addresses_of_nothing_have_no_name),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
