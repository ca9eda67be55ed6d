/* SPDX-License-Identifier: MIT */
/* residue.c - driver residue: memory that drivers kept after destroys, as the tracker measured it.
 */
#include "judge/residue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

enum { LABELS_MAX = 1024 };

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
static const char *take_one(struct gt_residue_sum *sum, const char *at)
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
	if (kb > KB_MOST - sum->kb)
		return NULL;
	sum->of[label_of(name, (size_t)(space - name))] += kb;
	sum->kb += kb;
	return end;
}

static void take_all(struct gt_residue_sum *sum, const char *text)
{
	/* skip the sum in front: the parts add up to it */
	text = strchr(text, ',');
	while (text && *text)
		text = take_one(sum, text);
}

static void add_process(struct gt_residue *residue, const struct gt_process *process)
{
	residue->measured += *process->residue != '\0';
	take_all(&residue->left, process->residue);
	take_all(&residue->once, process->residue_once);
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

/* "CommandList 6400 KB, EventPool 64 KB" */
static const char *labels_format(char line[LABELS_MAX], const struct gt_residue_sum *sum)
{
	size_t used = 0;

	line[0] = '\0';
	for (int i = 0; i < GT_LABEL_COUNT && used < LABELS_MAX; i++)
		if (sum->of[i])
			used += (size_t)snprintf(line + used, LABELS_MAX - used,
						 "%s%s %" PRIu64 " KB", used ? ", " : "",
						 gt_labels[i], sum->of[i]);
	return line;
}

static void put_once(struct gt_printer *p, const struct gt_residue *residue)
{
	char total[GT_FORMAT_MAX], line[LABELS_MAX];

	gt_format_bytes(total, residue->once.kb * 1024);
	labels_format(line, &residue->once);
	if (residue->left.kb)
		gt_print_wrap(p, GT_DIM, 2, "and %s once, on first use: %s", total, line);
	else
		gt_print_wrap(
			p, GT_DIM, 0,
			"RESIDUE  the driver kept %s of process memory once, on first use, and "
			"no more with each handle: %s",
			total, line);
}

bool gt_residue_text(struct gt_printer *p, const struct gt_recording *recording)
{
	char total[GT_FORMAT_MAX], line[LABELS_MAX];
	struct gt_residue residue;
	bool is_small;

	gt_residue_find(&residue, recording);
	is_small = residue.left.kb <= GT_RESIDUE_LEAK_KB;
	if (residue.left.kb)
		gt_print_wrap(p, is_small ? GT_DIM : GT_YELLOW, 0,
			      "RESIDUE  the driver kept %s of process memory after these were "
			      "destroyed: %s",
			      gt_format_bytes(total, residue.left.kb * 1024),
			      labels_format(line, &residue.left));
	if (residue.once.kb)
		put_once(p, &residue);
	if (residue.left.kb && is_small)
		gt_print_wrap(p, GT_DIM, 2,
			      "not above %d KB: it may be the driver's caches "
			      "(doc/resource-tracker.md)",
			      GT_RESIDUE_LEAK_KB);
	else if (residue.left.kb)
		gt_print_wrap(p, GT_DIM, 2,
			      "estimated by the resource tracker; not counted as a leak unless you "
			      "pass --fail-on-leak=residue (doc/resource-tracker.md)");
	return residue.left.kb || residue.once.kb;
}

static void put_labels(struct gt_json *j, const struct gt_residue_sum *sum)
{
	gt_json_array(j, "labels");
	for (int i = 0; i < GT_LABEL_COUNT; i++) {
		if (!sum->of[i])
			continue;
		gt_json_object(j, NULL);
		gt_json_text(j, "label", gt_labels[i]);
		gt_json_uint(j, "kb", sum->of[i]);
		gt_json_end(j);
	}
	gt_json_end(j);
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
	gt_json_uint(j, "kb", residue.left.kb);
	gt_json_uint(j, "processes", residue.measured);
	put_labels(j, &residue.left);
	gt_json_object(j, "once");
	gt_json_uint(j, "kb", residue.once.kb);
	put_labels(j, &residue.once);
	gt_json_end(j);
	gt_json_end(j);
}
