/* SPDX-License-Identifier: MIT */
/* resident.h - gives back the memory that only a start-up needed. */
#pragma once

/*
 * For a command that runs for hours and has just started: returns malloc's free memory to the
 * kernel, and unmaps code and tables of files until they are used again. Most of them never are:
 * an executable with all its libraries is mapped around each page that the start has touched.
 */
void gt_resident_trim(void);
