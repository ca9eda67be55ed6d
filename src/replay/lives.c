/* SPDX-License-Identifier: MIT */
/* lives.c - when each resource was created and when it ended, in steps of time. */
#include "replay/lives.h"

#include <stdlib.h>

#include "base/mem.h"

#define OVER (UINT32_MAX - 1) /* in the place of a birth: its end has been reported */

static void report(const struct gt_lives *l, struct gt_life *life, uint32_t slot)
{
	life->slot = slot;
	life->phase = slot < l->ledger->phase_count ? l->ledger->phases[slot] : 0;
	l->each(l->context, l->ledger, life);
}

static void born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	struct gt_lives *l = context;

	GT_REACH(l->births, l->birth_count, slot);
	l->births[slot] = l->now;
	if (slot < l->grown_count)
		l->grown[slot] = 0;
}

static void end(struct gt_lives *l, const struct gt_entry *entry, uint32_t slot, uint32_t step,
		enum gt_ended_by by)
{
	int64_t grown = slot < l->grown_count ? l->grown[slot] : 0;
	struct gt_life life = { .entry = entry,
				.born = l->births[slot],
				.ended = step,
				.count = 1,
				.bytes = (int64_t)gt_entry_bytes(entry) - grown,
				.by = by };

	if (life.born == OVER)
		return;
	report(l, &life, slot);
	l->births[slot] = OVER;
	if (step == GT_LIFE_GOES_ON || !grown)
		return;
	/* what blocks took of a segment and did not return ends with it */
	life.born = step;
	life.ended = GT_LIFE_GOES_ON;
	life.count = 0;
	life.bytes = -grown;
	report(l, &life, slot);
}

static void ended(void *context, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	struct gt_lives *l = context;

	if (by == GT_ENDED_BY_PROCESS)
		slot = gt_live_slot(&l->ledger->live, entry);
	end(l, entry, slot, l->now, by);
}

static void moved(void *context, const struct gt_entry *segment, int64_t bytes)
{
	struct gt_lives *l = context;
	uint32_t slot = gt_live_slot(&l->ledger->live, segment);
	struct gt_life life = {
		.entry = segment, .born = l->now, .ended = GT_LIFE_GOES_ON, .bytes = -bytes
	};

	report(l, &life, slot);
	GT_REACH(l->grown, l->grown_count, slot);
	l->grown[slot] -= bytes;
}

void gt_lives_init(struct gt_lives *l, gt_life_fn *each, void *context)
{
	*l = (struct gt_lives){
		.observer = { .born = born, .ended = ended, .moved = moved, .context = l },
		.each = each,
		.context = context,
	};
}

void gt_lives_fini(struct gt_lives *l)
{
	free(l->births);
	free(l->grown);
}

void gt_lives_end(struct gt_lives *l)
{
	const struct gt_live *live = l->ledger ? &l->ledger->live : NULL;

	for (size_t slot = 0; live && slot < gt_live_slots(live); slot++) {
		const struct gt_entry *entry = gt_live_at(live, (uint32_t)slot);

		if (entry->function != GT_FN_NONE)
			end(l, entry, (uint32_t)slot, GT_LIFE_GOES_ON, GT_ENDED_BY_CALL);
	}
}
