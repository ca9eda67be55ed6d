/* SPDX-License-Identifier: MIT */
/* series.c - rows over time as a page gets them: base64 of variable-length integers. */
#include "page/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

/* What a number of the page's language holds exactly. */
#define MOST ((UINT64_C(1) << 53) - 1)

static uint64_t held(uint64_t value)
{
	return value < MOST ? value : MOST;
}

void gt_html_times_json(struct gt_json *j, const char *key, const struct gt_time_series *p)
{
	uint8_t *bytes = gt_alloc(p->count * GT_VARINT_MAX + 1), *at = bytes;
	uint64_t last = 0;

	for (size_t i = 0; i < p->count; i++) {
		at = gt_put_varint(at, held(p->times[i]) - last);
		last = held(p->times[i]);
	}
	gt_json_base64(j, key, bytes, (size_t)(at - bytes));
	free(bytes);
}

void gt_html_channel_json(struct gt_json *j, const char *key, const struct gt_time_series *p,
			  size_t channel)
{
	uint8_t *bytes = gt_alloc(p->count * 3 * GT_VARINT_MAX + 1), *at = bytes;
	uint64_t last = 0;
	bool used = false;

	for (size_t i = 0; i < p->count; i++) {
		const struct gt_extent *e = gt_time_series_at(p, i, channel);

		used |= e->high != 0;
		at = gt_put_varint(at, gt_delta(last, held(e->last)));
		last = held(e->last);
		at = gt_put_varint(at, last - held(e->low));
		at = gt_put_varint(at, held(e->high) - last);
	}
	if (used)
		gt_json_base64(j, key, bytes, (size_t)(at - bytes));
	else
		gt_json_null(j, key);
	free(bytes);
}

void gt_html_track_json(struct gt_json *j, const struct gt_html *h, const struct gt_html_set *set,
			size_t track)
{
	size_t rows = set->kinds.count, before = 0;
	uint8_t *bytes = gt_alloc(rows * 3 * GT_VARINT_MAX + 1), *at = bytes;
	struct gt_html_state last = { 0, 0 };

	for (size_t i = 0; i < rows; i++) {
		struct gt_html_state now = set->tracks[i * h->track_count + track];

		now.bytes = held(now.bytes);
		now.count = held(now.count);
		if (now.bytes == last.bytes && now.count == last.count)
			continue;
		at = gt_put_varint(at, i + 1 - before);
		at = gt_put_varint(at, gt_delta(last.bytes, now.bytes));
		at = gt_put_varint(at, gt_delta(last.count, now.count));
		before = i + 1;
		last = now;
	}
	gt_json_base64(j, NULL, bytes, (size_t)(at - bytes));
	free(bytes);
}

void gt_html_trail_json(struct gt_json *j, const char *key, const struct gt_trail *t)
{
	size_t words = t->count * (t->width + 1);
	uint8_t *bytes = gt_alloc(words * 8 + 1);

	if (!t->count) {
		gt_json_null(j, key);
		goto free_bytes;
	}
	for (size_t i = 0; i < words; i++) {
		uint64_t word;

		memcpy(&word, &t->points[i], sizeof word);
		for (int k = 0; k < 8; k++)
			bytes[8 * i + (size_t)k] = (uint8_t)(word >> 8 * k);
	}
	gt_json_base64(j, key, bytes, words * 8);
free_bytes:
	free(bytes);
}
