/* pass.c - a recording's events, one after the other, into a ledger. */
#include "view/pass.h"

#include "ledger/growth.h"

enum { TICK_EVENTS = 1 << 16 };

struct pass {
	struct gt_ledger *ledger;
	const struct gt_pass *how;
};

static void process_ended(void *context, uint32_t process, uint64_t time_ns)
{
	const struct pass *pass = context;

	gt_ledger_process_end(pass->ledger, process);
	if (pass->how->ended)
		pass->how->ended(pass->how->context, pass->ledger, time_ns);
}

static enum gt_origin origin_of(const void *context, uint16_t function, uint32_t stack)
{
	return gt_recording_origin(context, function, stack);
}

static void sampled(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct gt_ledger *l = context;

	(void)process;
	gt_samples_add(&l->samples, sample->series, sample->time_ns, sample->value);
}

struct gt_ledger *gt_pass_run(struct gt_recording *r, const struct gt_pass *how)
{
	struct gt_ledger *l = gt_ledger_new();
	struct pass pass = { l, how };
	struct gt_event event;
	uint32_t process;

	l->shares.origin = origin_of;
	l->shares.context = r;
	if (how->growth)
		l->growth = gt_growth_new();
	gt_recording_rewind(r);
	gt_recording_on_end(r, process_ended, &pass);
	if (how->samples)
		gt_recording_on_sample(r, sampled, l);
	while ((!how->until || l->events < how->until) &&
	       gt_recording_next(r, &event, &process) > 0) {
		gt_ledger_apply(l, &event, process);
		if (l->growth)
			gt_growth_note(l->growth, l, event.time_ns);
		if (how->each)
			how->each(how->context, l, &event);
		if (how->tick && l->events % TICK_EVENTS == 0)
			how->tick(l->events);
	}
	gt_recording_on_end(r, NULL, NULL);
	if (how->samples)
		gt_recording_on_sample(r, NULL, NULL);
	gt_ledger_finish(l);
	return l;
}
