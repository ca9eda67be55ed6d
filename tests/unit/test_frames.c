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
	/* of x86-64; of arm64 with addresses of 39, 48 and 52 bits, the last with pages of 64 KiB
	 */
	const uint64_t addresses[] = { 0x7fffffffe000, 0x7fffffffeffe, 0x7ffffff000, 0xfffffffff000,
				       0xfffffffff0000 };
	struct gt_frame frames[8];

	assert_int_equal(frames_of(addresses, 5, frames, 8), 5);
	for (int i = 0; i < 5; i++) {
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

static void tell_program_and_libc(struct gt_writer *w, void *context)
{
	static const struct gt_module modules[] = {
		{ .start = 0x1000, .size = 0x1000, .path = "/bin/p" },
		{ .start = 0x5000, .size = 0x1000, .path = "/lib/libc.so.6" },
	};
	bool *is_told = context;

	for (uint32_t i = 0; !*is_told && i < 2; i++)
		gt_writer_module(w, i, &modules[i]);
	*is_told = true;
}

/* Of a stack of frames of the program (p) and of the C library (c). */
static struct gt_stack_start start_of(const char *stack, const char *most)
{
	struct gt_writer_options options = { .pid = 1,
					     .modules = tell_program_and_libc,
					     .context = &(bool){ false } };
	const char *folder = fresh_folder();
	uint64_t addresses[16], now = gt_now_ns();
	uint32_t numbers[GT_STACK_FRAMES_MAX], process;
	struct gt_stack_start start;
	struct gt_recording *r;
	struct gt_writer *w;
	struct gt_event event;
	size_t count = strlen(stack);
	char path[256];

	for (size_t i = 0; i < count; i++)
		addresses[i] = (stack[i] == 'c' ? 0x5000 : 0x1000) + 8 * (i + 1);
	snprintf(path, sizeof path, "%s/1.trace", folder);
	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	gt_writer_info(w, "stack_depth", most, strlen(most));
	gt_lane_event(gt_lane_acquire(w, 1, "main"),
		      &(struct gt_event){ .time_ns = now,
					  .handle = 1,
					  .tid = 1,
					  .stack = gt_writer_stack(w, addresses, count),
					  .function = GT_FN_clCreateUserEvent });
	end_writer(w);
	r = open_recording(folder, 0);
	assert_int_equal(gt_recording_next(r, &event, &process), 1);
	assert_int_equal(gt_recording_stack_numbers(r, event.stack, numbers), count);
	start = gt_stack_start(r, event.stack, numbers, count);
	gt_recording_close(r);
	return start;
}

static void frames_that_may_start_a_program_or_thread_are_known_by_their_modules(void **state)
{
	static const struct {
		const char *stack;
		const char *most;
		size_t first;
		bool is_thread;
	} rows[] = {
		{ "ppccp", "64", 2, false }, /* main, the library twice, _start */
		{ "ppcc", "64", 2, true },   /* start_thread, clone3 */
		{ "pppc", "64", 3, false },  /* a coroutine */
		{ "pccc", "64", 1, false },  /* a destructor of a thread's data */
		{ "ppcc", "4", 2, false },   /* the rest was cut off: it may be qsort */
		{ "pcpp", "64", 4, false },  /* a callback */
		{ "cc", "64", 0, false },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct gt_stack_start start = start_of(rows[i].stack, rows[i].most);

		assert_int_equal(start.first, rows[i].first);
		assert_int_equal(start.is_thread, rows[i].is_thread);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(return_probes_of_tracers_are_labelled),
		cmocka_unit_test(unmapped_addresses_have_no_name),
		cmocka_unit_test(stacks_of_no_recording_have_frames_and_places),
		cmocka_unit_test(
			frames_that_may_start_a_program_or_thread_are_known_by_their_modules),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
