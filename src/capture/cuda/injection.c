/* SPDX-License-Identifier: MIT */
/*
 * injection.c - CUPTI's way in: the driver loads us at cuInit, we subscribe to CUPTI.
 *
 * CUDA_INJECTION64_PATH names this library; the driver calls InitializeInjection once. Programs
 * that preload.c cannot reach are tracked this way.
 */
#include "capture/cuda/subscriber.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "guest/recorder.h"
#include "guest/settings.h"

/* Prints why CUPTI refused us, and what to do. */
static void print_refusal(const struct gt_cupti *cupti, CUptiResult result)
{
	const char *text = NULL;

	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		gt_stderr_line(
			"CUDA is not tracked in process %d: another profiler (Nsight, "
			"compute-sanitizer, PyTorch's) uses CUPTI; the program runs on; stop that "
			"profiler, or use `gputrack attach -p %d`",
			(int)getpid(), (int)getpid());
		return;
	}
	cupti->text_of(result, &text);
	gt_stderr_line("CUDA is not tracked in process %d: %s says %s (%d); the program runs on; "
		       "`gputrack doctor` shows what is missing",
		       (int)getpid(), cupti->path, text ? text : "error", (int)result);
}

static struct gt_cupti cupti;

static bool device_of(CUcontext context, uint32_t *device)
{
	return !cupti.device_of(context, device);
}

static void start_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	struct gt_cuda_driver driver = { .device_of = device_of };

	if (library)
		*(void **)&driver.device_name = dlsym(library, "cuDeviceGetName");
	gt_cuda_driver_start(&driver);
}

/* Beside others where this CUPTI can do that. An older one does not know the last field. */
static CUptiResult try_subscribe(CUpti_SubscriberHandle *subscriber)
{
	CUpti_CallbackFunc called = (CUpti_CallbackFunc)gt_cuda_called;
	struct gt_cupti_wish wish = { .size = offsetof(struct gt_cupti_wish, several) + 1,
				      .name = "gputrack",
				      .several = 1 };

	if (cupti.subscribe_v2 && !cupti.subscribe_v2(subscriber, called, NULL, &wish))
		return CUPTI_SUCCESS;
	return cupti.subscribe(subscriber, called, NULL);
}

static void subscribe(void)
{
	static struct gt_cupti refused;
	CUpti_SubscriberHandle subscriber;
	CUptiResult result = CUPTI_SUCCESS;
	bool subscribed = false;
	unsigned next = 0;

	while (!subscribed && gt_cupti_load(&cupti, &next)) {
		result = try_subscribe(&subscriber);
		subscribed = !result;
		if (subscribed)
			break;
		refused = cupti;
		/* this CUPTI may be too new for the driver: try the next one */
		if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
			break;
	}
	if (result) {
		print_refusal(&refused, result);
		return;
	}
	if (!subscribed) {
		gt_stderr_line(
			"CUDA is not tracked in process %d: no libcupti was found; the program "
			"runs on; "
			"install CUDA's CUPTI, or name it with GPUTRACK_CUPTI=/…/libcupti.so",
			(int)getpid());
		return;
	}
	start_driver();
	if (!gt_cuda_enable_rows(&cupti, subscriber))
		gt_stderr_line("CUDA is not tracked in process %d: %s reports no function; the "
			       "program runs on; `gputrack doctor` shows what is missing",
			       (int)getpid(), cupti.path);
	/* registered after the runtime's handlers, so called before them */
	atexit(gt_cuda_driver_exiting);
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	static _Atomic bool started;
	int saved = errno;

	if (gt_cuda_is_preloaded() || atomic_exchange(&started, true))
		return 1;
	gt_guest_start();
	if (gt_settings_get()->recording || gt_settings_get()->tracker)
		subscribe();
	errno = saved;
	return 1;
}
