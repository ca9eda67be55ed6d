/* SPDX-License-Identifier: MIT */
/* devices.h - device memory as the GPUs report it, beside what was traced. */
#pragma once

#include "base/json.h"
#include "replay/view.h"

/* Whether the recording has such samples. Series are known once it has been read. */
bool gt_devices_any(const struct gt_view *v);
/* A paragraph: each GPU's peak, and how much of it nobody traced. Nothing without samples. */
void gt_devices_text(struct gt_printer *p, const struct gt_view *v);
/* "devices": one object for each series; nothing without samples. */
void gt_devices_json(struct gt_json *j, const struct gt_view *v);
