/* SPDX-License-Identifier: MIT */
/*
 * phase_filter.c - leaves out the events of resources that were created in other phases.
 *
 * What creates a resource decides for all events of its handle, until that handle is created again.
 * Contexts are never left out: they take along what was created in them.
 */
#include <stdlib.h>

#include "base/containers.h"
#include "base/mem.h"
#include "trace/stream.h"

/* No padding, as its bytes are interned. Kinds of one family share their handles. */
struct resource {
	uint64_t handle;
	uint32_t process, family;
};

struct gt_phase_filter {
	const struct gt_recording *recording;
	gt_phase_fn *wants;
	void *context;
	uint8_t *answers; /* by phase: 0 not asked yet, 1 no, 2 yes */
	size_t answer_count;
	struct gt_intern *resources; /* struct resource, those that some creation was left out of */
	bool *is_out;                /* by number: its latest creation was */
	size_t out_count;
};

struct gt_phase_filter *gt_phase_filter_new(const struct gt_recording *r, gt_phase_fn *wants,
					    void *context)
{
	struct gt_phase_filter *f;

	if (!wants)
		return NULL;
	f = gt_alloc(sizeof *f);
	f->recording = r;
	f->wants = wants;
	f->context = context;
	f->resources = gt_intern_new();
	return f;
}

void gt_phase_filter_free(struct gt_phase_filter *f)
{
	if (!f)
		return;
	gt_intern_free(f->resources);
	free(f->is_out);
	free(f->answers);
	free(f);
}

void gt_phase_filter_rewind(struct gt_phase_filter *f)
{
	gt_intern_free(f->resources);
	f->resources = gt_intern_new();
}

static bool is_wanted(struct gt_phase_filter *f, uint32_t phase)
{
	GT_REACH(f->answers, f->answer_count, phase);
	if (!f->answers[phase])
		f->answers[phase] = f->wants(f->recording, f->context, phase) ? 2 : 1;
	return f->answers[phase] == 2;
}

bool gt_phase_filter_takes(struct gt_phase_filter *f, const struct gt_event *e, uint32_t process)
{
	const struct gt_function *fn = &gt_functions[e->function];
	const struct resource key = { e->handle, process, gt_kinds[fn->kind].family };
	uint32_t number;
	bool takes;

	if (e->failed || e->unfinished)
		return is_wanted(f, e->phase);
	takes = fn->effect == GT_CREATE &&
		(gt_kinds[fn->kind].habits & GT_TAKES || is_wanted(f, e->phase));
	number = fn->effect == GT_CREATE && !takes ? gt_intern(f->resources, &key, sizeof key) :
						     gt_intern_find(f->resources, &key, sizeof key);
	if (number == GT_NOT_INTERNED)
		return true;
	GT_REACH(f->is_out, f->out_count, number);
	if (fn->effect == GT_CREATE)
		f->is_out[number] = !takes;
	return !f->is_out[number];
}
