/* SPDX-License-Identifier: MIT */
/* replay.c - the one loop that reads a recording's events, and applies them to ledgers. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/growing_sites.h"
#include "replay/held.h"

enum { TICK_EVENTS = 1 << 12 };

/* Replays under way, and the ledger of each. */
struct run {
	struct gt_recording *recording;
	const struct gt_replay *replays;
	struct gt_ledger **ledgers;
	size_t count;
	struct gt_look (*looks)[GT_LEDGER_AHEAD]; /* by ledger, at the events that come next */
};

static bool is_about(const struct run *run, const struct gt_replay *how, uint32_t process)
{
	return !how->pid || gt_recording_process(run->recording, process)->pid == how->pid;
}

static bool is_done(const struct gt_replay *how, const struct gt_ledger *l)
{
	return (how->until && l->events >= how->until) || (how->out && ferror(how->out));
}

/* True if the replay ends before this moment. */
static bool is_before(const struct gt_replay *how, uint64_t time_ns)
{
	return how->until_ns && how->until_ns < time_ns;
}

static inline void apply_event(const struct gt_replay *how, struct gt_ledger *l,
			       const struct gt_event *event, uint32_t process,
			       const struct gt_look *look)
{
	if (how->before)
		how->before(how->context, l, event->time_ns);
	gt_ledger_apply_ahead(l, event, process, look);
	if (l->growth)
		gt_growth_record(l->growth, l, event->time_ns);
	if (how->each)
		how->each(how->context, l, event, process);
}

/* `number`: of the event among those that the ledgers have looked at. */
static bool take_event(const struct run *run, const struct gt_event *event, uint32_t process,
		       size_t number)
{
	bool wants_more = false;

	for (size_t i = 0; i < run->count; i++) {
		const struct gt_replay *how = &run->replays[i];

		if (is_done(how, run->ledgers[i]) || is_before(how, event->time_ns))
			continue;
		if (is_about(run, how, process))
			apply_event(how, run->ledgers[i], event, process, &run->looks[i][number]);
		wants_more |= !is_done(how, run->ledgers[i]);
	}
	return wants_more;
}

/* True for one ledger of the whole recording. */
static bool is_whole(const struct run *run)
{
	const struct gt_replay *how = &run->replays[0];

	return run->count == 1 && !how->until && !how->until_ns && !how->pid && !how->out;
}

/* Some events that follow each other; false when no ledger wants more. */
static inline bool take_events(const struct run *run, bool whole, const struct gt_event *events,
			       const uint32_t *processes, size_t count)
{
	bool wants_more = true;

	for (size_t i = 0; i < run->count; i++)
		gt_ledger_look_ahead(run->ledgers[i], run->looks[i], events, processes, count);
	for (size_t i = 0; wants_more && i < count; i++) {
		if (whole)
			apply_event(&run->replays[0], run->ledgers[0], &events[i], processes[i],
				    &run->looks[0][i]);
		else
			wants_more = take_event(run, &events[i], processes[i], i);
	}
	return wants_more;
}

static bool take_all(void *context, const struct gt_event *events, const uint32_t *processes,
		     size_t count)
{
	return take_events(context, true, events, processes, count);
}

static bool take_wanted(void *context, const struct gt_event *events, const uint32_t *processes,
			size_t count)
{
	return take_events(context, false, events, processes, count);
}

static void process_ended(void *context, uint32_t process, uint64_t time_ns)
{
	const struct run *run = context;

	for (size_t i = 0; i < run->count; i++) {
		const struct gt_replay *how = &run->replays[i];
		struct gt_ledger *l = run->ledgers[i];

		if (is_done(how, l) || is_before(how, time_ns) || !is_about(run, how, process))
			continue;
		if (how->before)
			how->before(how->context, l, time_ns);
		gt_ledger_process_end(l, process);
		if (l->growth)
			gt_growth_record(l->growth, l, time_ns);
		if (how->ended)
			how->ended(how->context, l, time_ns);
	}
}

static void take_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	const struct run *run = context;

	for (size_t i = 0; i < run->count; i++) {
		const struct gt_replay *how = &run->replays[i];

		if (how->samples)
			gt_ledger_sample(run->ledgers[i], sample->series, sample->time_ns,
					 sample->value);
		if (how->sampled)
			how->sampled(how->context, process, sample);
	}
}

static void take_paging(void *context, uint32_t process, const struct gt_paging *paging)
{
	const struct run *run = context;

	for (size_t i = 0; i < run->count; i++)
		if (run->replays[i].paged && is_about(run, &run->replays[i], process))
			run->replays[i].paged(run->replays[i].context, process, paging);
}

