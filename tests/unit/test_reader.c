/* test_reader.c - what was written comes back; what was cut or changed is noticed. */
#include <malloc.h>

#include "test_writer.h"

static void random_events_come_back_equal(void **state)
{
	/* up to the largest blocks, and over many of them */
	enum { COUNT = 60000 };
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 31, "main");
	struct events all = { 0 };
	uint64_t seed = 1, time_ns = 0;

	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t frames[] = { i % 100, i % 7 };
		struct gt_event e = random_event(&seed, time_ns += random_word(&seed) % 5000, 31);

		e.stack = i % 3 ? gt_writer_stack(w, frames, 2) : 0;
		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void every_function_comes_back_as_itself(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 31, "main");
	struct events all = { 0 };

	for (uint16_t row = GT_FN_COUNT - 1; row; row--) {
		struct gt_event e = {
			.time_ns = 10000 - row, .function = row, .handle = row, .tid = 31
		};

		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void the_widest_events_cross_block_boundaries_whole(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane =
		gt_lane_acquire(w, UINT32_MAX, "a name of more than sixteen letters");
	struct events all = { 0 };
	uint64_t frames[] = { UINT64_MAX };

	for (uint64_t i = 0; i < 6000; i++) {
		struct gt_event e = { .time_ns = 1000 + i, .handle = i % 2 ? UINT64_MAX / 2 : 0,
				      .size = UINT64_MAX, .owner = i % 2 ? UINT64_MAX / 2 : 0,
				      .stack = gt_writer_stack(w, frames, 1), .tid = UINT32_MAX,
				      .function = GT_FN_clCreateBuffer, .place = UINT16_MAX,
				      .result = INT32_MIN, .failed = 1 };

		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void lanes_are_merged_by_time(void **state)
{
	enum { LANES = 300 };
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lanes[LANES];
	struct events all = { 0 };
	uint64_t seed = 2;

	for (uint32_t i = 0; i < LANES; i++)
		lanes[i] = gt_lane_acquire(w, 1000 + i, "worker");
	for (uint64_t i = 0; i < 30000; i++) {
		uint32_t lane = (uint32_t)(random_word(&seed) % LANES);
		struct gt_event e = random_event(&seed, 5000 + i, 1000 + lane);

		gt_lane_event(lanes[lane], &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

/* Written by A (tid 1) and B (tid 2); B's creation ended while A's destroy was still running. */
static void a_destroy_sorts_before_the_create_that_reuses_its_handle(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *a = gt_lane_acquire(w, 1, "a"), *b = gt_lane_acquire(w, 2, "b");
	struct gt_event create = {
		.time_ns = 200, .handle = 7, .tid = 2, .function = GT_FN_clCreateBuffer
	};
	struct gt_event destroy = { .time_ns = 100, .handle = 7, .tid = 1,
				    .function = GT_FN_clReleaseMemObject };
	struct events got;

	gt_lane_event(b, &create);
	gt_lane_event(a, &destroy);
	end_writer(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 2);
	assert_same_event(&got.list[0], &destroy);
	assert_same_event(&got.list[1], &create);
	free(got.list);
}

/* A release calls back, and the callback releases too: the inner one is written first. */
static void nested_calls_stay_in_the_order_they_returned(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 1, "main"),
		       *other = gt_lane_acquire(w, 2, "other");
	struct gt_event events[] = {
		{ .time_ns = 150, .handle = 1, .tid = 1, .function = GT_FN_clReleaseEvent },
		{ .time_ns = 100, .handle = 2, .tid = 1, .function = GT_FN_clReleaseMemObject },
		{ .time_ns = 160, .handle = 3, .tid = 1, .function = GT_FN_clReleaseEvent },
	};
	struct gt_event between = {
		.time_ns = 155, .handle = 4, .tid = 2, .function = GT_FN_clReleaseEvent
	};
	struct events got;

	for (size_t i = 0; i < 3; i++)
		gt_lane_event(lane, &events[i]);
	gt_lane_event(other, &between);
	end_writer(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 4);
	assert_same_event(&got.list[0], &events[0]);
	assert_same_event(&got.list[1], &events[1]);
	assert_same_event(&got.list[2], &between);
	assert_same_event(&got.list[3], &events[2]);
	free(got.list);
}

static void a_lane_that_changes_hands_tells_whose_calls_follow(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct events all = { 0 };
	uint64_t seed = 3;

	for (uint32_t thread = 1; thread <= 200; thread++) {
		struct gt_lane *lane = gt_lane_acquire(w, thread, "short-lived");

		for (int i = 0; i < 20; i++) {
			struct gt_event e = random_event(&seed, 1000 + all.count, thread);

			gt_lane_event(lane, &e);
			add_event(&all, &e);
		}
		gt_lane_release(lane);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void a_trace_being_written_reads_up_to_now(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 5, "main");
	struct events all = { 0 };
	uint64_t seed = 4;

	assert_trace_holds(path, &all);
	for (uint64_t i = 0; i < 2000; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 5);

		gt_lane_event(lane, &e);
		add_event(&all, &e);
		if (i % 97 == 0)
			assert_trace_holds(path, &all);
	}
	gt_writer_free(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

/* What the modules callback tells next. */
static struct {
	int unload; /* -1: nothing */
	bool map;
	uint32_t number;
	struct gt_module module;
} script;

static void tell_modules(struct gt_writer *w, void *context)
{
	if (script.unload >= 0)
		gt_writer_unload(w, (uint32_t)script.unload);
	if (script.map)
		gt_writer_module(w, script.number++, &script.module);
	script.unload = -1;
	script.map = false;
}

static struct gt_writer *open_with_modules(const char *path)
{
	struct gt_writer_options options = { .pid = 1, .modules = tell_modules };
	struct gt_writer *w;

	memset(&script, 0, sizeof script);
	script.unload = -1;
	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	return w;
}

static void map_module(uint64_t start, uint64_t bias, const char *module_path)
{
	static const uint8_t id[] = { 1, 2, 3, 4 };

	script.map = true;
	script.module = (struct gt_module){ .start = start, .size = 0x1000, .bias = bias,
					    .path = module_path, .build_id = id, .build_id_size = 4,
					    .file_size = 77, .mtime_ns = -5 };
}

static struct gt_reader *open_reader(const char *path)
{
	struct gt_reader *r;
	struct gt_error error = { "" };

	if (gt_reader_open(&r, path, &error))
		fail_msg("%s", error.text);
	return r;
}

static const struct gt_trace_frame *frame(struct gt_reader *r, uint32_t stack, uint32_t index)
{
	const struct gt_definitions *d = gt_reader_definitions(r);

	assert_in_range(stack, 1, d->stack_count);
	assert_true(index < d->stacks[stack - 1].count);
	return &d->frames[d->stacks[stack - 1].first + index];
}

static void frames_are_placed_in_the_module_mapped_at_their_time(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_with_modules(path);
	uint64_t frames[] = { 0x10100, 0x10fff, 0x11000, 0xffff };
	uint32_t first, second, third;
	struct gt_reader *r;

	map_module(0x10000, 0xf000, "/lib/old.so");
	first = gt_writer_stack(w, frames, 4);
	/* as after dlclose and dlopen: the same addresses, another library */
	script.unload = 0;
	map_module(0x10000, 0x10000, "/lib/new.so");
	gt_writer_forget_stacks(w);
	second = gt_writer_stack(w, frames, 4);
	script.unload = 1;
	gt_writer_forget_stacks(w);
	third = gt_writer_stack(w, frames, 4);
	end_writer(w);
	r = open_reader(path);
	assert_int_equal(frame(r, first, 0)->module, 0);
	assert_int_equal(frame(r, first, 0)->address, 0x1100);
	assert_int_equal(frame(r, first, 1)->module, 0);
	assert_int_equal(frame(r, second, 0)->module, 1);
	assert_int_equal(frame(r, second, 0)->address, 0x100);
	assert_int_equal(frame(r, third, 0)->module, GT_NO_MODULE);
	assert_int_equal(frame(r, third, 0)->address, 0x10100);
	/* just past and just before the mapping */
	assert_int_equal(frame(r, second, 2)->module, GT_NO_MODULE);
	assert_int_equal(frame(r, second, 2)->address, 0x11000);
	assert_int_equal(frame(r, second, 3)->module, GT_NO_MODULE);
	gt_reader_close(r);
}

static void of_two_modules_at_one_address_the_later_counts(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_with_modules(path);
	uint64_t frames[] = { 0x10100 }, others[] = { 0x10100, 1 };
	struct gt_reader *r;

	map_module(0x10000, 0, "/lib/old.so");
	gt_writer_stack(w, frames, 1);
	map_module(0x10000, 0, "/lib/new.so");
	gt_writer_stack(w, others, 2);
	end_writer(w);
	r = open_reader(path);
	assert_int_equal(frame(r, 1, 0)->module, 0);
	assert_int_equal(frame(r, 2, 0)->module, 1);
	gt_reader_close(r);
}

static void modules_come_back_with_all_that_identifies_them(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_with_modules(path);
	uint64_t frames[] = { 1 }, others[] = { 2 };
	const struct gt_definitions *d;
	struct gt_reader *r;

	map_module(0x10000, 0xf000, "/lib/with spaces.so");
	gt_writer_stack(w, frames, 1);
	map_module(0x20000, 0x20000, "");
	script.module.build_id = NULL;
	script.module.build_id_size = 0;
	gt_writer_stack(w, others, 1);
	end_writer(w);
	r = open_reader(path);
	d = gt_reader_definitions(r);
	assert_int_equal(d->module_count, 2);
	assert_string_equal(d->modules[0].path, "/lib/with spaces.so");
	assert_int_equal(d->modules[0].start, 0x10000);
	assert_int_equal(d->modules[0].size, 0x1000);
	assert_int_equal(d->modules[0].bias, 0xf000);
	assert_int_equal(d->modules[0].build_id_size, 4);
	assert_memory_equal(d->modules[0].build_id, "\1\2\3\4", 4);
	assert_int_equal(d->modules[0].file_size, 77);
	assert_int_equal(d->modules[0].mtime_ns, -5);
	assert_string_equal(d->modules[1].path, "");
	assert_int_equal(d->modules[1].build_id_size, 0);
	gt_reader_close(r);
}

static void a_stack_of_too_many_frames_is_cut(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	uint64_t frames[GT_STACK_FRAMES_MAX + 10];
	const struct gt_definitions *d;
	struct gt_reader *r;

	for (size_t i = 0; i < GT_STACK_FRAMES_MAX + 10; i++)
		frames[i] = 0x400000 + i * 16;
	assert_int_equal(gt_writer_stack(w, frames, GT_STACK_FRAMES_MAX + 10), 1);
	end_writer(w);
	r = open_reader(path);
	d = gt_reader_definitions(r);
	assert_int_equal(d->stacks[0].count, GT_STACK_FRAMES_MAX);
	for (uint32_t i = 0; i < GT_STACK_FRAMES_MAX; i++)
		assert_int_equal(frame(r, 1, i)->address, frames[i]);
	gt_reader_close(r);
}

static void infos_and_places_come_back(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	const struct gt_definitions *d;
	char longest[8000];
	struct gt_reader *r;

	memset(longest, 'x', sizeof longest);
	gt_writer_info(w, "command", "a\0b c\0", 6);
	gt_writer_info(w, "empty", "", 0);
	gt_writer_info(w, "long", longest, sizeof longest);
	gt_writer_place(w, 1, GT_OPENCL, "Portable Computing Language");
	gt_writer_place(w, 2, GT_CUDA, "");
	end_writer(w);
	r = open_reader(path);
	assert_int_equal(gt_reader_text(r, "command")->size, 6);
	assert_memory_equal(gt_reader_text(r, "command")->value, "a\0b c\0", 7);
	assert_int_equal(gt_reader_text(r, "empty")->size, 0);
	assert_string_equal(gt_reader_text(r, "empty")->value, "");
	/* cut, not refused */
	assert_in_range(gt_reader_text(r, "long")->size, 1000, GT_RECORD_MAX);
	assert_null(gt_reader_text(r, "none"));
	d = gt_reader_definitions(r);
	assert_int_equal(d->place_count, 2);
	assert_int_equal(d->places[0].number, 1);
	assert_int_equal(d->places[0].api, GT_OPENCL);
	assert_string_equal(d->places[0].name, "Portable Computing Language");
	assert_int_equal(d->places[1].api, GT_CUDA);
	gt_reader_close(r);
}

static void names_come_back(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	const struct gt_definitions *d;
	struct gt_reader *r;

	gt_writer_name(w, 1000, 0x7f00, "d_table");
	gt_writer_name(w, UINT64_MAX, UINT64_MAX, "");
	end_writer(w);
	r = open_reader(path);
	d = gt_reader_definitions(r);
	assert_int_equal(d->name_count, 2);
	assert_int_equal(d->names[0].time_ns, 1000);
	assert_int_equal(d->names[0].handle, 0x7f00);
	assert_string_equal(d->names[0].name, "d_table");
	assert_int_equal(d->names[1].handle, UINT64_MAX);
	assert_string_equal(d->names[1].name, "");
	gt_reader_close(r);
}

/* A small trace of one or two lanes with all that a trace can have. The caller frees `all`. */
static const char *write_small(struct events *all, uint32_t lane_count, bool end)
{
	const char *path = fresh_path("small.trace");
	struct gt_writer *w = open_with_modules(path);
	struct gt_lane *lanes[2];
	uint64_t seed = 5;

	*all = (struct events){ 0 };
	gt_writer_info(w, "program", "/bin/true", 9);
	map_module(0x10000, 0, "/bin/true");
	for (uint32_t i = 0; i < lane_count; i++)
		lanes[i] = gt_lane_acquire(w, 70 + i, "worker");
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t frames[] = { 0x10000 + i % 5, 0x10500 };
		struct gt_event e = random_event(&seed, 1000 + i, 70 + i % lane_count);

		e.stack = gt_writer_stack(w, frames, 2);
		gt_lane_event(lanes[i % lane_count], &e);
		add_event(all, &e);
	}
	if (end)
		gt_writer_end(w);
	gt_writer_free(w);
	return path;
}

static void unknown_definitions_are_passed_over(void **state)
{
	static const char unknown[] = "\x63\x05later", known[] = "\x01\x07\x03key\x02ok";
	struct events all;
	const char *path = write_small(&all, 2, true);
	struct image image = load_image(path);
	struct gt_reader *r;

	prepend(block_of(&image, 0, 0), unknown, sizeof unknown - 1);
	append(block_of(&image, 0, 0), unknown, sizeof unknown - 1);
	append(block_of(&image, 0, 0), known, sizeof known - 1);
	path = fresh_path("trace");
	save_image(path, &image);
	assert_trace_holds(path, &all);
	r = open_reader(path);
	assert_string_equal(gt_reader_text(r, "key")->value, "ok");
	gt_reader_close(r);
	free(image.data);
	free(all.list);
}

static void unknown_records_of_lanes_are_passed_over(void **state)
{
	static const char unknown[] = "\x0f\x05later\x04\x00";
	struct events all;
	const char *path = write_small(&all, 2, true);
	struct image image = load_image(path);

	prepend(block_of(&image, 1, 0), unknown, sizeof unknown - 1);
	append(block_of(&image, 2, 0), unknown, sizeof unknown - 1);
	path = fresh_path("trace");
	save_image(path, &image);
	assert_trace_holds(path, &all);
	free(image.data);
	free(all.list);
}

/* Renames a function within the trace's definitions. */
static void rename_function(const struct image *image, const char *from, const char *to)
{
	struct gt_block_header *b = block_of(image, 0, 0);
	uint8_t *at = memmem(b + 1, b->used, from, strlen(from));

	assert_non_null(at);
	assert_int_equal(strlen(from), strlen(to));
	memcpy(at, to, strlen(to));
}

static void events_of_unknown_functions_are_counted_and_passed_over(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 1, "main");
	struct events all = { 0 };
	struct gt_reader *r;
	struct image image;
	struct gt_event e;

	for (uint64_t i = 0; i < 400; i++) {
		static const uint16_t functions[] = { GT_FN_clCreateUserEvent, GT_FN_clCreateBuffer,
						      GT_FN_clRetainMemObject,
						      GT_FN_clReleaseMemObject };

		e = (struct gt_event){ .time_ns = i * 1000, .handle = i * i, .tid = 1,
				       .function = functions[i % 4], .failed = i % 8 < 4 };
		if (i % 4 < 2) {
			e.size = i;
			e.owner = i * 3;
			e.place = 2;
		}
		gt_lane_event(lane, &e);
		if (i % 4 == 1 || i % 4 == 3)
			add_event(&all, &e);
	}
	end_writer(w);
	image = load_image(path);
	rename_function(&image, "clCreateUserEvent", "clCreateUsedEvent");
	rename_function(&image, "clRetainMemObject", "clRetainMemOdject");
	path = fresh_path("trace");
	save_image(path, &image);
	assert_trace_holds(path, &all);
	r = open_reader(path);
	while (gt_reader_next(r, &e) > 0)
		continue;
	assert_int_equal(gt_reader_unknown(r), 200);
	gt_reader_close(r);
	free(image.data);
	free(all.list);
}

/* Writes a creation, then enters a release; `leave`, `end`: what happens before the file is let go.
 */
static struct events write_inflight(bool leave, bool end, struct gt_event *inside)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main"),
		       *other = gt_lane_acquire(w, 4, "other");
	struct gt_event e = {
		.time_ns = 500, .handle = 9, .tid = 3, .function = GT_FN_clCreateContext
	};
	uint64_t frames[] = { 1, 2, 3 };

	*inside = (struct gt_event){ .time_ns = 400, .handle = 9, .tid = 3, .unfinished = 1,
				     .function = GT_FN_clReleaseContext,
				     .stack = gt_writer_stack(w, frames, 3) };
	gt_lane_event(lane, &e);
	gt_lane_enter(lane, inside, NULL);
	e.time_ns = 600;
	e.tid = 4;
	gt_lane_event(other, &e);
	if (leave)
		gt_lane_leave(lane, NULL);
	if (end)
		gt_writer_end(w);
	gt_writer_free(w);
	return read_events(path, NULL);
}

static void a_call_that_a_killed_process_was_in_comes_last(void **state)
{
	struct gt_event inside;
	struct events got = write_inflight(false, false, &inside);

	assert_int_equal(got.count, 3);
	assert_same_event(&got.list[2], &inside);
	free(got.list);
}

static void a_call_that_returned_is_not_unfinished(void **state)
{
	struct gt_event inside;
	struct events got = write_inflight(true, false, &inside);

	assert_int_equal(got.count, 2);
	free(got.list);
}

static void no_call_is_unfinished_in_a_trace_that_ended(void **state)
{
	struct gt_event inside;
	struct events got = write_inflight(false, true, &inside);

	assert_int_equal(got.count, 2);
	free(got.list);
}

static void an_open_call_outlives_the_block_it_began_in(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	struct gt_event inside = { .time_ns = 5000, .handle = 9, .tid = 3, .unfinished = 1,
				   .function = GT_FN_clReleaseContext };
	struct events got;
	uint64_t seed = 9;

	for (uint64_t i = 0; i < 5000; i++) {
		struct gt_event e = random_event(&seed, i, 3);

		gt_lane_event(lane, &e);
		gt_lane_enter(lane, &inside, NULL);
		gt_lane_leave(lane, NULL);
	}
	gt_lane_enter(lane, &inside, NULL);
	gt_writer_free(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 5001);
	assert_same_event(&got.list[5000], &inside);
	free(got.list);
}

static void a_call_stays_open_while_others_are_made_in_it(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	struct gt_event outer = { .time_ns = 10, .handle = 9, .tid = 3, .unfinished = 1,
				  .function = GT_FN_clReleaseContext };
	struct gt_event inner = { .time_ns = 20, .handle = 8, .tid = 3,
				  .function = GT_FN_clReleaseEvent };
	char stack[8]; /* of the program: it grows down */
	struct events got;

	gt_lane_event(lane, &inner);
	gt_lane_enter(lane, &outer, &stack[7]);
	for (int i = 0; i < 5000; i++) { /* more than a block holds */
		gt_lane_enter(lane, &inner, &stack[3]);
		if (i % 3)
			gt_lane_enter(lane, &inner, &stack[2]);
		gt_lane_event(lane, &inner);
		gt_lane_leave(lane, &stack[3]);
	}
	gt_writer_free(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 5002);
	assert_same_event(&got.list[5001], &outer);
	free(got.list);
}

/* By longjmp: it will never return, and is not what the process died in. */
static void a_call_that_was_jumped_out_of_is_over(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	struct gt_event e = { .time_ns = 10, .handle = 9, .tid = 3,
			      .function = GT_FN_clReleaseContext };
	char stack[8];
	struct events got;

	gt_lane_event(lane, &e);
	for (int i = 0; i < 100; i++)
		gt_lane_enter(lane, &e, &stack[1]);
	gt_lane_enter(lane, &e, &stack[5]);
	gt_lane_leave(lane, &stack[5]);
	gt_writer_free(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 1);
	free(got.list);
}

/* Events of one thread in `got` are the first of its events in `all`. */
static void assert_prefixes(const struct events *all, const struct events *got)
{
	size_t next[2] = { 0 };

	for (size_t i = 0; i < got->count; i++) {
		uint32_t tid = got->list[i].tid;
		size_t *at = &next[tid - 70];

		while (*at < all->count && all->list[*at].tid != tid)
			++*at;
		assert_true(*at < all->count);
		assert_same_event(&got->list[i], &all->list[(*at)++]);
	}
}

/*
 * Cuts the file shorter and shorter: it opens, or is refused with one error. With one lane there
 * are fewer and fewer events, the first of all; with several this holds for each of them.
 */
/* Terabytes of nothing, and at their end a block that says it is of the last lane there can be. */
static void a_hole_costs_neither_time_nor_memory(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 1, "main");
	struct gt_event e = { .time_ns = 100, .handle = 7, .function = GT_FN_clCreateBuffer };
	struct gt_block_header far = { .magic = GT_BLOCK_MAGIC, .size = GT_BLOCK_MIN,
				       .lane = (1 << 24) - 1 };
	off_t end = (off_t)1 << 42;
	struct gt_trace_header h;
	struct gt_reader *r;
	struct gt_error error;
	int fd;

	gt_lane_event(lane, &e);
	end_writer(w);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
	h.blocks_end = (uint64_t)end;
	assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
	if (ftruncate(fd, end) || pwrite(fd, &far, sizeof far, end - GT_BLOCK_MIN) != sizeof far) {
		close(fd);
		skip(); /* a file system for small files */
	}
	close(fd);
	assert_int_equal(gt_reader_open(&r, path, &error), 0);
	assert_int_equal(gt_reader_next(r, &e), 1);
	assert_int_equal(e.handle, 7);
	assert_int_equal(gt_reader_next(r, &e), 0);
	assert_non_null(gt_reader_damage(r));
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < 16 << 20);
	gt_reader_close(r);
}

static void check_every_cut(uint32_t lane_count, bool end)
{
	struct events all;
	const char *path = write_small(&all, lane_count, end);
	struct gt_trace_header h;
	struct gt_error error;
	struct stat st;
	size_t last = all.count;
	int step = lane_count == 1 && end ? 1 : 7; /* each byte once is enough */

	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(stat(path, &st), 0);
	/* reserved room is all zeroes: a look at its ends will do */
	for (off_t size = st.st_size; size > (off_t)h.blocks_end + 64; size -= 1021) {
		assert_int_equal(truncate(path, size), 0);
		assert_trace_holds(path, &all);
	}
	for (off_t size = (off_t)h.blocks_end + (end ? 0 : 64); size >= 0; size -= step) {
		struct gt_reader *r;
		struct events got;
		char damage[256];

		assert_int_equal(truncate(path, size), 0);
		error.text[0] = '\0';
		if (size < (off_t)sizeof h) {
			assert_true(gt_reader_open(&r, path, &error) < 0);
			assert_true(error.text[0]);
			continue;
		}
		got = read_events(path, damage);
		assert_true(got.count <= (lane_count == 1 ? last : all.count));
		assert_prefixes(&all, &got);
		assert_true((size < (off_t)h.blocks_end) == !!damage[0]);
		last = got.count;
		free(got.list);
	}
	assert_int_equal(last, 0);
	free(all.list);
}

static void a_trace_cut_anywhere_still_reads_up_to_there(void **state)
{
	check_every_cut(1, true);
}

static void a_running_trace_cut_anywhere_still_reads_up_to_there(void **state)
{
	check_every_cut(1, false);
}

static void each_lane_of_a_trace_cut_anywhere_still_reads_up_to_there(void **state)
{
	check_every_cut(2, true);
}

/* One lane, so that a prefix is a prefix of all; its first blocks are sealed. */
static const char *write_sealed(struct events *all)
{
	const char *path = fresh_path("sealed.trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane;
	uint64_t seed = 10;

	*all = (struct events){ 0 };
	gt_writer_info(w, "program", "/bin/true", 9);
	lane = gt_lane_acquire(w, 70, "main");
	for (uint64_t i = 0; i < 700; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 70);

		gt_lane_event(lane, &e);
		add_event(all, &e);
	}
	end_writer(w);
	return path;
}

static void check_flip(const struct image *image, void *at, const struct events *all)
{
	static const char *path;
	struct events got;
	char damage[256];

	if (!path)
		path = strdup(fresh_path("flipped.trace"));
	*(uint8_t *)at ^= 0x10;
	save_image(path, image);
	*(uint8_t *)at ^= 0x10;
	got = read_events(path, damage);
	assert_true(damage[0]);
	assert_true(got.count < all->count);
	assert_prefixes(all, &got);
	free(got.list);
}

static void flipped_bytes_in_a_sealed_block_are_noticed(void **state)
{
	struct events all;
	const char *path = write_sealed(&all);
	struct image image = load_image(path);
	struct gt_block_header *b = block_of(&image, 1, 0);

	assert_true(b->hash);
	for (uint32_t i = 0; i < b->used; i += 3)
		check_flip(&image, (uint8_t *)(b + 1) + i, &all);
	for (size_t i = 0; i < sizeof b->hash; i++)
		check_flip(&image, (uint8_t *)&b->hash + i, &all);
	check_flip(&image, &b->used, &all);
	check_flip(&image, &b->magic, &all);
	check_flip(&image, &b->lane, &all);
	check_flip(&image, &b->sequence, &all);
	check_flip(&image, &b->size, &all);
	free(image.data);
	free(all.list);
}

static void a_block_that_is_gone_is_noticed(void **state)
{
	struct events all, got;
	const char *path = write_sealed(&all);
	struct image image = load_image(path);
	char damage[256];

	/* as a file system may leave it after a power cut */
	memset(block_of(&image, 1, 1), 0, GT_BLOCK_MIN);
	path = fresh_path("trace");
	save_image(path, &image);
	got = read_events(path, damage);
	assert_true(got.count < all.count);
	assert_true(damage[0]);
	free(got.list);
	free(image.data);
	free(all.list);
}

/* Whatever byte is changed: no crash, no endless loop, and an answer. */
static void any_changed_byte_is_survived(void **state)
{
	struct events all;
	const char *path = write_small(&all, 2, false);
	struct gt_trace_header h;
	struct gt_error error;
	int fd;

	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (off_t at = 0; at < (off_t)h.blocks_end; at += at % 4096 < 2000 ? 1 : 512) {
		struct gt_reader *r;
		struct gt_event e;
		uint8_t byte, changed;
		size_t count = 0;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		changed = (uint8_t)(byte ^ (at % 2 ? 0xff : 0x80));
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		if (!gt_reader_open(&r, path, &error)) {
			while (gt_reader_next(r, &e) > 0)
				assert_true(count++ < 100000);
			gt_reader_close(r);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	free(all.list);
}

static void refuse(const void *data, size_t size, int code, const char *reason)
{
	const char *path = fresh_path("refused");
	struct image image = { (uint8_t *)data, size };
	struct gt_error error = { "" };
	struct gt_reader *r;

	save_image(path, &image);
	assert_int_equal(gt_reader_open(&r, path, &error), code);
	assert_non_null(strstr(error.text, reason));
	assert_non_null(strstr(error.text, path));
}

static void what_is_no_trace_is_refused_with_a_sentence(void **state)
{
	struct gt_trace_header h = { .magic = GT_TRACE_MAGIC, .version = 2, .header_size = 4096 };
	struct gt_error error = { "" };
	struct gt_reader *r;

	refuse("", 0, -EINVAL, "too short");
	refuse(&h, sizeof h - 1, -EINVAL, "too short");
	refuse(&h, sizeof h, -EPROTO, "version 2");
	h.version = GT_TRACE_VERSION;
	h.header_size = 8;
	refuse(&h, sizeof h, -EINVAL, "damaged header");
	h.header_size = UINT32_MAX;
	refuse(&h, sizeof h, -EINVAL, "damaged header");
	h.magic[0] = 'X';
	refuse(&h, sizeof h, -EINVAL, "not a gputrack trace");
	assert_int_equal(gt_reader_open(&r, scratch, &error), -EINVAL);
	assert_non_null(strstr(error.text, "not a regular file"));
	assert_int_equal(gt_reader_open(&r, fresh_path("none"), NULL), -ENOENT);
}

static void claimed_sizes_and_counts_cost_no_memory(void **state)
{
	struct image image = { calloc(1, 64 << 10), 64 << 10 };
	struct gt_trace_header *h = header_of(&image);
	struct gt_block_header *b = (struct gt_block_header *)(image.data + GT_TRACE_HEADER);
	const char *path = fresh_path("trace");
	struct events got;
	char damage[256];

	memcpy(h->magic, GT_TRACE_MAGIC, sizeof h->magic);
	h->version = GT_TRACE_VERSION;
	h->header_size = GT_TRACE_HEADER;
	*b = (struct gt_block_header){ .magic = GT_BLOCK_MAGIC,
				       .size = GT_BLOCK_MIN,
				       .lane = (1 << 24) - 1 };
	save_image(path, &image);
	got = read_events(path, damage);
	assert_int_equal(got.count, 0);
	assert_true(damage[0]);
	free(got.list);
	*b = (struct gt_block_header){ .magic = GT_BLOCK_MAGIC,
				       .size = 0xfffff000,
				       .used = 0xffffff00 };
	save_image(path, &image);
	got = read_events(path, damage);
	assert_true(damage[0]);
	free(got.list);
	free(image.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_come_back_equal),
		cmocka_unit_test(every_function_comes_back_as_itself),
		cmocka_unit_test(the_widest_events_cross_block_boundaries_whole),
		cmocka_unit_test(lanes_are_merged_by_time),
		cmocka_unit_test(a_destroy_sorts_before_the_create_that_reuses_its_handle),
		cmocka_unit_test(nested_calls_stay_in_the_order_they_returned),
		cmocka_unit_test(a_lane_that_changes_hands_tells_whose_calls_follow),
		cmocka_unit_test(a_trace_being_written_reads_up_to_now),
		cmocka_unit_test(frames_are_placed_in_the_module_mapped_at_their_time),
		cmocka_unit_test(of_two_modules_at_one_address_the_later_counts),
		cmocka_unit_test(modules_come_back_with_all_that_identifies_them),
		cmocka_unit_test(a_stack_of_too_many_frames_is_cut),
		cmocka_unit_test(infos_and_places_come_back),
		cmocka_unit_test(names_come_back),
		cmocka_unit_test(unknown_definitions_are_passed_over),
		cmocka_unit_test(unknown_records_of_lanes_are_passed_over),
		cmocka_unit_test(events_of_unknown_functions_are_counted_and_passed_over),
		cmocka_unit_test(a_call_that_a_killed_process_was_in_comes_last),
		cmocka_unit_test(a_call_that_returned_is_not_unfinished),
		cmocka_unit_test(no_call_is_unfinished_in_a_trace_that_ended),
		cmocka_unit_test(an_open_call_outlives_the_block_it_began_in),
		cmocka_unit_test(a_call_stays_open_while_others_are_made_in_it),
		cmocka_unit_test(a_call_that_was_jumped_out_of_is_over),
		cmocka_unit_test(a_trace_cut_anywhere_still_reads_up_to_there),
		cmocka_unit_test(a_running_trace_cut_anywhere_still_reads_up_to_there),
		cmocka_unit_test(each_lane_of_a_trace_cut_anywhere_still_reads_up_to_there),
		cmocka_unit_test(a_hole_costs_neither_time_nor_memory),
		cmocka_unit_test(flipped_bytes_in_a_sealed_block_are_noticed),
		cmocka_unit_test(a_block_that_is_gone_is_noticed),
		cmocka_unit_test(any_changed_byte_is_survived),
		cmocka_unit_test(what_is_no_trace_is_refused_with_a_sentence),
		cmocka_unit_test(claimed_sizes_and_counts_cost_no_memory),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
