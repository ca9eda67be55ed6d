/* SPDX-License-Identifier: MIT */
/* test_stack_texts.c - texts of stacks: each is that of its stack, and what is kept is bounded. */
#include "test_recording.h"

#include "export/stack_texts.h"

enum { LARGE_TEXT = 100000 };

static size_t rendered;

static void render_number(FILE *out, struct gt_frames *frames, uint32_t stack)
{
	(void)frames;
	rendered++;
	fprintf(out, "stack %u", stack);
}

static void render_much(FILE *out, struct gt_frames *frames, uint32_t stack)
{
	(void)frames;
	rendered++;
	fprintf(out, "%0*u", LARGE_TEXT, stack);
}

/* The texts of a recording of three processes, which nothing is read of. */
struct texts {
	struct events events;
	struct gt_recording *recording;
	struct gt_frames *frames;
	struct gt_stack_texts texts;
};

static struct texts *open_texts(gt_stack_render_fn *render)
{
	static const struct gt_frames_options nameless = { .no_symbols = true };
	struct texts *t = calloc(1, sizeof *t);

	assert_non_null(t);
	t->recording = open_recording(write_three(&t->events), 0);
	assert_int_equal(gt_frames_new(&t->frames, t->recording, &nameless), 0);
	t->texts.frames = t->frames;
	t->texts.render = render;
	rendered = 0;
	return t;
}

static void close_texts(struct texts *t)
{
	gt_stack_texts_fini(&t->texts);
	gt_frames_free(t->frames);
	gt_recording_close(t->recording);
	free(t->events.list);
	free(t);
}

static void assert_stack(struct texts *t, uint32_t stack)
{
	const struct gt_rendered *text = gt_stack_texts_get(&t->texts, 0, stack);
	char expected[32];
	int size = snprintf(expected, sizeof expected, "stack %u", stack);

	assert_int_equal(text->size, size);
	assert_memory_equal(text->bytes, expected, text->size);
}

static void a_text_is_rendered_once(void **state)
{
	struct texts *t = open_texts(render_number);

	(void)state;
	for (int i = 0; i < 3; i++)
		for (uint32_t stack = 0; stack < GT_STACK_TEXTS_KEPT; stack++)
			assert_stack(t, stack);
	assert_int_equal(rendered, GT_STACK_TEXTS_KEPT);
	close_texts(t);
}

static void more_stacks_than_are_kept_have_their_own_texts(void **state)
{
	struct texts *t = open_texts(render_number);

	(void)state;
	for (int i = 0; i < 2; i++)
		for (uint32_t stack = 0; stack < 3 * GT_STACK_TEXTS_KEPT; stack++) {
			assert_stack(t, stack);
			assert_stack(t, 3 * GT_STACK_TEXTS_KEPT - stack);
		}
	close_texts(t);
}

static void large_texts_are_kept_up_to_a_number_of_bytes(void **state)
{
	struct texts *t = open_texts(render_much);

	(void)state;
	for (uint32_t stack = 1; stack < 1000; stack++) {
		const struct gt_rendered *text = gt_stack_texts_get(&t->texts, 0, stack);
		size_t kept = 0;

		assert_int_equal(text->size, LARGE_TEXT);
		assert_int_equal(strtoul(text->bytes, NULL, 10), stack);
		for (size_t i = 0; i < GT_STACK_TEXTS_KEPT; i++)
			kept += t->texts.kept[i].text.size;
		assert_int_equal(t->texts.bytes, kept);
		assert_true(kept <= GT_STACK_TEXTS_BYTES + LARGE_TEXT);
	}
	close_texts(t);
}

static void a_further_process_of_the_same_program_changes_no_text(void **state)
{
	struct texts *t = open_texts(render_number);

	(void)state;
	for (uint32_t process = 0; process < 3; process++)
		gt_stack_texts_get(&t->texts, process, 7);
	assert_int_equal(rendered, 1);
	close_texts(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_rendered_once),
		cmocka_unit_test(more_stacks_than_are_kept_have_their_own_texts),
		cmocka_unit_test(large_texts_are_kept_up_to_a_number_of_bytes),
		cmocka_unit_test(a_further_process_of_the_same_program_changes_no_text),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
