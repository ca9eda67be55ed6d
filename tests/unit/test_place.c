/* SPDX-License-Identifier: MIT */
/* test_place.c - how a stack is said, and which stacks are one place. */
#include "test_recording.h"

#include <locale.h>

#include "judge/site_key.h"
#include "ledger/ledger.h"
#include "replay/place.h"

#define APP "/work/app/bin/app"
#define LIB "/usr/lib/libgpu.so.1"

/* Innermost first; ended by one without a module. */
struct call {
	const char *function, *file;
	uint32_t line;
	const char *module;
};

enum { STACKS_MAX = 8 };

/* A recording whose event i has stack i. */
struct fixture {
	struct gt_recording *recording;
	struct gt_frames *frames;
	uint32_t stacks[STACKS_MAX]; /* the recording's numbers */
};

static uint32_t write_stack(struct process *p, const struct call *calls)
{
	uint64_t frames[16];
	size_t count = 0;

	for (; calls[count].module; count++)
		frames[count] = gt_writer_text_frame(
			p->writer, &(struct gt_text_frame){ .function = calls[count].function,
							    .file = calls[count].file,
							    .line = calls[count].line,
							    .module = calls[count].module });
	return gt_writer_stack(p->writer, frames, count);
}

static void open_fixture(struct fixture *f, const struct call *const *stacks, size_t count,
			 const struct gt_frames_options *options)
{
	const char *folder = fresh_folder();
	struct gt_event event;
	struct process p;
	uint32_t process;

	start_process(&p, folder, 11);
	gt_writer_info(p.writer, "program", APP, strlen(APP));
	gt_writer_info(p.writer, "directory", "/work/app", strlen("/work/app"));
	for (size_t i = 0; i < count; i++)
		gt_lane_event(p.lane, &(struct gt_event){ .time_ns = gt_now_ns(),
							  .handle = i + 1,
							  .tid = 11,
							  .stack = write_stack(&p, stacks[i]),
							  .function = GT_FN_clCreateUserEvent });
	end_writer(p.writer);
	f->recording = open_recording(folder, 0);
	assert_int_equal(gt_frames_new(&f->frames, f->recording, options), 0);
	while (gt_recording_next(f->recording, &event, &process))
		f->stacks[event.handle - 1] = event.stack;
}

static void close_fixture(struct fixture *f)
{
	gt_frames_free(f->frames);
	gt_recording_close(f->recording);
}

static void assert_text(struct fixture *f, size_t stack, const char *expected)
{
	char *text = gt_place_text(f->frames, f->stacks[stack], true);

	assert_string_equal(text, expected);
	free(text);
}

static const struct gt_frames_options nameless = { .no_symbols = true };

static void a_place_is_the_innermost_own_frame_and_what_it_called(void **state)
{
	static const struct call direct[] = { { "load", "/work/app/src/load.c", 7, APP },
					      { "main", "/work/app/src/main.c", 3, APP },
					      { 0 } };
	static const struct call deep[] = { { "gpu::inner", NULL, 0, LIB },
					    { "gpu::middle<int>", NULL, 0, LIB },
					    { "gpu::outer", NULL, 0, LIB },
					    { "main", "/work/app/src/main.c", 4, APP },
					    { 0 } };
	static const struct call stranger[] = { { "gpu::inner", NULL, 0, LIB },
						{ "gpu::outer", NULL, 0, LIB },
						{ 0 } };
	static const struct call stl[] = { { "std::make<int>", "/usr/include/c++/12/new", 1, APP },
					   { "main", "/work/app/src/main.c", 5, APP },
					   { 0 } };
	static const struct call nobody[] = { { NULL, NULL, 0, LIB }, { 0 } };
	static const struct call within[] = { { NULL, NULL, 0, LIB },
					      { "gpu::create", NULL, 0, LIB },
					      { 0 } };
	const struct call *const all[] = { direct, deep, stranger, stl, nobody, within };
	struct fixture f;
	char *none;

	open_fixture(&f, all, 6, &nameless);
	assert_text(&f, 0, "load src/load.c:7");
	assert_text(&f, 1, "main src/main.c:4 via gpu::outer › … › gpu::inner");
	assert_text(&f, 2, "gpu::inner libgpu.so.1");
	assert_text(&f, 3, "main src/main.c:5 via std::make");
	assert_text(&f, 4, "libgpu.so.1");
	assert_text(&f, 5, "gpu::create libgpu.so.1");
	none = gt_place_text(f.frames, 0, true);
	assert_string_equal(none, "(no stack)");
	free(none);
	close_fixture(&f);
}

