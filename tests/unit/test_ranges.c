/* SPDX-License-Identifier: MIT */
/* test_ranges.c - the open ranges of threads and of the process, and the phase that they make. */
#include "test_recording.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "guest/ranges.h"

enum { THREADS = 4 };

static uint32_t text(const char *words)
{
	return gt_range_text(words, strlen(words));
}

static int push(const char *name, const char *domain)
{
	return gt_range_push(
		&(struct gt_range_name){ .text = text(name), .domain = domain ? text(domain) : 0 });
}

static int pop(const char *domain)
{
	return gt_range_pop(domain ? text(domain) : 0);
}

/* A trace to ask for phases in, and what has been written to it. */
struct fixture {
	const char *folder;
	struct process process;
	uint32_t generation;
	size_t count;
};

static void begin(struct fixture *f)
{
	static uint32_t generation;

	*f = (struct fixture){ .folder = fresh_folder(), .generation = ++generation };
	start_process(&f->process, f->folder, 11);
}

/* Writes an event in the thread's phase. */
static void mark(struct fixture *f)
{
	gt_lane_event(
		f->process.lane,
		&(struct gt_event){ .time_ns = gt_now_ns(),
				    .handle = ++f->count,
				    .tid = 11,
				    .phase = gt_ranges_phase(f->process.writer, f->generation),
				    .function = GT_FN_clCreateUserEvent });
}

/* The phases of all marks. */
static void expect(struct fixture *f, const char *const *phases)
{
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;

	end_writer(f->process.writer);
	r = open_recording(f->folder, 0);
	for (; *phases; phases++) {
		char *found;

		assert_int_equal(gt_recording_next(r, &e, &process), 1);
		found = gt_recording_phase_text(r, e.phase);
		assert_string_equal(found, *phases);
		free(found);
	}
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	gt_recording_close(r);
}

#define EXPECT(f, ...) expect(f, (const char *const[]){ __VA_ARGS__, NULL })

static void equal_texts_have_one_number(void **state)
{
	char words[] = "a text", again[] = "a text";
	size_t size;

	assert_int_equal(text(words), text(again));
	again[0] = 'b';
	assert_int_not_equal(text(words), text(again));
	assert_string_equal(gt_range_text_get(text(words), &size), "a text");
	assert_int_equal(size, 6);
	assert_int_equal(text(""), 0);
}

static void ranges_nest(void **state)
{
	struct fixture f;

	begin(&f);
	mark(&f);
	assert_int_equal(push("train", NULL), 0);
	mark(&f);
	assert_int_equal(push("forward", NULL), 1);
	mark(&f);
	mark(&f);
	assert_int_equal(pop(NULL), 1);
	mark(&f);
	assert_int_equal(pop(NULL), 0);
	assert_int_equal(pop(NULL), -1);
	mark(&f);
	EXPECT(&f, "(no phase)", "train", "train > forward", "train > forward", "train",
	       "(no phase)");
}

static void domains_close_their_own_ranges(void **state)
{
	struct fixture f;

	begin(&f);
	push("a", NULL);
	push("b", "LIB");
	push("c", NULL);
	mark(&f);
	pop("LIB");
	mark(&f);
	assert_int_equal(pop("LIB"), -1);
	pop(NULL);
	mark(&f);
	pop(NULL);
	mark(&f);
	EXPECT(&f, "a > LIB:b > c", "a > c", "a", "(no phase)");
}

static void ranges_of_the_process_lie_around_the_others(void **state)
{
	struct gt_range_name job = { .text = text("job") }, task = { .text = text("task") };
	struct fixture f;
	uint64_t first, second;

	begin(&f);
	push("own", NULL);
	first = gt_range_start(&job, 0);
	second = gt_range_start(&task, 0x1234);
	assert_int_equal(second, 0x1234);
	mark(&f);
	gt_range_end(first);
	mark(&f);
	gt_range_end(first); /* again */
	gt_range_end(second);
	mark(&f);
	pop(NULL);
	mark(&f);
	EXPECT(&f, "job > task > own", "task > own", "own", "(no phase)");
}

static void more_ranges_of_the_process_than_there_is_room_for_do_no_harm(void **state)
{
	struct gt_range_name job = { .text = text("job") };
	uint64_t ids[200];
	struct fixture f;

	begin(&f);
	for (size_t i = 0; i < 200; i++)
		ids[i] = gt_range_start(&job, 0);
	for (size_t i = 1; i < 200; i++)
		assert_int_not_equal(ids[i], ids[i - 1]);
	mark(&f);
	for (size_t i = 0; i < 200; i++)
		gt_range_end(ids[i]);
	mark(&f);
	end_writer(f.process.writer);
}

