/* SPDX-License-Identifier: MIT */
/* traced_events.c - the events of a call of a traced process: to its trace, and to the listener. */
#include "capture/ebpf/traced.h"

#include "capture/ebpf/probe_rows.h"
#include "capture/ebpf/ze_devices.h"

struct emission {
	const struct gt_listener *listener;
	struct gt_traced *process;
	struct gt_lane *lane;
	const struct gt_replica *replica;
};

/* The questions that doors ask the driver. */
static uint64_t inferred_size(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	(void)handle;
	return gt_inferred_size(row, ((const struct gt_replica *)call)->words);
}

static uint64_t inferred_owner(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	const struct gt_replica *replica = (const struct gt_replica *)call;
	const struct emission *e = replica->context;

	(void)handle;
	if (gt_functions[row].owner.asks)
		return gt_inferred_buffer(row, replica->words);
	return gt_contexts_owner(&e->process->contexts, replica->current);
}

static uint16_t inferred_place(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	const struct gt_replica *replica = (const struct gt_replica *)call;
	struct gt_traced *p = ((const struct emission *)replica->context)->process;
	uint16_t place = 0;

	(void)handle;
	if (gt_functions[row].api == GT_CUDA)
		place = gt_places_device(
			p->places,
			gt_contexts_device(&p->contexts, row, replica->current, replica->words));
	else if (gt_functions[row].api == GT_OPENCL)
		place = gt_platforms_place(&p->platforms, replica->current);
	else if (gt_functions[row].api == GT_LEVELZERO)
		place = gt_ze_devices_place(p->ze_devices, p->places, call->function, call->argv);
	if (place && p->writer && !(p->places_written >> place & 1)) {
		const struct gt_place_entry *entry = gt_places_get(p->places, place);

		gt_writer_place(p->writer, place, entry->api, entry->name);
		p->places_written |= UINT64_C(1) << place;
	}
	return place;
}

static const struct gt_call_door door = { .size = inferred_size,
					  .owner = inferred_owner,
					  .place = inferred_place };

static void emit(void *context, const struct gt_event *event)
{
	struct emission *e = context;
	const struct gt_listener *l = e->listener;
	struct gt_event changed = *event;

	changed.function = gt_inferred_row((enum gt_function_id)event->function, e->replica->words);
	/* the end of a context created before gputrack attached */
	if (!gt_contexts_apply(&e->process->contexts, &changed, (uint32_t)e->replica->words[0]))
		return;
	if (e->lane)
		gt_lane_event(e->lane, &changed);
	if (l->event)
		l->event(l->context, e->process, &changed);
}

void gt_traced_events(struct gt_traced *p, struct gt_replica *replica, uint32_t tid,
		      const struct gt_listener *listener)
{
	struct emission e = { .listener = listener,
			      .process = p,
			      .lane = gt_traced_lane(p, tid),
			      .replica = replica };

	/* cppcheck-suppress autoVariables; only the calls below read it */
	replica->context = &e;
	gt_traced_pool(p, e.lane, &replica->report, replica->call.ended_ns);
	gt_call_events(&replica->call, &door, emit, &e);
}