#define MAKE(arguments)                                                                            \
	{                                                                                          \
		"make<" arguments ">", "/work/app/src/make.h", 2, APP                              \
	}

static void a_place_on_another_thread_says_so(void **state)
{
	const struct call stack[] = {
		{ "c10::alloc_block", NULL, 0, "/usr/lib/libc10_cuda.so" },
		{ "torch::autograd::Engine::thread_main", NULL, 0, "/usr/lib/libtorch_cpu.so" },
		{ GT_BACKWARD_BORDER, NULL, 0, GT_AUTOGRAD },
		{ "backward", "/usr/lib/python3/dist-packages/torch/_tensor.py", 488, GT_PYTHON },
		{ "step", "/work/app/train.py", 42, GT_PYTHON },
		{ 0 }
	};
	const struct call *const stacks[] = { stack };
	struct fixture f;

	open_fixture(&f, stacks, 1, &nameless);
	assert_text(&f, 0,
		    "step train.py:42 via backward on another thread › … › c10::alloc_block");
	close_fixture(&f);
}

static void stacks_with_the_same_words_are_one_place(void **state)
{
	static const struct call of_int[] = { MAKE("int"),
					      { "main", "/work/app/src/main.c", 3, APP },
					      { 0 } };
	static const struct call of_float[] = { MAKE("float"),
						{ "main", "/work/app/src/main.c", 3, APP },
						{ 0 } };
	/* what a library does in between does not matter; what it is called for, does */
	static const struct call grown[] = { MAKE("int"),
					     { "std::grow", "/usr/include/c++/12/vector", 9, APP },
					     { "main", "/work/app/src/main.c", 3, APP },
					     { 0 } };
	static const struct call other_line[] = { MAKE("int"),
						  { "main", "/work/app/src/main.c", 4, APP },
						  { 0 } };
	static const struct call via[] = { { "gpu::take", NULL, 0, LIB },
					   MAKE("int"),
					   { "main", "/work/app/src/main.c", 3, APP },
					   { 0 } };
	const struct call *const all[] = { of_int, of_float, grown, other_line, via };
	struct gt_frames_options by_function = { .no_symbols = true, .by = GT_BY_FUNCTION };
	struct gt_frames_options by_stack = { .no_symbols = true, .by = GT_BY_STACK };
	struct fixture f;
	uint64_t first;

	open_fixture(&f, all, 5, &nameless);
	first = gt_place_key(f.frames, f.stacks[0]);
	assert_true(first);
	assert_int_equal(gt_place_key(f.frames, f.stacks[0]), first);
	assert_int_equal(gt_place_key(f.frames, f.stacks[1]), first);
	assert_int_equal(gt_place_key(f.frames, f.stacks[2]), first);
	assert_int_not_equal(gt_place_key(f.frames, f.stacks[3]), first);
	assert_int_not_equal(gt_place_key(f.frames, f.stacks[4]), first);
	assert_int_equal(gt_place_key(f.frames, 0), 0);
	close_fixture(&f);
	open_fixture(&f, all, 5, &by_function);
	for (size_t i = 1; i < 5; i++)
		assert_int_equal(gt_place_key(f.frames, f.stacks[i]),
				 gt_place_key(f.frames, f.stacks[0]));
	assert_text(&f, 4, "make src/make.h");
	close_fixture(&f);
	open_fixture(&f, all, 5, &by_stack);
	for (size_t i = 1; i < 5; i++)
		assert_int_not_equal(gt_place_key(f.frames, f.stacks[i]),
				     gt_place_key(f.frames, f.stacks[0]));
	close_fixture(&f);
}

