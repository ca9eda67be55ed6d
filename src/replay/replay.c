/* SPDX-License-Identifier: MIT */
/* replay.c - a recording's events, one after the other, into a ledger. */
#include "replay/replay.h"

#include "ledger/growing_sites.h"

struct pass {
	struct gt_ledger *ledger;
	const struct gt_replay *how;
};

static bool take_event(void *context, const struct gt_event *event, uint32_t process)
{
	const struct pass *pass = context;
	struct gt_ledger *l = pass->ledger;

	gt_ledger_apply(l, event, process);
	if (l->growth)
		gt_growth_record(l->growth, l, event->time_ns);
	if (pass->how->each)
		pass->how->each(pass->how->context, l, event);
	return !pass->how->until || l->events < pass->how->until;
}

static void process_ended(void *context, uint32_t process, uint64_t time_ns)
{
	const struct pass *pass = context;

	gt_ledger_process_end(pass->ledger, process);
	if (pass->ledger->growth)
		gt_growth_record(pass->ledger->growth, pass->ledger, time_ns);
	if (pass->how->ended)
		pass->how->ended(pass->how->context, pass->ledger, time_ns);
}

static void take_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	const struct pass *pass = context;

	if (pass->how->samples)
		gt_samples_add(&pass->ledger->samples, sample->series, sample->time_ns,
			       sample->value);
	if (pass->how->sampled)
		pass->how->sampled(pass->how->context, process, sample);
}

static enum gt_origin origin_of(const void *context, uint16_t function, uint32_t stack)
{
	return gt_recording_origin(context, function, stack);
}

struct gt_ledger *gt_replay_run(struct gt_recording *r, const struct gt_replay *how)
{
	struct gt_ledger *l = gt_ledger_new();

	l->shares.origin = origin_of;
	l->shares.context = r;
	if (how->growth)
		l->growth = gt_growth_new();
	gt_walk(r, &(struct gt_walk){ .event = take_event,
				      .ended = process_ended,
				      .sampled = take_sample,
				      .tick = how->tick,
				      .context = &(struct pass){ l, how } });
	gt_ledger_finish(l);
	return l;
}
