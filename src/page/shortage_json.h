/* SPDX-License-Identifier: MIT */
/* shortage_json.h - how much memory there is, as a page shows it, and that it ran out. */
#pragma once

#include "page/encode.h"

/* "out_of_memory": an object in the words of reports, or null. */
void gt_page_shortage_json(struct gt_json *j, const struct gt_view *v, struct gt_page_names *names);
/* "capacity": an object, or null if it is not known. */
void gt_page_capacity_json(struct gt_json *j, const struct gt_view *v);
