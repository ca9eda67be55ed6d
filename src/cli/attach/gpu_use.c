/* SPDX-License-Identifier: MIT */
/* gpu_use.c - the GPUs of the machine and what processes use of them, as NVML reports it. */
#include "cli/attach/gpu_use.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

static void take_process(void *context, const struct gt_nvml_unit *unit, uint32_t pid,
			 uint64_t used)
{
	struct gt_gpu_use *u = context;
	size_t at = (size_t)(unit - u->units);

	u->gpus[at].processes++;
	GT_GROW(u->processes, u->process_count, u->process_room);
	u->processes[u->process_count++] =
		(struct gt_gpu_use_process){ .pid = pid, .gpu = at, .used = used };
}

void gt_gpu_use_read(struct gt_gpu_use *u)
{
	char why[200];

	if (!u->is_tried)
		u->nvml = gt_nvml_open(why, sizeof why);
	u->is_tried = true;
	u->count = u->process_count = 0;
	if (!u->nvml)
		return;
	u->count = gt_nvml_units(u->nvml, u->units);
	for (size_t i = 0; i < u->count; i++) {
		const struct gt_nvml_unit *unit = &u->units[i];
		struct gt_live_gpu *gpu = &u->gpus[i];

		*gpu = (struct gt_live_gpu){ .used = unit->used,
					     .total = unit->total,
					     .busy = unit->busy };
		snprintf(gpu->name, sizeof gpu->name, "%s", unit->name);
		if (unit->instance < 0)
			snprintf(gpu->number, sizeof gpu->number, "%u", unit->gpu % 1000);
		else
			snprintf(gpu->number, sizeof gpu->number, "%u:%d", unit->gpu % 1000,
				 unit->instance % 1000);
	}
	gt_nvml_processes(u->nvml, u->units, u->count, take_process, u);
}

void gt_gpu_use_fini(struct gt_gpu_use *u)
{
	gt_nvml_close(u->nvml);
	free(u->processes);
}

bool gt_gpu_use_of(const struct gt_gpu_use *u, uint32_t pid, struct gt_live_gpu_use *use)
{
	size_t used = 0;

	*use = (struct gt_live_gpu_use){ .used = 0 };
	for (size_t i = 0; i < u->process_count; i++) {
		const struct gt_gpu_use_process *p = &u->processes[i];

		if (p->pid != pid)
			continue;
		use->used += p->used;
		use->total += u->gpus[p->gpu].total;
		used += (size_t)snprintf(use->gpus + used, sizeof use->gpus - used, "%s%s",
					 used ? "," : "", u->gpus[p->gpu].number);
		if (used >= sizeof use->gpus)
			used = sizeof use->gpus - 1;
	}
	return *use->gpus;
}
