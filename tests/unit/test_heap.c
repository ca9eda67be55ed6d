/* SPDX-License-Identifier: MIT */
/* test_heap.c - the recorder's own memory: sizes, threads, children. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/table_memory.h"
#include "guest/heap.h"

enum { THREADS = 4, ROUNDS = 2000, KEPT = 16 };

static bool is_filled(const uint8_t *memory, size_t size, int with)
{
	for (size_t i = 0; i < size; i++)
		if (memory[i] != with)
			return false;
	return true;
}

static void memory_of_any_size_is_zeroed_and_aligned(void **state)
{
	(void)state;
	for (size_t size = 1; size < 300000; size += 1 + size / 7) {
		/* the second time it has been used before */
		for (int i = 0; i < 2; i++) {
			uint8_t *memory = gt_heap_alloc(size);

			assert_non_null(memory);
			assert_int_equal((uintptr_t)memory % 16, 0);
			assert_true(is_filled(memory, size, 0));
			memset(memory, 0xff, size);
			gt_heap_free(memory);
		}
	}
	assert_null(gt_heap_alloc(SIZE_MAX - 8));
	gt_heap_free(NULL);
}

static void blocks_do_not_overlap_and_are_used_again(void **state)
{
	uint8_t *blocks[200], *freed;

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		blocks[i] = gt_heap_alloc(1 + i * 5);
		memset(blocks[i], (int)i, 1 + i * 5);
	}
	for (size_t i = 0; i < 200; i++)
		assert_true(is_filled(blocks[i], 1 + i * 5, (int)i));
	freed = blocks[100];
	gt_heap_free(freed);
	assert_ptr_equal(gt_heap_alloc(501), freed);
	for (size_t i = 0; i < 200; i++)
		gt_heap_free(blocks[i]);
}

static void resizing_keeps_the_contents(void **state)
{
	uint8_t *memory = NULL;

	(void)state;
	for (size_t size = 8; size <= 1 << 20; size *= 2) {
		memory = gt_heap_resize(memory, size);
		assert_non_null(memory);
		assert_true(size == 8 || is_filled(memory, size / 2, 0x5a));
		memset(memory, 0x5a, size);
	}
	gt_heap_free(memory);
}

/* Returns how many blocks another owner has written to. */
static int use_memory(unsigned rounds, int mark)
{
	uint8_t *blocks[KEPT] = { NULL };
	int wrong = 0;

	for (unsigned i = 0; i < rounds; i++) {
		size_t at = i % KEPT, size = 1 + at * 700;

		wrong += blocks[at] && !is_filled(blocks[at], size, mark);
		gt_heap_free(blocks[at]);
		blocks[at] = gt_heap_alloc(size);
		memset(blocks[at], mark, size);
	}
	for (size_t at = 0; at < KEPT; at++)
		gt_heap_free(blocks[at]);
	return wrong;
}

static void *run_thread(void *failures)
{
	static _Atomic int number;

	atomic_fetch_add((_Atomic int *)failures, use_memory(ROUNDS, 1 + number++ % 250));
	return NULL;
}

static void threads_and_forked_children_have_memory_of_their_own(void **state)
{
	_Atomic int failures = 0;
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)&failures);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			gt_heap_restart();
			_exit(use_memory(100, 0xfe) ? 1 : 0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(failures, 0);
}

static void tables_of_the_recorder_lie_in_it(void **state)
{
	void *table = gt_table_alloc(501), *after;

	(void)state;
	gt_table_free(table);
	after = gt_heap_alloc(501);
	assert_ptr_equal(after, table);
	gt_heap_free(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_any_size_is_zeroed_and_aligned),
		cmocka_unit_test(blocks_do_not_overlap_and_are_used_again),
		cmocka_unit_test(resizing_keeps_the_contents),
		cmocka_unit_test(threads_and_forked_children_have_memory_of_their_own),
		cmocka_unit_test(tables_of_the_recorder_lie_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
