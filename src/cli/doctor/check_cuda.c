/* SPDX-License-Identifier: MIT */
/* check_cuda.c - the doctor's check of CUDA: driver, GPUs, our door, CUPTI. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/format.h"
#include "capture/cuda/find_cupti.h"
#include "cli/doctor/doctor.h"
#include "cli/launch.h"
#include "cli/nvml.h"
#include "cli/run/cuda_door.h"

#define DOOR "libgputrack_cuda.so"

enum { MULTIPLE_SUBSCRIBERS = 39 };

typedef int init_fn(unsigned flags);
typedef int number_fn(int *number);
typedef int subscribe_fn(void **subscriber, void (*callback)(void), void *userdata);

static void ignore(void)
{
}

/* In the child: does what the door would do. */
static void explore_cupti(FILE *out)
{
	unsigned next = 0;
	void *library, *subscriber;
	subscribe_fn *subscribe;
	struct link_map *map;
	int result = -1;

	while (result && (library = gt_cupti_find(&next))) {
		if (!dlinfo(library, RTLD_DI_LINKMAP, &map))
			gt_child_tell(out, "cupti", map->l_name);
		fflush(out);
		subscribe = (subscribe_fn *)dlsym(library, "cuptiSubscribe");
		result = subscribe ? subscribe(&subscriber, ignore, NULL) : -1;
		gt_child_tell_number(out, "subscribe", result);
		if (result == MULTIPLE_SUBSCRIBERS)
			return;
	}
}

/* In the child: loads the driver as a program would, and reports what it finds. */
static void explore(FILE *out, const void *unused)
{
	void *driver;
	init_fn *init;
	number_fn *version, *count;
	int number = 0, result;

	(void)unused;
	unsetenv("CUDA_INJECTION64_PATH");
	driver = gt_child_load(out, "libcuda.so.1");
	if (!driver)
		return;
	init = (init_fn *)dlsym(driver, "cuInit");
	version = (number_fn *)dlsym(driver, "cuDriverGetVersion");
	count = (number_fn *)dlsym(driver, "cuDeviceGetCount");
	if (version && !version(&number))
		gt_child_tell_number(out, "version", number);
	result = init ? init(0) : -1;
	gt_child_tell_number(out, "init", result);
	if (result)
		return;
	number = 0;
	if (count && !count(&number))
		gt_child_tell_number(out, "gpus", number);
	explore_cupti(out);
}

static void check_gpus(struct gt_doctor *d)
{
	char why[256], version[GT_NVML_NAME], name[GT_NVML_NAME], size[GT_FORMAT_MAX];
	struct gt_nvml *nvml = gt_nvml_open(why, sizeof why);
	uint64_t used, total, available;

	if (!nvml) {
		gt_doctor_say(d, GT_FINDING_NOTE, "GPU memory", "%s", why);
		gt_doctor_remedy(d, "part of NVIDIA's driver; without it, reports cannot be "
				    "compared with the GPU's own figures");
		return;
	}
	gt_nvml_driver(nvml, version);
	gt_doctor_say(d, GT_FINDING_GOOD, "GPU memory", "NVML works, driver %s",
		      *version ? version : "unknown");
	for (unsigned i = 0; i < gt_nvml_count(nvml); i++) {
		char label[24], free_text[GT_FORMAT_MAX] = "?";

		snprintf(label, sizeof label, "GPU %u", i);
		gt_nvml_name(nvml, i, name);
		if (gt_nvml_memory(nvml, i, &total, &used, &available)) {
			gt_format_bytes(size, total);
			gt_format_bytes(free_text, available);
			gt_doctor_say(d, GT_FINDING_GOOD, label, "%s, %s, %s free", name, size,
				      free_text);
		} else {
			gt_doctor_say(d, GT_FINDING_NOTE, label, "%s", name);
		}
	}
	gt_nvml_close(nvml);
}

