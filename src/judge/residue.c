/* SPDX-License-Identifier: MIT */
/* residue.c - driver residue: memory that drivers kept after destroys, as the tracker measured it.
 */
#include "judge/residue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

static const uint64_t KB_MOST = UINT64_MAX >> 11;

/* A label that only a newer tracker has counts as an object. */
static enum gt_label label_of(const char *name, size_t size)
{
	for (int i = 0; i < GT_LABEL_COUNT; i++)
		if (strlen(gt_labels[i]) == size && !strncmp(gt_labels[i], name, size))
			return (enum gt_label)i;
	return GT_LABEL_OTHER;
}

/* Adds a part, ", CommandList 6400", and returns what follows; NULL if it is not a part. */
static const char *take_one(struct gt_residue *residue, const char *at)
{
	const char *name = at + 2, *space;
	unsigned long long kb;
	char *end;

	if (strncmp(at, ", ", 2))
		return NULL;
	space = strchr(name, ' ');
	if (!space || space[1] < '0' || space[1] > '9')
		return NULL;
	kb = strtoull(space + 1, &end, 10);
	/* the sum over all processes must fit in bytes, too */
	if (kb > KB_MOST - residue->kb)
		return NULL;
	residue->of[label_of(name, (size_t)(space - name))] += kb;
	residue->kb += kb;
	return end;
}

static void add_process(struct gt_residue *residue, const struct gt_process *process)
{
	const char *text = process->residue;

	residue->measured += *text != '\0';
	/* skip the sum in front: the parts add up to it */
	text = strchr(text, ',');
	while (text && *text)
		text = take_one(residue, text);
}

void gt_residue_find(struct gt_residue *residue, const struct gt_recording *recording)
{
	*residue = (struct gt_residue){ 0 };
	for (size_t i = 0; i < gt_recording_process_count(recording); i++)
		add_process(residue, gt_recording_process(recording, i));
}

bool gt_residue_of_process(struct gt_residue *residue, const struct gt_process *process)
{
	*residue = (struct gt_residue){ 0 };
	add_process(residue, process);
	return residue->measured;
}

bool gt_residue_text(struct gt_printer *p, const struct gt_recording *recording)
{
	char total[GT_FORMAT_MAX], line[1024] = "";
	struct gt_residue residue;
	size_t used = 0;
	bool is_small;

	gt_residue_find(&residue, recording);
	if (!residue.kb)
		return false;
	for (int i = 0; i < GT_LABEL_COUNT && used < sizeof line; i++)
		if (residue.of[i])
			used += (size_t)snprintf(line + used, sizeof line - used,
						 "%s%s %" PRIu64 " KB", used ? ", " : "",
						 gt_labels[i], residue.of[i]);
	is_small = residue.kb <= GT_RESIDUE_LEAK_KB;
	gt_print_wrap(
		p, is_small ? GT_DIM : GT_YELLOW, 0,
		"RESIDUE  the driver kept %s of process memory after these were destroyed: %s",
		gt_format_bytes(total, residue.kb * 1024), line);
	if (is_small)
		gt_print_wrap(p, GT_DIM, 2,
			      "not above %d KB: it may be the driver's caches "
			      "(doc/resource-tracker.md)",
			      GT_RESIDUE_LEAK_KB);
	else
		gt_print_wrap(p, GT_DIM, 2,
			      "estimated by the resource tracker; not counted as a leak unless you "
			      "pass --fail-on-leak=residue (doc/resource-tracker.md)");
	return true;
}

void gt_residue_json(struct gt_json *j, const struct gt_recording *recording)
{
	struct gt_residue residue;

	gt_residue_find(&residue, recording);
	if (!residue.measured) {
		gt_json_null(j, "residue");
		return;
	}
	gt_json_line(j, "residue");
	gt_json_uint(j, "kb", residue.kb);
	gt_json_uint(j, "processes", residue.measured);
	gt_json_array(j, "labels");
	for (int i = 0; i < GT_LABEL_COUNT; i++) {
		if (!residue.of[i])
			continue;
		gt_json_object(j, NULL);
		gt_json_text(j, "label", gt_labels[i]);
		gt_json_uint(j, "kb", residue.of[i]);
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_end(j);
}
