/* SPDX-License-Identifier: MIT */
/* test_traced_python.c - records of Python become frames; a file's Python, whatever is in the file.
 */
#include "capture/ebpf/traced_python.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/ebpf/modules.h"

/* What a Python 3.12 exports: the executable of this test is one. */
#define EXPORT __attribute__((visibility("default")))
EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT void *PyModuleDef_Init(void *module);
extern EXPORT uint64_t PyCode_Type[4], _PyRuntime[300];
extern EXPORT const unsigned long Py_Version;

uint64_t PyCode_Type[4], _PyRuntime[300] = { 1 };
const unsigned long Py_Version = 0x030c01f0;

void *PyGILState_GetThisThreadState(void)
{
	return NULL;
}

void *PyModuleDef_Init(void *module)
{
	return module;
}

enum { INSIDE = 0x1000, OUTSIDE = 0x900000, PID = 0x7ffffff0 }; /* a pid that no process has */

static struct gt_image image;
static struct gt_mapped mapped = { .start = 0x1000, .size = 0x10000, .image = &image };
static struct gt_modules modules = { .list = &mapped, .count = 1 };

static int setup(void **state)
{
	image.python =
		(struct gt_python_image){ .has_python = true, .begin = 0x1000, .end = 0x2000 };
	assert_true(gt_python_layout_of(&image.python.layout, 12, NULL));
	*state = NULL;
	return 0;
}

static int teardown(void **state)
{
	gt_traced_python_free(*state);
	return 0;
}

static void put_str(struct gt_probe_python_str *to, const char *text)
{
	to->length = to->kept = (uint32_t)strlen(text);
	to->state = (1u | 1u << 3 | 1u << 4) << 2;
	memcpy(to->raw, text, to->kept);
}

struct code_record {
	struct gt_probe_python_code code;
	uint8_t lines[2];
};

/* Its first eight instructions are two lines below its first. */
static struct code_record code_of(uint64_t code, uint64_t identity, const char *name)
{
	struct code_record r = {
		.code = { .head = { .kind = GT_PYTHON_CODE, .pid = PID, .tid = 1 },
			  .code = code,
			  .identity = identity,
			  .first_line = 10,
			  .line_bytes = 2 },
		.lines = { 0xef, 4 },
	};

	put_str(&r.code.file, "file.py");
	put_str(&r.code.name, name);
	return r;
}

struct stack_record {
	struct gt_probe_python_stack stack;
	struct gt_probe_python_frame frames[3];
};

static struct stack_record stack_of(uint64_t begun_ns, uint64_t count)
{
	struct stack_record r = {
		.stack = { .head = { .kind = GT_PYTHON_STACK, .pid = PID, .tid = 1 },
			   .begun_ns = begun_ns,
			   .count = count },
	};

	for (unsigned i = 0; i < 3; i++)
		r.frames[i] = (struct gt_probe_python_frame){ .code = 0x5000 + 0x100 * i,
							      .instruction = 0x50c4 + 0x100 * i,
							      .identity = 7 };
	return r;
}

static void take(void **state, const void *record, size_t size)
{
	gt_traced_python_take((struct gt_traced_python **)state, &modules, PID, record, size);
}

static size_t merge(void **state, uint64_t begun_ns, uint64_t frames[8])
{
	const uint64_t native[] = { OUTSIDE, INSIDE, OUTSIDE };

	memcpy(frames, native, sizeof native);
	return gt_traced_python_merge(*state, NULL, 1, begun_ns, frames, 3, 8);
}

static void assert_text(void **state, uint64_t frame, const char *name, unsigned line)
{
	const struct gt_text_frame *text = gt_traced_python_text(*state, frame);

	assert_non_null(text);
	assert_string_equal(text->function, name);
	assert_string_equal(text->file, *name == '?' ? "" : "file.py");
	assert_int_equal(text->line, line);
}

