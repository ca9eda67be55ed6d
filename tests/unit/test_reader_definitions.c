/* SPDX-License-Identifier: MIT */
/* test_reader_definitions.c - modules, stacks and names round trip; unknown records are skipped. */
#include "test_reader.h"

static const struct gt_trace_frame *frame(struct gt_reader *r, uint32_t stack, uint32_t index)
{
	static struct gt_trace_frame frames[GT_STACK_FRAMES_MAX];
	const struct gt_definitions *d = gt_reader_definitions(r);

	assert_in_range(stack, 1, d->stack_count);
	assert_true(index < gt_definitions_stack(d, stack, frames));
	return &frames[index];
}

static void frames_belong_to_the_module_mapped_at_their_time(void **state)
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

static void the_later_of_two_modules_at_one_address_counts(void **state)
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

static void modules_round_trip_with_everything_that_identifies_them(void **state)
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

static void a_stack_with_too_many_frames_is_cut(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	uint64_t frames[GT_STACK_FRAMES_MAX + 10];
	struct gt_trace_frame found[GT_STACK_FRAMES_MAX];
	const struct gt_definitions *d;
	struct gt_reader *r;

	for (size_t i = 0; i < GT_STACK_FRAMES_MAX + 10; i++)
		frames[i] = 0x400000 + i * 16;
	assert_int_equal(gt_writer_stack(w, frames, GT_STACK_FRAMES_MAX + 10), 1);
	end_writer(w);
	r = open_reader(path);
	d = gt_reader_definitions(r);
	assert_int_equal(gt_definitions_stack(d, 1, found), GT_STACK_FRAMES_MAX);
	for (uint32_t i = 0; i < GT_STACK_FRAMES_MAX; i++)
		assert_int_equal(frame(r, 1, i)->address, frames[i]);
	gt_reader_close(r);
}

static void infos_and_places_round_trip(void **state)
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

static void names_round_trip(void **state)
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

static void unknown_definitions_are_skipped(void **state)
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

static void unknown_lane_records_are_skipped(void **state)
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

static void events_of_unknown_functions_are_counted_and_skipped(void **state)
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

		e = (struct gt_event){ .time_ns = i * 1000,
				       .handle = i * i,
				       .tid = 1,
				       .function = functions[i % 4],
				       .failed = i % 8 < 4 };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_belong_to_the_module_mapped_at_their_time),
		cmocka_unit_test(the_later_of_two_modules_at_one_address_counts),
		cmocka_unit_test(modules_round_trip_with_everything_that_identifies_them),
		cmocka_unit_test(a_stack_with_too_many_frames_is_cut),
		cmocka_unit_test(infos_and_places_round_trip),
		cmocka_unit_test(names_round_trip),
		cmocka_unit_test(unknown_definitions_are_skipped),
		cmocka_unit_test(unknown_lane_records_are_skipped),
		cmocka_unit_test(events_of_unknown_functions_are_counted_and_skipped),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
