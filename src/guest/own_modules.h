/* SPDX-License-Identifier: MIT */
/* own_modules.h - tells the trace which executables and libraries are mapped where. */
#pragma once

#include <stdbool.h>

#include "trace/writer.h"

/* For gt_writer_options.modules: defines what is new and undefines what is gone. */
void gt_modules_define(struct gt_writer *w, void *unused);
/* True when something was unloaded since it was last asked. */
bool gt_modules_unloaded(void);
/* A new trace has been told nothing yet. */
void gt_modules_restart(void);
