/* SPDX-License-Identifier: MIT */
/* test_cancellation.c - threads that are cancelled while they make calls, without the tracker. */
#include "test_guest.h"

enum { CALLS = 300000 }; /* enough for several windows of the trace */

static _Atomic uint32_t done;

/* A sanitizer would not know of a stack that a cancelled thread leaves: it ends by itself. */
static void *record_while_cancelled(void *state)
{
	struct gt_guest_work work = { .work = { .kind = GT_WORK_LAUNCH, .function = "launch" } };
	struct gt_touched one = { .address = 4096, .access = GT_READS };

	pthread_cancel(pthread_self());
	for (uint32_t i = 0; i < CALLS; i++) {
		create(0x1000 + i);
		if (i % 16 == 0)
			gt_guest_touch(&work, &(struct gt_naming){ .ranges = &one, .count = 1 });
		atomic_fetch_add(&done, 1);
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, state);
	return state;
}

static void a_thread_is_not_cancelled_in_our_system_calls(void **state)
{
	int cancel_state = PTHREAD_CANCEL_DISABLE;
	pthread_t thread;
	void *result;

	gt_guest_start();
	assert_int_equal(pthread_create(&thread, NULL, record_while_cancelled, &cancel_state), 0);
	pthread_join(thread, &result);
	assert_int_equal(atomic_load(&done), CALLS);
	assert_ptr_equal(result, &cancel_state);
	assert_int_equal(cancel_state, PTHREAD_CANCEL_ENABLE);
	/* nobody holds a lock of ours */
	create(0x100);
	assert_int_equal(replay(0).events, CALLS + 1);
}

static int set_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(recording, sizeof recording, "%s/a.gt", folder);
	return setenv("GPUTRACK_RECORDING", recording, 1);
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_not_cancelled_in_our_system_calls),
	};

	return cmocka_run_group_tests(tests, set_folder, remove_folder);
}