static void a_stack_takes_the_place_of_the_interpreter(void **state)
{
	struct code_record first = code_of(0x5000, 7, "inner"),
			   second = code_of(0x5100, 7, "outer");
	struct stack_record stack = stack_of(100, 2);
	uint64_t frames[8], again[8];

	take(state, &first, sizeof first);
	take(state, &second, sizeof second);
	take(state, &stack, sizeof stack);
	assert_int_equal(merge(state, 100, frames), 3);
	assert_int_equal(frames[0], OUTSIDE);
	assert_text(state, frames[1], "inner", 12);
	assert_text(state, frames[2], "outer", 12);
	/* once: the next call has a stack of its own */
	assert_int_equal(merge(state, 100, again), 3);
	assert_int_equal(again[1], INSIDE);
	take(state, &stack, sizeof stack);
	assert_int_equal(merge(state, 100, again), 3);
	assert_memory_equal(again, frames, 3 * sizeof *frames);
}

static void a_stack_whose_call_was_lost_is_no_other_calls(void **state)
{
	struct code_record code = code_of(0x5000, 7, "f");
	struct stack_record lost = stack_of(100, 1), next = stack_of(200, 1);
	uint64_t frames[8];

	take(state, &code, sizeof code);
	take(state, &lost, sizeof lost);
	assert_int_equal(merge(state, 200, frames), 3);
	take(state, &next, sizeof next);
	assert_int_equal(merge(state, 100, frames), 3);
	assert_int_equal(merge(state, 200, frames), 2);
	assert_text(state, frames[1], "f", 12);
}

static void new_code_at_an_old_address_has_its_own_name(void **state)
{
	struct code_record old = code_of(0x5000, 7, "old"), new = code_of(0x5000, 8, "new");
	struct stack_record stack = stack_of(100, 1);
	uint64_t frames[8];

	take(state, &old, sizeof old);
	take(state, &stack, sizeof stack);
	merge(state, 100, frames);
	assert_text(state, frames[1], "old", 12);
	take(state, &new, sizeof new);
	stack.frames[0].identity = 8;
	take(state, &stack, sizeof stack);
	merge(state, 100, frames);
	assert_text(state, frames[1], "new", 12);
}

static void two_places_in_a_line_are_one_frame(void **state)
{
	struct code_record code = code_of(0x5000, 7, "f");
	struct stack_record stack = stack_of(100, 1);
	uint64_t frames[8], other[8];

	take(state, &code, sizeof code);
	take(state, &stack, sizeof stack);
	merge(state, 100, frames);
	stack.frames[0].instruction += 2;
	take(state, &stack, sizeof stack);
	merge(state, 100, other);
	assert_int_equal(frames[1], other[1]);
}

static void code_that_is_gone_is_a_frame_without_a_name(void **state)
{
	struct stack_record stack = stack_of(100, 1);
	uint64_t frames[8];

	take(state, &stack, sizeof stack);
	assert_int_equal(merge(state, 100, frames), 2);
	assert_text(state, frames[1], "?", 0);
}

static void records_that_are_not_whole_are_ignored(void **state)
{
	struct code_record code = code_of(0x5000, 7, "f");
	struct stack_record stack = stack_of(100, 4);
	uint64_t frames[8];

	take(state, &stack, sizeof stack);
	assert_int_equal(merge(state, 100, frames), 3);
	stack.stack.count = UINT64_MAX / 8;
	take(state, &stack, sizeof stack);
	assert_int_equal(merge(state, 100, frames), 3);
	code.code.line_bytes = 3;
	take(state, &code, sizeof code.code + 2);
	code.code.line_bytes = UINT64_MAX;
	take(state, &code, sizeof code.code + 2);
	/* a str that claims to be longer than what was kept of it */
	code = code_of(0x5000, 7, "f");
	code.code.name.length = 400;
	code.code.file.kept = UINT32_MAX;
	take(state, &code, sizeof code);
	stack = stack_of(100, 1);
	take(state, &stack, sizeof stack);
	assert_int_equal(merge(state, 100, frames), 2);
	assert_text(state, frames[1], "?", 12);
}

