/* SPDX-License-Identifier: MIT */
/* mapped_libraries.c - mappings that were heard of, for processes that are gone before anybody
 * looks. */
#include "capture/ebpf/mapped_libraries.h"

#include <stdlib.h>

#include "base/mem.h"

void gt_heard_fini(struct gt_heard *h)
{
	for (size_t i = 0; i < GT_HEARD_MAX; i++)
		free(h->list[i].mapping.path);
	*h = (struct gt_heard){ 0 };
}

void gt_heard_add(struct gt_heard *h, uint32_t pid, const struct gt_mapping *m)
{
	struct gt_heard_mapping *at = &h->list[h->next++ % GT_HEARD_MAX];

	free(at->mapping.path);
	at->pid = pid;
	at->mapping = *m;
	at->mapping.path = gt_strdup(m->path);
}

static bool is_over_another(const struct gt_mappings *all, const struct gt_mapping *m)
{
	for (size_t i = 0; i < all->count; i++)
		if (m->start < all->list[i].end && all->list[i].start < m->end)
			return true;
	return false;
}

void gt_heard_of(struct gt_mappings *out, const struct gt_heard *h, uint32_t pid)
{
	*out = (struct gt_mappings){ 0 };
	for (size_t i = h->next; i-- > 0 && h->next - i <= GT_HEARD_MAX;) {
		const struct gt_heard_mapping *at = &h->list[i % GT_HEARD_MAX];

		/* older: a library that was unloaded, or what the process was before an exec */
		if (at->pid != pid || is_over_another(out, &at->mapping))
			continue;
		GT_GROW(out->list, out->count, out->room);
		out->list[out->count] = at->mapping;
		out->list[out->count++].path = gt_strdup(at->mapping.path);
	}
}
