/* SPDX-License-Identifier: MIT */
/* links.c - the kernel's links of probes, which are closed by many threads. */
#include "capture/ebpf/links.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

void gt_links_add(struct gt_links *l, int fd)
{
	GT_GROW(l->list, l->count, l->room);
	l->list[l->count++] = fd;
}

void gt_links_cut(struct gt_links *l, size_t kept)
{
	while (l->count > kept)
		close(l->list[--l->count]);
}

static void *close_some(void *links)
{
	struct gt_links *l = links;
	size_t i;

	while ((i = atomic_fetch_add(&l->next, 1)) < l->count)
		close(l->list[i]);
	return NULL;
}

/*
 * To close a link, the kernel waits until no processor can be in its programs any more: 30 to 80
 * ms. Threads that close links at the same time wait at the same time.
 */
void gt_links_begin_close(struct gt_links *l)
{
	if (l->is_closing)
		return;
	l->is_closing = true;
	while (l->closer_count < GT_LINK_CLOSERS && l->closer_count < l->count &&
	       !pthread_create(&l->closers[l->closer_count], NULL, close_some, l))
		l->closer_count++;
}

void gt_links_close(struct gt_links *l)
{
	gt_links_begin_close(l);
	/* in case no thread could be started */
	close_some(l);
	while (l->closer_count)
		pthread_join(l->closers[--l->closer_count], NULL);
	free(l->list);
}
