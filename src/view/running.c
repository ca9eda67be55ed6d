/* running.c - what of a recording still goes on: what its programs hold may well be in use. */
#include "view/running.h"

#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"

/* How many of these resources are held by processes that run. */
static uint64_t held(const struct gt_view *v, const struct gt_groups *groups)
{
	size_t processes = gt_recording_process_count(v->recording);
	bool *runs = gt_alloc(processes + 1), any = false;
	uint64_t count = 0;

	for (size_t i = 0; i < processes; i++)
		any |= runs[i] = gt_process_runs(gt_recording_process(v->recording, i));
	for (size_t i = 0; any && i < groups->count; i++)
		for (size_t k = 0; k < groups->list[i].count; k++)
			count += runs[groups->list[i].objects[k]->process];
	free(runs);
	return count;
}

bool gt_running_holds(const struct gt_view *v, const struct gt_groups *groups)
{
	return gt_view_goes_on(v) ||
	       (groups->object_count && held(v, groups) == groups->object_count);
}

void gt_running_word(struct gt_page *p, const struct gt_view *v, const struct gt_groups *groups)
{
	bool alive = gt_running_holds(v, groups);

	gt_page_put(p, alive ? GT_YELLOW : GT_RED, alive ? "ALIVE" : "LEAKED");
}

void gt_running_line(struct gt_page *p, const struct gt_view *v, const struct gt_groups *groups)
{
	uint64_t count = held(v, groups);
	char text[GT_FORMAT_MAX];

	if (gt_view_goes_on(v))
		gt_page_wrap(p, GT_DIM, 2, "in programs that went on when gputrack let go: this "
			     "may be in use");
	else if (count && count == groups->object_count)
		gt_page_wrap(p, GT_DIM, 2, "in programs that still run: this may be in use");
	else if (count)
		gt_page_wrap(p, GT_YELLOW, 2, "%s of them in programs that still run: %s may be in "
			     "use", gt_format_count(text, count), gt_plural(count, "it", "they"));
}