static bool check_driver(struct gt_doctor *d, const char *text, int status)
{
	char path[PATH_MAX];
	int version = (int)gt_child_number(text, "version", 0);
	int result = (int)gt_child_number(text, "init", -1);
	int gpus = (int)gt_child_number(text, "gpus", 0);

	if (status) {
		gt_child_say_end(d, "driver", status);
		return false;
	}
	gt_child_first(text, "path", path, sizeof path);
	if (!result) {
		gt_doctor_say(d, GT_FINDING_GOOD, "driver", "%s, CUDA %d.%d, %d %s", path,
			      version / 1000, version % 1000 / 10, gpus,
			      gpus == 1 ? "GPU" : "GPUs");
		return true;
	}
	gt_doctor_say(d, GT_FINDING_BAD, "driver", "%s, but cuInit fails with %d%s", path, result,
		      result == 100 ? " (no GPU)" : "");
	gt_doctor_remedy(d, access("/dev/nvidiactl", R_OK | W_OK) ?
				    "check that there is a GPU and that this user may open "
				    "/dev/nvidia*; in a container: docker run --gpus all" :
				    "compare the driver's version with the kernel module's: "
				    "nvidia-smi");
	return false;
}

/* `is_only`: there is no other way to track CUDA. */
static bool check_cupti(struct gt_doctor *d, const char *text, bool is_only)
{
	enum gt_finding bad = is_only ? GT_FINDING_BAD : GT_FINDING_NOTE;
	char path[PATH_MAX], number[32];
	int result = -1;

	if (!gt_child_first(text, "cupti", path, sizeof path)) {
		gt_doctor_say(d, bad, "CUPTI", "libcupti.so was not found");
		gt_doctor_remedy(d, "install CUDA's cuda-cupti package or pip install "
				    "nvidia-cuda-cupti, or set GPUTRACK_CUPTI=/…/libcupti.so");
		return false;
	}
	/* the one tried last decides */
	for (const char *at = text; gt_child_next(&at, "cupti", path, sizeof path);)
		if (gt_child_next(&at, "subscribe", number, sizeof number))
			result = atoi(number);
	if (!result) {
		gt_doctor_say(d, GT_FINDING_GOOD, "CUPTI", "%s", path);
		return true;
	}
	gt_doctor_say(d, bad, "CUPTI", "%s refuses a subscriber: error %d", path, result);
	gt_doctor_remedy(
		d, result == MULTIPLE_SUBSCRIBERS ?
			   "another profiler is using it: stop that one, or use gputrack attach" :
			   "it must match the driver: install the CUPTI of its CUDA version, or "
			   "set GPUTRACK_CUPTI");
	return false;
}

/* Which way `gputrack run` takes, and whether it works. */
static bool check_way(struct gt_doctor *d, const char *text)
{
	char path[PATH_MAX];
	bool is_built = gt_doors_find(path, sizeof path, "libgputrack_preload.so");

	if (is_built && gt_cuda_is_installed()) {
		gt_doctor_say(d, GT_FINDING_GOOD, "way",
			      "direct: %s is preloaded, CUPTI is left to others", path);
		check_cupti(d, text, false);
		return true;
	}
	gt_doctor_say(d, GT_FINDING_NOTE, "way", "through CUPTI: %s",
		      is_built ? "libcuda.so.1 is not on the loader's path" :
				 "this build has no libgputrack_preload.so");
	if (is_built)
		gt_doctor_remedy(d, "`gputrack run --cuda-door direct` does without CUPTI");
	return check_cupti(d, text, true);
}

bool gt_doctor_cuda(struct gt_doctor *d)
{
	static char text[1 << 14];
	char path[PATH_MAX];
	int status;

	if (gt_doctor_loads_none(d, "driver"))
		return false;
	status = gt_child_explore(explore, NULL, text, sizeof text);
	if (gt_child_first(text, "missing", path, sizeof path)) {
		gt_doctor_say(d, GT_FINDING_NOTE, "driver", "%s", path);
		gt_doctor_remedy(d, "needed only for CUDA programs: install NVIDIA's driver");
		return false;
	}
	if (!check_driver(d, text, status))
		return false;
	check_gpus(d);
	if (!gt_doors_find(path, sizeof path, DOOR)) {
		gt_doctor_say(d, GT_FINDING_NOTE, "door", "not in this build");
		gt_doctor_remedy(d, "rebuild without -Dcuda=disabled");
		return false;
	}
	gt_doctor_say(d, GT_FINDING_GOOD, "door", "%s", path);
	return check_way(d, text);
}