static void deeper_ranges_count_as_the_deepest(void **state)
{
	struct fixture f;

	begin(&f);
	push("top", NULL);
	for (int i = 0; i < 500; i++)
		assert_int_equal(push("r", NULL), i + 1);
	for (int i = 500; i > 0; i--)
		assert_int_equal(pop(NULL), i);
	mark(&f);
	pop(NULL);
	EXPECT(&f, "top");
}

static struct gt_range_name shared_names[64];
static uint32_t seen[THREADS][64];
static _Atomic int ready;

static void *number_texts(void *which)
{
	uint32_t(*numbers)[64] = which;
	char words[32];

	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < THREADS)
		;
	for (int i = 0; i < 64; i++) {
		snprintf(words, sizeof words, "of all threads, %d", i);
		(*numbers)[i] = text(words);
		push(words, NULL);
	}
	for (int i = 0; i < 64; i++)
		pop(NULL);
	for (int i = 0; i < 2000; i++)
		gt_range_end(gt_range_start(&shared_names[i % 64], 0));
	return NULL;
}

static void threads_that_name_the_same_at_once_get_the_same_numbers(void **state)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < 64; i++)
		shared_names[i].text = text("of the process");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, number_texts, seen[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < THREADS; i++)
		assert_memory_equal(seen[i], seen[0], sizeof seen[0]);
}

static void *ask_in_another_thread(void *fixture)
{
	struct fixture *f = fixture;

	push("worker", NULL);
	mark(f);
	return NULL; /* its ranges end with it */
}

static void threads_have_ranges_of_their_own(void **state)
{
	struct fixture f;
	pthread_t thread;

	begin(&f);
	push("main", NULL);
	for (int i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, ask_in_another_thread, &f);
		pthread_join(thread, NULL);
	}
	mark(&f);
	pop(NULL);
	EXPECT(&f, "worker", "worker", "main");
}

static void another_trace_gets_all_definitions_again(void **state)
{
	struct fixture first, second;

	push("a", NULL);
	push("b", NULL);
	begin(&first);
	mark(&first);
	EXPECT(&first, "a > b");
	begin(&second);
	mark(&second);
	pop(NULL);
	mark(&second);
	pop(NULL);
	EXPECT(&second, "a > b", "a");
}

/* In a child of its own: the tables stay full. */
static void full_tables_are_told_once(void **state)
{
	struct fixture f;
	int status;
	pid_t child;

	begin(&f);
	child = fork();
	if (!child) {
		char words[64];
		uint32_t last = 0;

		for (int i = 0; i < 100000; i++) {
			snprintf(words, sizeof words, "a name of its own, %d", i);
			last = text(words);
			push(words, NULL);
			pop(NULL);
		}
		push("known", NULL);
		push("unknown", NULL);
		mark(&f);
		mark(&f);
		pop(NULL);
		pop(NULL);
		end_writer(f.process.writer);
		_exit(last == GT_RANGE_NO_ROOM ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	f.count = 2;
	gt_writer_abandon(f.process.writer);
	{
		struct gt_recording *r = open_recording(f.folder, 0);
		struct gt_event e;
		uint32_t process;

		while (gt_recording_next(r, &e, &process) > 0)
			assert_int_equal(e.phase, 0);
		assert_true(gt_recording_process(r, 0)->has_full_ranges);
		gt_recording_close(r);
	}
}

static int start(void **state)
{
	return make_scratch(state) || !gt_ranges_start() || !gt_ranges_start();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_have_one_number),
		cmocka_unit_test(ranges_nest),
		cmocka_unit_test(domains_close_their_own_ranges),
		cmocka_unit_test(ranges_of_the_process_lie_around_the_others),
		cmocka_unit_test(more_ranges_of_the_process_than_there_is_room_for_do_no_harm),
		cmocka_unit_test(deeper_ranges_count_as_the_deepest),
		cmocka_unit_test(threads_that_name_the_same_at_once_get_the_same_numbers),
		cmocka_unit_test(threads_have_ranges_of_their_own),
		cmocka_unit_test(another_trace_gets_all_definitions_again),
		cmocka_unit_test(full_tables_are_told_once),
	};

	return cmocka_run_group_tests(tests, start, remove_scratch);
}
