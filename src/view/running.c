/* running.c - what of a recording still goes on: what its programs hold may well be in use. */
#include "view/running.h"

#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"

uint64_t gt_running_count(const struct gt_recording *recording, const struct gt_groups *groups)
{
	size_t processes = gt_recording_process_count(recording);
	bool *holds = gt_alloc(processes + 1), any = false;
	uint64_t count = 0;

	for (size_t i = 0; i < processes; i++)
		any |= holds[i] = gt_process_goes_on(gt_recording_process(recording, i));
	for (size_t i = 0; any && i < groups->count; i++)
		for (size_t k = 0; k < groups->list[i].count; k++)
			count += holds[groups->list[i].objects[k]->process];
	free(holds);
	return count;
}

bool gt_running_holds(const struct gt_view *v, const struct gt_groups *groups)
{
	return groups->object_count &&
	       gt_running_count(v->recording, groups) == groups->object_count;
}

void gt_running_word(struct gt_page *p, const struct gt_view *v, const struct gt_groups *groups)
{
	bool alive = gt_running_holds(v, groups);

	gt_page_put(p, alive ? GT_YELLOW : GT_RED, alive ? "ALIVE" : "LEAKED");
}

/* True when recording stopped before a process had ended. */
static bool has_stopped(const struct gt_view *v)
{
	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++)
		if (gt_recording_process(v->recording, i)->state == GT_TRACE_STOPPED)
			return true;
	return false;
}

void gt_running_line(struct gt_page *p, const struct gt_view *v, const struct gt_groups *groups)
{
	const char *which = gt_view_goes_on(v) ? "went on when gputrack let go" :
			    has_stopped(v) ? "went on when recording stopped" : "still run";
	uint64_t count = gt_running_count(v->recording, groups);
	char text[GT_FORMAT_MAX];

	if (count && count == groups->object_count)
		gt_page_wrap(p, GT_DIM, 2, "in programs that %s: this may be in use", which);
	else if (count)
		gt_page_wrap(p, GT_YELLOW, 2, "%s of them in programs that %s: %s may be in use",
			     gt_format_count(text, count), which,
			     gt_plural(count, "it", "they"));
}
