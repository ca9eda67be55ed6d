/* SPDX-License-Identifier: MIT */
/* test_frames.c - recorded addresses as frames. */
#include "test_recording.h"

#include "replay/place.h"

/* The frames of the only event of a process with this stack. */
static size_t frames_of(const uint64_t *addresses, size_t count, struct gt_frame *frames,
			size_t room)
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
	gt_lane_event(p.lane,
		      &(struct gt_event){ .time_ns = gt_now_ns(),
					  .handle = 1,
					  .tid = 11,
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

static void return_probes_of_tracers_are_labelled(void **state)
{
	const uint64_t addresses[] = { 0x7fffffffe000, 0x7fffffffeffe };
	struct gt_frame frames[4];

	assert_int_equal(frames_of(addresses, 2, frames, 4), 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(frames[i].function,
				    "[caller hidden by another tool's return probe]");
		assert_int_equal(frames[i].offset, addresses[i] - 1);
	}
}

static void unmapped_addresses_have_no_name(void **state)
{
	const uint64_t addresses[] = { 0x42, 0x7fffffffdfff, 0x7ffffffff000 };
	struct gt_frame frames[4];

	assert_int_equal(frames_of(addresses, 3, frames, 4), 3);
	for (int i = 0; i < 3; i++) {
		assert_null(frames[i].function);
		assert_string_equal(frames[i].module, "[JIT code]");
		assert_int_equal(frames[i].offset, addresses[i] - 1);
	}
}

static void stacks_of_no_recording_have_frames_and_places(void **state)
{
	static const struct gt_frame frames[] = {
		{ .function = "clCreateBuffer", .module = "/usr/lib/libOpenCL.so.1" },
		{ .function = "pool_take", .module = "/usr/lib/libpool.so" },
		{ .function = "load", .file = "/w/src/load.c", .line = 7, .module = "/w/app" },
		{ .function = "main", .file = "/w/src/main.c", .line = 3, .module = "/w/app" },
		{ .function = "__libc_start_main", .module = "/usr/lib/libc.so.6" },
	};
	struct gt_frames *f = gt_frames_new_empty(&(struct gt_frames_options){ 0 });
	const struct gt_frame *list;
	uint32_t stack, other;
	char *text;

	gt_own_add_program(gt_frames_own(f), "/w/app", "/w");
	stack = gt_frames_add(f, frames, 5);
	other = gt_frames_add(f, frames + 3, 1);
	assert_true(stack && other && stack != other);
	/* without the plumbing around them */
	assert_int_equal(gt_frames_get(f, stack, &list), 3);
	assert_string_equal(list[0].function, "pool_take");
	assert_int_equal(gt_frames_get(f, 0, &list), 0);
	assert_int_equal(gt_frames_get(f, other + 1, &list), 0);
	text = gt_place_text(f, stack, true);
	assert_string_equal(text, "load src/load.c:7 via pool_take");
	free(text);
	assert_int_not_equal(gt_place_key(f, stack), gt_place_key(f, other));
	gt_frames_free(f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(return_probes_of_tracers_are_labelled),
		cmocka_unit_test(unmapped_addresses_have_no_name),
		cmocka_unit_test(stacks_of_no_recording_have_frames_and_places),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