static void callers_tell_the_places_of_a_list_apart(void **state)
{
	static const struct call a[] = { { "make", "/work/app/src/make.c", 2, APP },
					 { "helper", "/work/app/src/make.c", 9, APP },
					 { "test_a", "/work/app/src/test.c", 3, APP },
					 { 0 } };
	static const struct call b[] = { { "make", "/work/app/src/make.c", 2, APP },
					 { "helper", "/work/app/src/make.c", 9, APP },
					 { "test_b", "/work/app/src/test.c", 4, APP },
					 { 0 } };
	static const struct call c[] = { { "make", "/work/app/src/make.c", 2, APP },
					 { "main", "/work/app/src/main.c", 5, APP },
					 { 0 } };
	static const struct call d[] = { { "once", "/work/app/src/make.c", 30, APP },
					 { "main", "/work/app/src/main.c", 6, APP },
					 { 0 } };
	const struct call *const all[] = { a, b, c, d };
	struct fixture f;

	open_fixture(&f, all, 4, &nameless);
	assert_text(&f, 0, "make src/make.c:2");
	gt_places_list(f.frames, f.stacks, 4);
	assert_text(&f, 0, "make src/make.c:2 < helper src/make.c:9 < test_a src/test.c:3");
	assert_text(&f, 1, "make src/make.c:2 < helper src/make.c:9 < test_b src/test.c:4");
	assert_text(&f, 2, "make src/make.c:2 < main src/main.c:5");
	assert_text(&f, 3, "once src/make.c:30");
	/* in another list they need fewer */
	gt_places_list(f.frames, f.stacks + 1, 3);
	assert_text(&f, 1, "make src/make.c:2 < helper src/make.c:9");
	gt_places_list(f.frames, f.stacks, 1);
	assert_text(&f, 0, "make src/make.c:2");
	/* twice in a list, as of two kinds of resources: nothing tells them apart */
	gt_places_list(f.frames, (uint32_t[]){ f.stacks[0], f.stacks[0] }, 2);
	assert_text(&f, 0, "make src/make.c:2");
	close_fixture(&f);
}

#define WALK(line)                                                                                 \
	{                                                                                          \
		"walk", "/work/app/src/tree.c", line, APP                                          \
	}

/* How deep a tree is walked says nothing; from which line, does. */
static void recursion_is_said_once_at_any_depth(void **state)
{
	static const struct call leaf[] = { { "load", "/work/app/src/load.c", 7, APP },
					    WALK(12),
					    { "main", "/work/app/src/main.c", 3, APP },
					    { 0 } };
	static const struct call deep[] = { { "load", "/work/app/src/load.c", 7, APP },
					    WALK(12),
					    WALK(12),
					    { "each", "/usr/include/c++/12/algorithm", 9, APP },
					    WALK(12),
					    { "main", "/work/app/src/main.c", 3, APP },
					    { 0 } };
	static const struct call right[] = { { "load", "/work/app/src/load.c", 7, APP },
					     WALK(12),
					     WALK(13),
					     { "main", "/work/app/src/main.c", 3, APP },
					     { 0 } };
	static const struct call itself[] = {
		WALK(12), WALK(12), { "main", "/work/app/src/main.c", 3, APP }, { 0 }
	};
	static const struct call once[] = { WALK(12),
					    { "main", "/work/app/src/main.c", 3, APP },
					    { 0 } };
	const struct call *const all[] = { leaf, deep, right, itself, once };
	struct fixture f;
	struct gt_view v;
	struct gt_site sites[5];

	open_fixture(&f, all, 5, &nameless);
	v = (struct gt_view){ .recording = f.recording, .frames = f.frames };
	assert_int_equal(gt_place_key(f.frames, f.stacks[0]), gt_place_key(f.frames, f.stacks[1]));
	assert_int_not_equal(gt_place_key(f.frames, f.stacks[0]),
			     gt_place_key(f.frames, f.stacks[2]));
	assert_int_equal(gt_place_key(f.frames, f.stacks[3]), gt_place_key(f.frames, f.stacks[4]));
	gt_places_list(f.frames, f.stacks + 1, 2);
	assert_text(&f, 1, "load src/load.c:7 < walk src/tree.c:12 < main src/main.c:3");
	assert_text(&f, 2, "load src/load.c:7 < walk src/tree.c:12 < walk src/tree.c:13");
	for (size_t i = 0; i < 5; i++)
		sites[i] = (struct gt_site){ .stack = f.stacks[i] };
	/* another recording recognises them without lines */
	assert_int_equal(gt_site_key(&v, &sites[3], 0, GT_BY_LINE),
			 gt_site_key(&v, &sites[4], 0, GT_BY_LINE));
	assert_int_equal(gt_site_key(&v, &sites[0], 0, GT_BY_LINE),
			 gt_site_key(&v, &sites[2], 0, GT_BY_LINE));
	assert_int_not_equal(gt_site_key(&v, &sites[0], 0, GT_BY_LINE),
			     gt_site_key(&v, &sites[4], 0, GT_BY_LINE));
	assert_int_not_equal(gt_site_key(&v, &sites[3], 0, GT_BY_STACK),
			     gt_site_key(&v, &sites[4], 0, GT_BY_STACK));
	close_fixture(&f);
}