static void any_bytes_do_no_harm(void **state)
{
	uint64_t frames[8];

	srand(1);
	for (int round = 0; round < 5000; round++) {
		size_t size = sizeof(struct gt_probe_python_head) + (size_t)(rand() % 1400);
		uint8_t *bytes = malloc(size);

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)(rand() % 4 ? 0 : rand());
		((struct gt_probe_python_head *)bytes)->kind = (uint32_t)(rand() % 2);
		((struct gt_probe_python_head *)bytes)->tid = 1;
		take(state, bytes, size);
		merge(state, 0, frames);
		free(bytes);
	}
}

/* An image of `size` bytes of a file. */
static struct gt_image *image_of(struct gt_images *images, const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	char path[64];
	struct stat st;
	struct gt_image *found;

	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fstat(fd, &st), 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	found = gt_images_get(
		images, &(struct gt_mapping){ .path = path, .inode = st.st_ino, .is_past = true },
		(uint32_t)getpid());
	close(fd);
	return found;
}

static void a_files_python_is_found_whatever_its_name(void **state)
{
	struct gt_images images = { 0 };
	struct gt_image *found = gt_images_get(
		&images, &(struct gt_mapping){ .path = (char *)"/proc/self/exe", .is_past = true },
		(uint32_t)getpid());
	struct gt_probe_python row;

	assert_non_null(found);
	assert_true(found->python.has_python && !found->python.is_unsupported);
	assert_int_equal(found->python.layout.minor, 12);
	assert_true(found->python.entries[0].function && found->python.entries[0].offset);
	assert_false(found->python.entries[1].function);
	assert_true(found->python.begin < found->python.end);
	assert_true(gt_python_image_row(&row, &found->python, 0x1000, 1));
	assert_int_equal(row.runtime, found->python.runtime + 0x1000);
	assert_int_equal(row.frame_bytes, 72);
	assert_int_equal(row.code_bytes, 144);
	gt_images_fini(&images);
}

/* Hash tables that point nowhere, chains without an end, sizes beyond the file. */
static void a_damaged_file_does_no_harm(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct gt_image *whole;
	struct gt_images images = { 0 };
	uint8_t *bytes;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	whole = image_of(&images, bytes, (size_t)st.st_size);
	assert_true(whole && whole->python.has_python);
	srand(2);
	for (int round = 0; round < 150; round++) {
		uint8_t *copy = malloc((size_t)st.st_size);
		/* the tables of symbols lie at the start, the dynamic section elsewhere */
		uint64_t from = round % 2 ? whole->dynamic.offset : 0;
		uint64_t most = round % 2 ? whole->dynamic.size : 8192;

		memcpy(copy, bytes, (size_t)st.st_size);
		for (int i = 0; i < 1 + round % 20; i++)
			copy[from + (uint64_t)rand() % most] = (uint8_t)rand();
		image_of(&images, copy, (size_t)st.st_size);
		free(copy);
	}
	free(bytes);
	gt_images_fini(&images);
}

int main(void)
{
#define WITH_STATE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_STATE(a_stack_takes_the_place_of_the_interpreter),
		WITH_STATE(a_stack_whose_call_was_lost_is_no_other_calls),
		WITH_STATE(new_code_at_an_old_address_has_its_own_name),
		WITH_STATE(two_places_in_a_line_are_one_frame),
		WITH_STATE(code_that_is_gone_is_a_frame_without_a_name),
		WITH_STATE(records_that_are_not_whole_are_ignored),
		WITH_STATE(any_bytes_do_no_harm),
		cmocka_unit_test(a_files_python_is_found_whatever_its_name),
		cmocka_unit_test(a_damaged_file_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