static void take_touch(void *context, uint32_t process, const struct gt_touch *touch)
{
	const struct run *run = context;

	for (size_t i = 0; i < run->count; i++) {
		const struct gt_replay *how = &run->replays[i];

		if (how->touched && !is_done(how, run->ledgers[i]) && is_about(run, how, process))
			how->touched(how->context, run->ledgers[i], touch, process);
	}
}

/* Calls `take` on all events, some at a time, until it returns false. */
typedef bool take_fn(void *context, const struct gt_event *events, const uint32_t *processes,
		     size_t count);

static void read_events(struct gt_recording *r, take_fn *take, void *context, gt_tick_fn *tick)
{
	const struct gt_event *events;
	const uint32_t *processes;
	bool wants_more = true;
	uint64_t read = 0;
	size_t count, some;

	gt_recording_rewind(r);
	gt_recording_read_ahead(r);
	while (wants_more && (count = gt_recording_read(r, &events, &processes)))
		for (size_t i = 0; wants_more && i < count; i += some) {
			some = count - i < GT_LEDGER_AHEAD ? count - i : GT_LEDGER_AHEAD;
			wants_more = take(context, &events[i], &processes[i], some);
			if (tick && read / TICK_EVENTS != (read + some) / TICK_EVENTS)
				tick(read + some);
			read += some;
		}
	gt_recording_stop(r);
}

/* Events without a ledger. */
struct bare {
	gt_event_fn *each;
	void *context;
};

static bool take_bare(void *context, const struct gt_event *events, const uint32_t *processes,
		      size_t count)
{
	const struct bare *bare = context;
	bool wants_more = true;

	for (size_t i = 0; wants_more && i < count; i++)
		wants_more = bare->each(bare->context, &events[i], processes[i]);
	return wants_more;
}

void gt_replay_events(struct gt_recording *r, gt_event_fn *each, void *context, gt_tick_fn *tick)
{
	read_events(r, take_bare, &(struct bare){ each, context }, tick);
}

static enum gt_origin origin_of(const void *context, uint16_t function, uint32_t stack)
{
	return gt_recording_origin(context, function, stack);
}

/* What a process created before it was recorded, or while events were missing, is unknown. */
static bool may_miss(const void *context, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	const struct gt_recording *r = context;
	const struct gt_process *p = gt_recording_process(r, process);
	bool is_late = p->is_late || !strcmp(gt_recording_info(r, "capture"), "attach");

	return (!from_ns && is_late) ||
	       (p->gap_first_ns && p->gap_first_ns <= to_ns && p->gap_last_ns >= from_ns);
}

static struct gt_ledger *new_ledger(const struct gt_recording *r, const struct gt_replay *how)
{
	struct gt_ledger *l = gt_ledger_new();

	l->breakdown.origin = origin_of;
	l->breakdown.context = r;
	l->gaps = (struct gt_gaps){ may_miss, r };
	l->observer = how->observer;
	if (how->growth)
		l->growth = gt_growth_new();
	return l;
}

void gt_replay_run_all(struct gt_recording *r, const struct gt_replay *replays, size_t count,
		       struct gt_ledger **ledgers)
{
	struct run run = { r, replays, ledgers, count, gt_alloc(count * sizeof *run.looks) };

	for (size_t i = 0; i < count; i++)
		ledgers[i] = new_ledger(r, &replays[i]);
	gt_recording_on_end(r, process_ended, &run);
	gt_recording_on_sample(r, take_sample, &run);
	gt_recording_on_paging(r, take_paging, &run);
	gt_recording_on_touch(r, take_touch, &run);
	read_events(r, is_whole(&run) ? take_all : take_wanted, &run, replays[0].tick);
	gt_recording_on_end(r, NULL, NULL);
	gt_recording_on_sample(r, NULL, NULL);
	gt_recording_on_paging(r, NULL, NULL);
	gt_recording_on_touch(r, NULL, NULL);
	free(run.looks);
	for (size_t i = 0; i < count; i++) {
		if (replays[i].last)
			replays[i].last(replays[i].context, ledgers[i]);
		gt_ledger_finish(ledgers[i]);
		if (ledgers[i]->growth)
			gt_growth_end(ledgers[i]->growth);
		if (replays[i].held)
			gt_held_find(ledgers[i], r, replays[i].held);
	}
}

struct gt_ledger *gt_replay_run(struct gt_recording *r, const struct gt_replay *how)
{
	struct gt_ledger *l;

	gt_replay_run_all(r, how, 1, &l);
	return l;
}