static void the_frame_to_point_at_has_a_line(void **state)
{
	static const struct call bare[] = { { "load", NULL, 0, APP },
					    { "main", "/work/app/src/main.c", 3, APP },
					    { 0 } };
	static const struct call none[] = { { "load", NULL, 0, APP }, { 0 } };
	const struct call *const all[] = { bare, none };
	struct gt_frame frame;
	struct fixture f;

	open_fixture(&f, all, 2, &nameless);
	assert_true(gt_place_frame(f.frames, f.stacks[0], &frame));
	assert_int_equal(frame.line, 3);
	assert_false(gt_place_frame(f.frames, f.stacks[1], &frame));
	assert_false(gt_place_frame(f.frames, 0, &frame));
	close_fixture(&f);
}

/* What of a place fits into so many columns. */
static void assert_fits(struct fixture *f, size_t stack, unsigned columns, const char *expected)
{
	struct gt_view v = { .recording = f->recording, .frames = f->frames };
	struct gt_style style = { .utf8 = true, .width = 200 };
	struct gt_printer p;
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	gt_print_init(&p, out, &style);
	gt_place_put(&p, &v, f->stacks[stack], columns);
	gt_memstream_close(out);
	assert_string_equal(text, expected);
	free(text);
}

static void what_says_least_is_left_out_first(void **state)
{
	static const struct call a[] = { { "gpu::take", NULL, 0, LIB },
					 { "make_all", "/work/app/src/deep/make.c", 2, APP },
					 { "helper", "/work/app/src/deep/make.c", 9, APP },
					 { "test_a", "/work/app/src/test.c", 3, APP },
					 { 0 } };
	static const struct call b[] = { { "gpu::take", NULL, 0, LIB },
					 { "make_all", "/work/app/src/deep/make.c", 2, APP },
					 { "helper", "/work/app/src/deep/make.c", 9, APP },
					 { "test_b", "/work/app/src/test.c", 4, APP },
					 { 0 } };
	const struct call *const all[] = { a, b };
	struct fixture f;

	open_fixture(&f, all, 2, &nameless);
	gt_places_list(f.frames, f.stacks, 2);
	assert_fits(&f, 0, 100,
		    "make_all src/deep/make.c:2 via gpu::take < helper src/deep/make.c:9 < test_a "
		    "src/test.c:3");
	assert_fits(&f, 0, 70, "make_all src/deep/make.c:2 via gpu::take < helper:9 < test_a:3");
	assert_fits(&f, 0, 54, "make_all …/deep/make.c:2 via gpu::take < … < test_a:3");
	assert_fits(&f, 0, 45, "make_all …/make.c:2 < helper:9 < test_a:3");
	assert_fits(&f, 0, 34, "make_all …/make.c:2 < … < test_a:3");
	assert_fits(&f, 0, 33, "make_all …/make.c:2 < test_a:3");
	assert_fits(&f, 0, 20, "make_all …/make.c:2");
	close_fixture(&f);
}

static void what_the_compiler_calls_a_rust_program_by_is_nobodys(void **state)
{
	static const struct call rust[] = {
		{ "app::main", "/work/app/src/main.rs", 3, APP },
		{ "std::rt::lang_start_internal", "/rustc/abc/library/std/src/rt.rs", 9, APP },
		{ "std::rt::lang_start", "/rustc/abc/library/std/src/rt.rs", 205, APP },
		{ "main", NULL, 0, APP },
		{ "__libc_start_main", NULL, 0, "/usr/lib/libc.so.6" },
		{ 0 }
	};
	static const struct call c[] = { { "make", NULL, 0, APP },
					 { "main", NULL, 0, APP },
					 { 0 } };
	const struct call *const all[] = { rust, c };
	struct gt_place place;
	struct fixture f;

	open_fixture(&f, all, 2, &nameless);
	gt_place_init(&place, f.frames, f.stacks[0]);
	assert_int_equal(place.caller_count, 0);
	gt_place_fini(&place);
	gt_place_init(&place, f.frames, f.stacks[1]);
	assert_int_equal(place.caller_count, 1);
	gt_place_fini(&place);
	close_fixture(&f);
}

enum { PARTS = 5 };

/*
 * Reads a recording of two processes that all have the same stack, or none: the stack of each
 * event, by its handle. Handle 3 is of a second thread, 4 of a second process, 5 is a release.
 */
static struct gt_frames *read_parts(struct gt_recording *r, enum gt_by by, bool compares,
				    uint32_t stacks[PARTS + 1])
{
	const struct gt_frames_options options = { .no_symbols = true,
						   .by = by,
						   .compares = compares };
	struct gt_frames *frames;
	struct gt_event event;
	uint32_t process;

	gt_recording_part_stacks(r, gt_by_part(by));
	assert_int_equal(gt_frames_new(&frames, r, &options), 0);
	while (gt_recording_next(r, &event, &process))
		stacks[event.handle] = event.stack;
	return frames;
}

