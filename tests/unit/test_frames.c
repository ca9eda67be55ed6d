/* SPDX-License-Identifier: MIT */
/* test_frames.c - recorded addresses as frames. */
#include "test_recording.h"

#include "replay/frames.h"

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

static void cxx_library_frames_are_distinguished_from_the_program(void **state)
{
	static const struct {
		struct gt_frame frame;
		bool library;
	} cases[] = {
		{ { .function = "std::vector<int>::push_back", .file = "stl_vector.h" }, true },
		{ { .function = "__gnu_cxx::new_allocator<int>::construct" }, true },
		{ { .function = "operator new", .file = "/usr/include/c++/12/new" }, true },
		{ { .function = "cl::Buffer::Buffer", .file = "/usr/include/CL/opencl.hpp" },
		  true },
		{ { .file = "/opt/llvm/include/c++/v1/memory" }, true },
		{ { .module = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6" }, true },
		{ { .function = "main", .file = "/src/main.cpp", .module = "/bin/p" }, false },
		{ { .function = "mine::std::f" }, false },
		{ { .function = "stdx::f", .file = "/home/me/include/c++.h" }, false },
		{ { .function = "f", .file = "/usr/includes/f.h" }, false },
		{ { .module = "/opt/libstdcx.so" }, false },
		{ { .offset = 0x42 }, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (gt_frame_is_library(&cases[i].frame) != cases[i].library)
			fail_msg("case %zu", i);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(return_probes_of_tracers_are_labelled),
		cmocka_unit_test(unmapped_addresses_have_no_name),
		cmocka_unit_test(cxx_library_frames_are_distinguished_from_the_program),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
