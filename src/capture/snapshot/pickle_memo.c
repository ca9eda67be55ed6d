/* SPDX-License-Identifier: MIT */
/* pickle_memo.c - the numbered objects of a pickle that later parts of it may refer to. */
#include "capture/snapshot/pickle_memo.h"

#include <stdlib.h>

#include "base/mem.h"

enum { PAGE = 1024 };

uint32_t gt_pickle_memo_get(const struct gt_pickle_memo *m, uint64_t number)
{
	const uint32_t *page = number / PAGE < m->page_count ? m->pages[number / PAGE] : NULL;

	return page ? page[number % PAGE] : 0;
}

void gt_pickle_memo_set(struct gt_pickle_memo *m, uint64_t number, uint32_t value)
{
	if (number >= m->next)
		m->next = number + 1;
	/* dictionaries of events, the most of all objects, need no page */
	if (!value && (number / PAGE >= m->page_count || !m->pages[number / PAGE]))
		return;
	if (number / PAGE >= m->page_count)
		GT_REACH(m->pages, m->page_count, number / PAGE);
	if (!m->pages[number / PAGE])
		m->pages[number / PAGE] = gt_alloc(PAGE * sizeof(uint32_t));
	m->pages[number / PAGE][number % PAGE] = value;
}

void gt_pickle_memo_fini(struct gt_pickle_memo *m)
{
	for (size_t i = 0; i < m->page_count; i++)
		free(m->pages[i]);
	free(m->pages);
}
