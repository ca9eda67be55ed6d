/* SPDX-License-Identifier: MIT */
/* nvml.c - NVIDIA's management library, loaded at run time: memory and use of the GPUs. */
#include "cli/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/process.h"
#include "base/tool.h"

enum { GPUS_MAX = 64, PROCESSES_MAX = 512, ANCESTORS_MAX = 64 };

/* As in NVIDIA's header, which need not be installed. */
struct memory {
	unsigned long long total, free, used;
};

/* The newer query, whose `used` excludes what the driver reserves for itself. */
struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
#define MEMORY_V2 ((unsigned)sizeof(struct memory_v2) | 2u << 24)

struct utilization {
	unsigned gpu, memory;
};

struct process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};

#define NOT_KNOWN (~0ull)

struct gt_nvml {
	void *library;
	int (*shutdown)(void);
	int (*memory)(void *device, struct memory *memory);
	int (*memory_v2)(void *device, struct memory_v2 *memory);
	int (*utilization)(void *device, struct utilization *utilization);
	int (*name)(void *device, char *name, unsigned size);
	int (*uuid)(void *device, char *uuid, unsigned size);
	int (*mig_mode)(void *device, unsigned *current, unsigned *pending);
	int (*mig_count)(void *device, unsigned *count);
	int (*mig_device)(void *device, unsigned index, void **instance);
	int (*mig_id)(void *instance, unsigned *id);
	int (*driver)(char *version, unsigned size);
	int (*processes)(void *device, unsigned *count, struct process *list);
	unsigned count;
	void *devices[GPUS_MAX];
};

static bool take(const struct gt_nvml *n, void *function, const char *name)
{
	void *found = dlsym(n->library, name);

	memcpy(function, &found, sizeof found);
	return found;
}

static bool take_all(struct gt_nvml *n)
{
	/* these may be missing in old drivers */
	take(n, &n->processes, "nvmlDeviceGetComputeRunningProcesses_v3");
	take(n, &n->memory_v2, "nvmlDeviceGetMemoryInfo_v2");
	take(n, &n->utilization, "nvmlDeviceGetUtilizationRates");
	take(n, &n->uuid, "nvmlDeviceGetUUID");
	take(n, &n->mig_mode, "nvmlDeviceGetMigMode");
	take(n, &n->mig_count, "nvmlDeviceGetMaxMigDeviceCount");
	take(n, &n->mig_device, "nvmlDeviceGetMigDeviceHandleByIndex");
	take(n, &n->mig_id, "nvmlDeviceGetGpuInstanceId");
	return take(n, &n->shutdown, "nvmlShutdown") &&
	       take(n, &n->memory, "nvmlDeviceGetMemoryInfo") &&
	       take(n, &n->name, "nvmlDeviceGetName") &&
	       take(n, &n->driver, "nvmlSystemGetDriverVersion");
}

static int start(struct gt_nvml *n)
{
	int (*init)(void), (*count)(unsigned *), (*device)(unsigned, void **), e;

	if (!take_all(n) || !take(n, &init, "nvmlInit_v2") ||
	    !take(n, &count, "nvmlDeviceGetCount_v2") ||
	    !take(n, &device, "nvmlDeviceGetHandleByIndex_v2"))
		return -1;
	e = init();
	if (e)
		return e;
	e = count(&n->count);
	if (n->count > GPUS_MAX)
		n->count = GPUS_MAX;
	for (unsigned i = 0; !e && i < n->count; i++)
		e = device(i, &n->devices[i]);
	if (e)
		n->shutdown();
	return e;
}

struct gt_nvml *gt_nvml_open(char *why, size_t size)
{
	struct gt_nvml *n = gt_alloc(sizeof *n);
	const char *(*text)(int), *missing;
	int e;

