/* SPDX-License-Identifier: MIT */
/* model_recording.h - a random program as a recording, as its writers would leave it, and damaged.
 */
#pragma once

#include "model_program.h"

/*
 * Writes the program's processes into the new folder `path`. With `damages`, some of them lose
 * events or bytes, and `damage` and the like of each say what a reader can know of that.
 */
void model_recording_write(struct model_program *program, const char *path, bool damages);
