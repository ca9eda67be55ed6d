/* SPDX-License-Identifier: MIT */
/*
 * residue_sums.h - driver residue: what the calls on destroyed handles left in the process.
 *
 * The only place that adds it up. The CSV's last column, the log and the text in the trace that
 * reports and pages read are all taken from here, so they agree.
 *
 * Memory that malloc holds free is not residue. Memory that is left once, by the first handles of a
 * label, is what the label's first use costs. Residue is what handle after handle leaves: its sum
 * is the number of handles times what each of them left in the long run.
 */
#pragma once

#include <stdbool.h>

#include "tracker/live_table.h"

/*
 * Adds what the calls on a destroyed handle left: the cost of the calls before, and `last`, that of
 * the destroying one. Sets `ending->left`. Does nothing where a call's cost is uncertain.
 */
void gt_residue_add(struct gt_ending *ending, const struct gt_cost *last);
/* The residue of a label's destroyed handles, and of all labels. */
int64_t gt_residue_kb(enum gt_label label);
/* What a label's handles left besides, once. */
int64_t gt_residue_once_kb(enum gt_label label);
int64_t gt_residue_total_kb(void);
/* Call in a child after fork. */
void gt_residue_restart(void);
