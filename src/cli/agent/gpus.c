/* SPDX-License-Identifier: MIT */
/*
 * gpus.c - on which GPU of the machine a process's resources are.
 *
 * A process numbers the GPUs that it may use from 0 on: in ten containers with a GPU each, "GPU 0"
 * is ten GPUs. NVML knows on which GPUs or instances (MIG) a process is. If that is one, all that
 * the process has by CUDA is there, also where attaching came too late to see its context;
 * otherwise the process's own numbers stand.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/agent/agent.h"

enum { UNDECIDED, OWN_NUMBERS, FIRST_UNIT }; /* of gt_agent.units */

/* "GPU 0:7: NVIDIA H200 MIG 1g.18gb" */
static void name_unit(const struct gt_live_gpu *gpu, char *text, size_t size)
{
	snprintf(text, size, "GPU %s: %s", gpu->number, gpu->name);
}

void gt_agent_gpus_read(struct gt_agent *a)
{
	char name[GT_NVML_NAME + 32];

	gt_gpu_use_read(&a->gpus);
	for (size_t i = 0; i < a->gpus.count; i++) {
		name_unit(&a->gpus.gpus[i], name, sizeof name);
		gt_agent_totals_name_gpu(a->totals, (uint16_t)(GT_AGENT_FIRST_UNIT + i), name);
	}
}

/* The unit that a process is on, for gt_agent.units. */
static uint8_t unit_of(const struct gt_agent *a, uint32_t pid)
{
	uint8_t unit = OWN_NUMBERS;

	for (size_t i = 0; i < a->gpus.process_count; i++) {
		const struct gt_gpu_use_process *p = &a->gpus.processes[i];

		if (p->pid != pid || unit == FIRST_UNIT + p->gpu)
			continue;
		if (unit != OWN_NUMBERS)
			return OWN_NUMBERS;
		unit = (uint8_t)(FIRST_UNIT + p->gpu);
	}
	return unit;
}

void gt_agent_gpus_began(struct gt_agent *a, uint16_t process)
{
	GT_REACH(a->units, a->unit_count, process);
	a->units[process] = UNDECIDED;
}

void gt_agent_gpus_decide(struct gt_agent *a)
{
	bool has_read = false;

	for (size_t i = 0; i < a->unit_count; i++) {
		if (a->units[i] != UNDECIDED)
			continue;
		if (!has_read)
			gt_agent_gpus_read(a);
		has_read = true;
		a->units[i] = i < a->live.process_count && a->live.processes[i] ?
				      unit_of(a, a->live.processes[i]->pid) :
				      OWN_NUMBERS;
	}
}

uint16_t gt_agent_gpu(struct gt_agent *a, uint16_t process, enum gt_api api, enum gt_kind kind,
		      uint16_t place)
{
	if (api != GT_CUDA || process >= a->unit_count || (!place && !gt_kind_on_device(kind)))
		return place;
	/* counted before anybody was asked: it stays where it was counted */
	if (a->units[process] == UNDECIDED)
		a->units[process] = OWN_NUMBERS;
	return a->units[process] == OWN_NUMBERS ?
		       place :
		       (uint16_t)(GT_AGENT_FIRST_UNIT + a->units[process] - FIRST_UNIT);
}

uint64_t gt_agent_gpu_capacity(void *context, const char *gpu)
{
	const struct gt_agent *a = context;
	char name[GT_NVML_NAME + 32];
	unsigned number;

	for (size_t i = 0; i < a->gpus.count; i++) {
		name_unit(&a->gpus.gpus[i], name, sizeof name);
		if (!strcmp(name, gpu))
			return a->gpus.gpus[i].total;
	}
	/* a process's own number: right where it sees all */
	if (sscanf(gpu, "GPU %u:", &number) != 1)
		return 0;
	for (size_t i = 0; i < a->gpus.count; i++)
		if (a->gpus.units[i].gpu == number && a->gpus.units[i].instance < 0)
			return a->gpus.gpus[i].total;
	return 0;
}

void gt_agent_gpus_fini(struct gt_agent *a)
{
	if (a->gpus.is_tried)
		gt_gpu_use_fini(&a->gpus);
	free(a->units);
}
