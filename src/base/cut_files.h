/* cut_files.h - files that are cut short while they are mapped. */
#pragma once

/*
 * From here on, what a mapped file no longer holds reads as zeroes, instead of ending us with
 * SIGBUS: libraries and traces belong to others, who may cut them while we look. For the tool
 * alone; in a traced program SIGBUS is the program's.
 */
void gt_cut_files_survive(void);
