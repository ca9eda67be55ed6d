/* SPDX-License-Identifier: MIT */
/* shortage_json.c - how much memory there is, as a page shows it, and that it ran out. */
#include "page/shortage_json.h"

#include <stdlib.h>

#include "replay/group_text.h"
#include "replay/shortage.h"

enum { HOLDERS_MAX = 5 };

static void holders_json(struct gt_json *j, const struct gt_view *v, const struct gt_shortage *s,
			 struct gt_page_names *names)
{
	struct gt_shortage_holders holders;
	char count[GT_KIND_TEXT];
	size_t shown;

	gt_shortage_holders_init(&holders, v, s);
	shown = holders.places.count < HOLDERS_MAX ? holders.places.count : HOLDERS_MAX;
	gt_json_array(j, "holders");
	for (size_t i = 0; i < shown; i++) {
		const struct gt_site *site = holders.places.list[i];

		gt_json_object(j, NULL);
		gt_json_uint(j, "bytes", site->bytes_live);
		gt_json_text(j, "what", gt_kind_count(count, (enum gt_kind)site->kind, site->live));
		gt_json_uint(j, "place", gt_page_place(names, site->stack));
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_uint(j, "more_holders", holders.places.count - shown);
	gt_shortage_holders_fini(&holders);
}

void gt_page_shortage_json(struct gt_json *j, const struct gt_view *v, struct gt_page_names *names)
{
	const struct gt_shortage *s = gt_shortage_of(v);
	char *text;

	if (!s) {
		gt_json_null(j, "out_of_memory");
		return;
	}
	text = gt_shortage_text(v, s);
	gt_json_object(j, "out_of_memory");
	gt_json_text(j, "text", text);
	gt_json_text(j, "outcome", gt_shortage_outcome(v, s));
	gt_json_int(j, "time_ns", gt_view_time(v, s->time_ns));
	gt_json_uint(j, "count", s->count);
	gt_json_uint(j, "stack", gt_page_stack(names, s->stack));
	holders_json(j, v, s, names);
	gt_json_end(j);
	free(text);
}

void gt_page_capacity_json(struct gt_json *j, const struct gt_view *v)
{
	unsigned devices;
	uint64_t bytes = gt_used_capacity(v, &devices);

	if (!bytes) {
		gt_json_null(j, "capacity");
		return;
	}
	gt_json_object(j, "capacity");
	gt_json_uint(j, "bytes", bytes);
	gt_json_uint(j, "devices", devices);
	gt_json_end(j);
}