static void write_parts(const char *folder)
{
	static const struct call load[] = { { "load", "/work/app/src/load.c", 7, APP }, { 0 } };

	for (uint32_t pid = 11; pid <= 12; pid++) {
		struct gt_lane *second;
		struct gt_event event = { .function = GT_FN_clCreateUserEvent };
		struct process p;

		start_process(&p, folder, pid);
		gt_writer_info(p.writer, "program", APP, strlen(APP));
		gt_writer_info(p.writer, "directory", "/work/app", strlen("/work/app"));
		event.stack = write_stack(&p, load);
		event.tid = pid;
		event.time_ns = gt_now_ns();
		event.handle = pid == 11 ? 1 : 4;
		gt_lane_event(p.lane, &event);
		if (pid == 11) {
			event.handle = 2;
			gt_lane_event(p.lane, &event);
			second = gt_lane_acquire(p.writer, 99, "worker");
			event.handle = 3;
			gt_lane_event(second, &event);
			event.handle = 5;
			event.function = GT_FN_clReleaseEvent;
			gt_lane_event(p.lane, &event);
		}
		end_writer(p.writer);
	}
}

static void assert_part(struct gt_frames *f, uint32_t stack, const char *expected)
{
	char *text = gt_place_text(f, stack, true);

	assert_string_equal(text, expected);
	free(text);
}

static void a_part_of_a_stack_is_a_place_with_its_frames(void **state)
{
	const char *folder = fresh_folder();
	uint32_t s[PARTS + 1] = { 0 };
	const struct gt_frame *list;
	struct gt_recording *r;
	struct gt_frames *f;

	write_parts(folder);
	r = open_recording(folder, 0);
	f = read_parts(r, GT_BY_LINE, false, s);
	assert_true(s[1] == s[2] && s[2] == s[3] && s[3] == s[4]);
	assert_int_equal(gt_frames_part_key(f, s[1]), 0);
	gt_frames_free(f);
	gt_recording_close(r);

	r = open_recording(folder, 0);
	f = read_parts(r, GT_BY_PROCESS, false, s);
	assert_true(s[1] == s[2] && s[2] == s[3] && s[3] != s[4]);
	assert_part(f, s[1], "app, pid 11");
	assert_part(f, s[4], "app, pid 12");
	assert_int_not_equal(gt_place_key(f, s[1]), gt_place_key(f, s[4]));
	assert_int_equal(gt_frames_get(f, s[4], &list), 1);
	assert_string_equal(list->function, "load");
	/* what ends something is said by its line */
	assert_part(f, s[5], "load src/load.c:7");
	assert_int_equal(gt_frames_whole(f, s[1]), s[5]);
	gt_frames_free(f);
	gt_recording_close(r);

	r = open_recording(folder, 0);
	f = read_parts(r, GT_BY_THREAD, false, s);
	assert_true(s[1] == s[2] && s[2] != s[3]);
	assert_part(f, s[3], "thread 99 of app, pid 11");
	gt_frames_free(f);
	gt_recording_close(r);

	/* between recordings pids tell nothing */
	r = open_recording(folder, 0);
	f = read_parts(r, GT_BY_PROCESS, true, s);
	assert_part(f, s[4], "app");
	assert_int_equal(gt_place_key(f, s[1]), gt_place_key(f, s[4]));
	gt_frames_free(f);
	gt_recording_close(r);

	r = open_recording(folder, 0);
	f = read_parts(r, GT_BY_DEVICE, false, s);
	assert_part(f, s[1], "(no device)");
	gt_frames_free(f);
	gt_recording_close(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_the_innermost_own_frame_and_what_it_called),
		cmocka_unit_test(a_place_on_another_thread_says_so),
		cmocka_unit_test(stacks_with_the_same_words_are_one_place),
		cmocka_unit_test(callers_tell_the_places_of_a_list_apart),
		cmocka_unit_test(recursion_is_said_once_at_any_depth),
		cmocka_unit_test(the_frame_to_point_at_has_a_line),
		cmocka_unit_test(what_says_least_is_left_out_first),
		cmocka_unit_test(what_the_compiler_calls_a_rust_program_by_is_nobodys),
		cmocka_unit_test(a_part_of_a_stack_is_a_place_with_its_frames),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
