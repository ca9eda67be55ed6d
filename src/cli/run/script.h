/* SPDX-License-Identifier: MIT */
/* script.h - what a script does to the variables by which programs find our libraries. */
#pragma once

/*
 * The line in which a script gives LD_LIBRARY_PATH a value without the old one, so that Level Zero
 * does not find our layer; 0: it has none, or the program is no script.
 */
unsigned gt_script_drops_library_path(const char *program);
