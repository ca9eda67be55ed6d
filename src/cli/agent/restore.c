/* SPDX-License-Identifier: MIT */
/* restore.c - what processes held when an earlier agent ended, from its last recording. */
#include "cli/agent/restore.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "cli/agent/agent.h"

/* A process that is being restored. */
struct restored {
	struct gt_agent *agent;
	struct gt_traced *process;
	struct gt_recording *recording;
	uint32_t index; /* in the recording */
};

/* The process with this pid that recorded last; false: there is none, or it is another one. */
static bool find_process(const struct gt_recording *r, uint32_t pid, uint32_t *index)
{
	const struct gt_process *found = NULL;
	char link[64], program[PATH_MAX];
	ssize_t size;

	for (size_t i = 0; i < gt_recording_process_count(r); i++) {
		const struct gt_process *p = gt_recording_process(r, i);

		if (p->pid != pid || (found && p->start_ns < found->start_ns))
			continue;
		found = p;
		*index = (uint32_t)i;
	}
	if (!found || strcmp(found->boot, gt_boot_id()) != 0)
		return false;
	/* a pid may be another process's by now, and a process another program's */
	snprintf(link, sizeof link, "/proc/%u/exe", pid);
	size = readlink(link, program, sizeof program - 1);
	program[size > 0 ? size : 0] = '\0';
	return size > 0 && !strcmp(program, found->program) &&
	       gt_process_start_ns(pid) <= found->start_real_ns;
}

static void take_event(const struct restored *r, const struct gt_event *event)
{
	struct gt_event changed = *event;
	const char *place = event->place ? gt_recording_place(r->recording, event->place) : "";

	changed.stack = event->stack ? event->stack | GT_RESTORED : 0;
	changed.place =
		place && *place ?
			gt_places_number(r->process->places,
					 (enum gt_api)gt_functions[event->function].api, place) :
			0;
	gt_board_apply(r->agent->live.board, &changed, r->process->number);
}

static struct gt_recording *open_previous(const struct gt_agent *a, uint32_t pid)
{
	struct gt_recording *r;
	struct gt_error unused;
	char path[sizeof a->previous + 32];

	snprintf(path, sizeof path, "%s/%u.trace", a->previous, pid);
	if (!*a->previous || access(path, R_OK) ||
	    gt_recording_open(&r, a->previous, &(struct gt_recording_options){ .pid = pid },
			      &unused))
		return NULL;
	return r;
}

/* Processes and stacks are described as they are met. */
static void read_all(struct gt_recording *r)
{
	struct gt_event event;
	uint32_t index;

	while (gt_recording_next(r, &event, &index))
		;
}

void gt_agent_restore(struct gt_agent *a, struct gt_traced *process)
{
	struct restored r = { .agent = a, .process = process };
	struct gt_event event;
	uint32_t index;

	r.recording = open_previous(a, process->pid);
	if (!r.recording)
		return;
	read_all(r.recording);
	if (find_process(r.recording, process->pid, &r.index)) {
		/* times count from where they did before */
		process->first_ns = gt_recording_process(r.recording, r.index)->start_ns;
		gt_recording_rewind(r.recording);
		while (gt_recording_next(r.recording, &event, &index))
			if (index == r.index)
				take_event(&r, &event);
		a->has_restored = true;
	}
	gt_recording_close(r.recording);
}

struct gt_frames *gt_agent_restored_frames(const struct gt_agent *a, uint32_t pid)
{
	static struct gt_frames *frames;
	static uint32_t known_pid;
	struct gt_recording *r;

	if (known_pid == pid)
		return frames;
	known_pid = pid;
	frames = NULL;
	r = open_previous(a, pid);
	if (!r)
		return NULL;
	read_all(r);
	if (gt_frames_new(
		    &frames, r,
		    &(struct gt_frames_options){ .own = gt_own_options_rules(&a->settings.own) }))
		frames = NULL;
	return frames;
}
