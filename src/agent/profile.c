/* SPDX-License-Identifier: MIT */
/* profile.c - the agent's totals as profiles: for pprof's readers, and as folded stacks. */
#include "agent/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/process.h"
#include "export/export.h"
#include "export/pprof_writer.h"
#include "replay/stack.h"

enum { FRAMES = 128 };

struct view {
	FILE *out;
	const struct gt_agent_totals *totals;
	const struct gt_profile *profile;
	struct gt_pprof *pprof;
	struct gt_intern *modules;
};

static bool is_wanted(const struct view *v, const struct gt_agent_row *row)
{
	return (!v->profile->pid || v->profile->pid == row->process->pid) &&
	       (row->live_objects || row->allocated_objects);
}

static bool find_module(void *view, const char *path, struct gt_pprof_mapping *mapping)
{
	struct view *v = view;

	if (!*path)
		return false;
	mapping->number = gt_intern(v->modules, path, strlen(path)) + 1;
	return true;
}

/* Frames as other tables have them, where an unknown text is NULL; their number. */
static size_t frames_of(const struct gt_agent_stack *stack, struct gt_frame frames[FRAMES])
{
	size_t count = !stack ? 0 : stack->count < FRAMES ? stack->count : FRAMES;

	for (size_t i = 0; i < count; i++) {
		frames[i] = stack->frames[i];
		frames[i].function = *frames[i].function ? frames[i].function : NULL;
		frames[i].file = *frames[i].file ? frames[i].file : NULL;
		frames[i].module = *frames[i].module ? frames[i].module : NULL;
	}
	return count;
}

static void put_sample(void *view, const struct gt_agent_row *row)
{
	struct view *v = view;
	const struct gt_agent_stack *stack = gt_agent_totals_stack(v->totals, row->stack_id);
	const struct gt_agent_process *who = row->process;
	struct gt_frame frames[FRAMES];
	char pid[16];
	const struct gt_pprof_label labels[] = {
		{ "api", gt_api_keys[row->api] },
		{ "kind", gt_kinds[row->kind].name },
		{ "pid", pid },
		{ "command", who->command },
		{ "user", who->user },
		{ "container", who->container },
		{ "pod", *who->pod_name ? who->pod_name : who->pod },
		{ "gpu", row->gpu },
	};

	if (!is_wanted(v, row))
		return;
	snprintf(pid, sizeof pid, "%u", who->pid);
	gt_pprof_sample(v->pprof,
			&(struct gt_pprof_sample){ .frames = frames,
						   .count = frames_of(stack, frames),
						   .place = row->place,
						   .created = row->allocated_objects,
						   .created_bytes = row->allocated_bytes,
						   .live = row->live_objects,
						   .live_bytes = row->live_bytes,
						   .labels = labels,
						   .label_count = sizeof labels / sizeof *labels });
}

void gt_agent_pprof(FILE *out, const struct gt_agent_totals *t, const struct gt_profile *profile)
{
	struct view v = { .totals = t, .profile = profile, .modules = gt_intern_new() };
	const struct gt_pprof_options options = {
		.out = out,
		.time_ns = gt_clock_ns(CLOCK_REALTIME),
		.comment = "gputrack agent",
		.default_type = profile->weight == GT_PROFILE_ALLOC ? "alloc_space" : "inuse_space",
		.mapping = find_module,
		.context = &v
	};

	v.pprof = gt_pprof_new(&options);
	gt_agent_totals_each_row(t, put_sample, &v);
	gt_pprof_free(v.pprof);
	gt_intern_free(v.modules);
}

static void put_folded(void *view, const struct gt_agent_row *row)
{
	const struct view *v = view;
	const struct gt_agent_stack *stack = gt_agent_totals_stack(v->totals, row->stack_id);
	uint64_t weight =
		v->profile->weight == GT_PROFILE_ALLOC ? row->allocated_bytes : row->live_bytes;
	struct gt_frame frames[FRAMES];
	char *name;

	if (!is_wanted(v, row) || !weight)
		return;
	gt_collapsed_put(v->out, row->process->comm);
	putc(';', v->out);
	for (size_t i = frames_of(stack, frames); i-- > 0;) {
		name = gt_frame_name(&frames[i]);
		gt_collapsed_put(v->out, name);
		putc(';', v->out);
		free(name);
	}
	if (asprintf(&name, "[%s %s] %s", gt_api_names[row->api], gt_kinds[row->kind].name,
		     row->place) < 0)
		return;
	gt_collapsed_put(v->out, name);
	fprintf(v->out, " %" PRIu64 "\n", weight);
	free(name);
}

void gt_agent_folded(FILE *out, const struct gt_agent_totals *t, const struct gt_profile *profile)
{
	struct view v = { .out = out, .totals = t, .profile = profile };

	gt_agent_totals_each_row(t, put_folded, &v);
}