	n->library = gt_tool_load("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL, &missing);
	if (!n->library) {
		snprintf(why, size, "%s", missing);
		free(n);
		return NULL;
	}
	e = start(n);
	if (!e)
		return n;
	snprintf(why, size, "libnvidia-ml.so.1 failed: %s",
		 e > 0 && take(n, &text, "nvmlErrorString") ? text(e) : "unknown error");
	dlclose(n->library);
	free(n);
	return NULL;
}

void gt_nvml_close(struct gt_nvml *n)
{
	if (!n)
		return;
	n->shutdown();
	dlclose(n->library);
	free(n);
}

unsigned gt_nvml_count(const struct gt_nvml *n)
{
	return n->count;
}

void gt_nvml_name(const struct gt_nvml *n, unsigned gpu, char name[GT_NVML_NAME])
{
	if (n->name(n->devices[gpu], name, GT_NVML_NAME))
		name[0] = '\0';
}

void gt_nvml_uuid(const struct gt_nvml *n, unsigned gpu, char uuid[GT_NVML_NAME])
{
	if (!n->uuid || n->uuid(n->devices[gpu], uuid, GT_NVML_NAME))
		uuid[0] = '\0';
}

bool gt_nvml_is_divided(const struct gt_nvml *n, unsigned gpu)
{
	unsigned current = 0, pending;

	return n->mig_mode && !n->mig_mode(n->devices[gpu], &current, &pending) && current;
}

void gt_nvml_driver(const struct gt_nvml *n, char version[GT_NVML_NAME])
{
	if (n->driver(version, GT_NVML_NAME))
		version[0] = '\0';
}

static bool memory_of(const struct gt_nvml *n, void *device, uint64_t *total, uint64_t *used,
		      uint64_t *available)
{
	struct memory_v2 memory = { .version = MEMORY_V2 };
	struct memory old;

	if (!n->memory_v2 || n->memory_v2(device, &memory)) {
		if (n->memory(device, &old))
			return false;
		memory = (struct memory_v2){ .total = old.total,
					     .used = old.used,
					     .free = old.free };
	}
	*total = memory.total;
	*used = memory.used;
	*available = memory.free;
	return true;
}

bool gt_nvml_memory(const struct gt_nvml *n, unsigned gpu, uint64_t *total, uint64_t *used,
		    uint64_t *available)
{
	return memory_of(n, n->devices[gpu], total, used, available);
}

static void add_unit(const struct gt_nvml *n, struct gt_nvml_unit *unit, unsigned gpu, void *device)
{
	uint64_t available;

	*unit = (struct gt_nvml_unit){ .gpu = gpu, .instance = -1, .busy = -1 };
	if (n->name(device, unit->name, sizeof unit->name))
		unit->name[0] = '\0';
	if (!memory_of(n, device, &unit->total, &unit->used, &available))
		unit->total = unit->used = 0;
}

/* The instances of a divided GPU: their numbers have gaps. */
static size_t add_instances(const struct gt_nvml *n, struct gt_nvml_unit *units, size_t most,
			    unsigned gpu)
{
	unsigned places = 0, id;
	size_t count = 0;
	void *instance;

	if (!n->mig_count || !n->mig_device || !n->mig_id || n->mig_count(n->devices[gpu], &places))
		return 0;
	for (unsigned i = 0; i < places && count < most; i++) {
		if (n->mig_device(n->devices[gpu], i, &instance) || n->mig_id(instance, &id))
			continue;
		add_unit(n, &units[count], gpu, instance);
		units[count++].instance = (int)id;
	}
	return count;
}

size_t gt_nvml_units(const struct gt_nvml *n, struct gt_nvml_unit units[GT_NVML_UNITS])
{
	size_t count = 0, instances;

	for (unsigned i = 0; i < n->count && count < GT_NVML_UNITS; i++) {
		instances = gt_nvml_is_divided(n, i) ?
				    add_instances(n, &units[count], GT_NVML_UNITS - count, i) :
				    0;
		if (!instances) {
			add_unit(n, &units[count], i, n->devices[i]);
			units[count].busy = n->utilization ? (int)gt_nvml_busy(n, i) : -1;
			instances = 1;
		}
		count += instances;
	}
	return count;
}

/* The unit that a process of a GPU uses; NULL if it is on none of them. */
static const struct gt_nvml_unit *unit_of(const struct gt_nvml_unit *units, size_t count,
					  unsigned gpu, unsigned instance)
{
	for (size_t i = 0; i < count; i++)
		if (units[i].gpu == gpu &&
		    (units[i].instance < 0 || units[i].instance == (int)instance))
			return &units[i];
	return NULL;
}

void gt_nvml_processes(const struct gt_nvml *n, const struct gt_nvml_unit *units, size_t unit_count,
		       gt_nvml_process_fn *take_one, void *context)
{
	struct process list[PROCESSES_MAX];

	for (unsigned gpu = 0; gpu < n->count && n->processes; gpu++) {
		unsigned count = PROCESSES_MAX;

		if (n->processes(n->devices[gpu], &count, list))
			continue;
		for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
			const struct gt_nvml_unit *unit =
				unit_of(units, unit_count, gpu, list[i].gpu_instance);

			if (unit)
				take_one(context, unit, list[i].pid,
					 list[i].used == NOT_KNOWN ? 0 : list[i].used);
		}
	}
}

unsigned gt_nvml_busy(const struct gt_nvml *n, unsigned gpu)
{
	struct utilization utilization;

	if (!n->utilization || n->utilization(n->devices[gpu], &utilization))
		return 0;
	return utilization.gpu;
}

/* 0 if there is no such process. */
static pid_t parent_of(pid_t pid)
{
	struct gt_process_state state;

	return gt_process_state_read(&state, (uint32_t)pid) ? (pid_t)state.ppid : 0;
}

static bool is_below(pid_t pid, pid_t root)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = parent_of(pid))
		if (pid == root)
			return true;
	return false;
}

bool gt_nvml_used_by(const struct gt_nvml *n, unsigned gpu, pid_t root, uint64_t *used)
{
	struct process list[PROCESSES_MAX];
	unsigned count = PROCESSES_MAX;
	bool found = false;

	*used = 0;
	if (!n->processes || n->processes(n->devices[gpu], &count, list))
		return false;
	for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++)
		if (list[i].used != NOT_KNOWN && is_below((pid_t)list[i].pid, root)) {
			*used += list[i].used;
			found = true;
		}
	return found;
}
