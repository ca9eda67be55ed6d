/* SPDX-License-Identifier: MIT */
/*
 * injection.c - the CUDA door's entrance: the driver loads us at cuInit, we subscribe to CUPTI.
 *
 * CUDA_INJECTION64_PATH names this library; the driver calls InitializeInjection once.
 */
#include "capture/cuda/cuda.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "guest/recorder.h"
#include "guest/settings.h"

/* Why CUPTI would not have us, and what helps. */
static void say_refused(const struct gt_cupti *cupti, CUptiResult result)
{
	const char *text = NULL;

	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		gt_stderr_line(
			"CUDA is not tracked in process %d: another profiler (Nsight, "
			"compute-sanitizer, PyTorch's) has it; the program runs on; stop that one, "
			"or use `gputrack attach -p %d`",
			(int)getpid(), (int)getpid());
		return;
	}
	cupti->text_of(result, &text);
	gt_stderr_line("CUDA is not tracked in process %d: %s says %s (%d); the program runs on; "
		       "`gputrack doctor` tells what is missing",
		       (int)getpid(), cupti->path, text ? text : "error", (int)result);
}

static void subscribe(void)
{
	static struct gt_cupti cupti, refused;
	CUpti_SubscriberHandle subscriber;
	CUptiResult result = CUPTI_SUCCESS;
	bool subscribed = false;
	unsigned next = 0;

	while (!subscribed && gt_cupti_load(&cupti, &next)) {
		result = cupti.subscribe(&subscriber, (CUpti_CallbackFunc)gt_cuda_called, NULL);
		subscribed = !result;
		if (subscribed)
			break;
		refused = cupti;
		/* a CUPTI too new for the driver is not the last word: there may be another */
		if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
			break;
	}
	if (result) {
		say_refused(&refused, result);
		return;
	}
	if (!subscribed) {
		gt_stderr_line(
			"CUDA is not tracked in process %d: no libcupti was found; the program "
			"runs "
			"on; install CUDA's CUPTI, or name it with GPUTRACK_CUPTI=/…/libcupti.so",
			(int)getpid());
		return;
	}
	gt_cuda_driver_start(&cupti);
	if (!gt_cuda_enable_rows(&cupti, subscriber))
		gt_stderr_line(
			"CUDA is not tracked in process %d: %s tells of no function; the program "
			"runs on; `gputrack doctor` tells what is missing",
			(int)getpid(), cupti.path);
	/* registered later than the runtime's own handlers, so called before them */
	atexit(gt_cuda_driver_exiting);
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	static _Atomic bool started;
	int saved = errno;

	if (atomic_exchange(&started, true))
		return 1;
	gt_guest_start();
	if (gt_guest_settings()->recording || gt_guest_settings()->tracker)
		subscribe();
	errno = saved;
	return 1;
}
