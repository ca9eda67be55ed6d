/* SPDX-License-Identifier: MIT */
/* pick.c - which call sites a page has room for: those that lead in one way or another. */
#include <stdlib.h>

#include "base/mem.h"
#include "page/page.h"

static const size_t keys[] = {
	offsetof(struct gt_site, bytes_live),    offsetof(struct gt_site, live),
	offsetof(struct gt_site, bytes_at_peak), offsetof(struct gt_site, bytes_peak),
	offsetof(struct gt_site, bytes_total),   offsetof(struct gt_site, created),
};

enum { KEY_COUNT = sizeof keys / sizeof *keys };

static uint64_t value_of(const struct gt_site *site, size_t key)
{
	return *(const uint64_t *)((const char *)site + key);
}

static int most_first(const void *a, const void *b, void *key)
{
	const struct gt_site *x = *(const struct gt_site *const *)a;
	const struct gt_site *y = *(const struct gt_site *const *)b;
	uint64_t p = value_of(x, *(size_t *)key), q = value_of(y, *(size_t *)key);

	if (p != q)
		return p > q ? -1 : 1;
	return x < y ? -1 : x > y;
}

void gt_html_pick(const struct gt_ledger *l, size_t most, bool *marks)
{
	const struct gt_site **list;

	if (l->site_count <= most) {
		for (size_t i = 0; i < l->site_count; i++)
			marks[i] = true;
		return;
	}
	list = gt_alloc(l->site_count * sizeof(const struct gt_site *));
	for (size_t i = 0; i < l->site_count; i++)
		list[i] = &l->sites[i];
	for (int k = 0; k < KEY_COUNT; k++) {
		size_t key = keys[k];

		qsort_r(list, l->site_count, sizeof *list, most_first, &key);
		for (size_t i = 0; i < most / KEY_COUNT && value_of(list[i], key); i++)
			marks[list[i] - l->sites] = true;
	}
	free(list);
}
