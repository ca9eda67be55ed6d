/* SPDX-License-Identifier: MIT */
/* memory_json.c - where the device's memory went over time, as a page shows it. */
#include "page/memory_json.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/memory_series.h"

/* Zigzag differences from column to column. */
static void values_json(struct gt_json *j, const struct gt_memory_series *s,
			const struct gt_device_series *d, int part)
{
	uint8_t bytes[GT_MEMORY_COLUMNS * GT_VARINT_MAX], *at = bytes;
	uint64_t last = 0;

	for (size_t i = 0; i < s->column_count; i++) {
		uint64_t now = gt_page_number(d->columns[i].parts[part]);

		at = gt_put_varint(at, gt_delta(last, now));
		last = now;
	}
	gt_json_base64(j, "values", bytes, (size_t)(at - bytes));
}

static void parts_json(struct gt_json *j, const struct gt_memory_series *s,
		       const struct gt_device_series *d, const struct gt_memory_column *at)
{
	gt_json_array(j, "parts");
	for (int part = 0; part < GT_PART_COUNT; part++) {
		bool is_used = false;

		for (size_t i = 0; i < s->column_count; i++)
			is_used |= d->columns[i].parts[part] != 0;
		if (!is_used)
			continue;
		gt_json_object(j, NULL);
		gt_json_text(j, "key", gt_part_keys[part]);
		gt_json_text(j, "name", gt_part_names[part]);
		gt_json_uint(j, "bytes", at->parts[part]);
		values_json(j, s, d, part);
		gt_json_end(j);
	}
	gt_json_end(j);
}

static void device_json(struct gt_json *j, const struct gt_view *v,
			const struct gt_memory_series *s)
{
	const struct gt_device_series *d = gt_memory_series_main(s, v);
	const struct gt_shortage *shortage = gt_memory_series_shortage(v);
	const struct gt_memory_column *at =
		&d->columns[shortage ? gt_memory_series_column(s, shortage->time_ns) : d->highest];

	gt_json_object(j, "memory");
	gt_json_text(j, "device", d->place ? gt_recording_place(v->recording, d->place) : "");
	gt_json_uint(j, "devices", s->device_count);
	gt_json_bool(j, "reported", d->is_reported);
	gt_json_uint(j, "capacity", d->capacity);
	gt_json_uint(j, "step_ns", s->column_ns);
	gt_json_int(j, "time_ns", gt_view_time(v, shortage ? shortage->time_ns : at->time_ns));
	if (shortage) {
		gt_json_object(j, "out_of_memory");
		gt_json_uint(j, "asked", shortage->asked);
		gt_json_end(j);
	} else {
		gt_json_null(j, "out_of_memory");
	}
	parts_json(j, s, d, at);
	gt_json_end(j);
}

void gt_page_memory_json(struct gt_json *j, const struct gt_view *v)
{
	struct gt_memory_series s;

	gt_memory_series_init(&s, v);
	if (gt_memory_series_tells_more(&s, v))
		device_json(j, v, &s);
	else
		gt_json_null(j, "memory");
	gt_memory_series_fini(&s);
}
