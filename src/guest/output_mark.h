/* SPDX-License-Identifier: MIT */
/* output_mark.h - whether a call filled in a result that it may fill in even if it fails. */
#pragma once

#include "guest/guest.h"

/* Before the call: marks the word, if the function has one. */
void gt_output_mark(struct gt_guest_call *g);
/* After it: sets `filled`. Where the driver wrote nothing, the program's value is restored. */
void gt_output_read(struct gt_guest_call *g);
