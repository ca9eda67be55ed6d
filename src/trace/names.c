/* SPDX-License-Identifier: MIT */
/* names.c - what programs call their resources, over all processes of a recording. */
#include "trace/names.h"

#include <stdlib.h>

#include "base/mem.h"

struct name {
	uint64_t handle, time_ns;
	uint32_t process;
	uint32_t next; /* in its hash chain: index + 1 */
	char *text;
};

struct gt_names {
	struct name *list;
	size_t count, room;
	uint32_t *heads; /* by hash: index + 1 */
	size_t mask;
};

struct gt_names *gt_names_new(void)
{
	return gt_alloc(sizeof(struct gt_names));
}

void gt_names_free(struct gt_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i].text);
	free(names->list);
	free(names->heads);
	free(names);
}

static uint64_t hash_of(uint32_t process, uint64_t handle, uint64_t time_ns)
{
	return gt_mix64(gt_mix64(handle ^ process) ^ time_ns);
}

static void link_name(struct gt_names *names, size_t i)
{
	struct name *n = &names->list[i];
	uint32_t *head = &names->heads[hash_of(n->process, n->handle, n->time_ns) & names->mask];

	n->next = *head;
	*head = (uint32_t)i + 1;
}

static void grow_heads(struct gt_names *names)
{
	size_t size = names->heads ? (names->mask + 1) * 2 : 64;

	free(names->heads);
	names->heads = gt_alloc(size * sizeof *names->heads);
	names->mask = size - 1;
	for (size_t i = 0; i < names->count; i++)
		link_name(names, i);
}

static const struct name *find(const struct gt_names *names, uint32_t process, uint64_t handle,
			       uint64_t time_ns)
{
	uint32_t i =
		names->heads ? names->heads[hash_of(process, handle, time_ns) & names->mask] : 0;

	for (; i; i = names->list[i - 1].next) {
		const struct name *n = &names->list[i - 1];

		if (n->process == process && n->handle == handle && n->time_ns == time_ns)
			return n;
	}
	return NULL;
}

void gt_names_take(struct gt_names *names, uint32_t process, const struct gt_definitions *d)
{
	for (size_t i = 0; i < d->name_count; i++) {
		const struct gt_trace_name *name = &d->names[i];

		if (find(names, process, name->handle, name->time_ns))
			continue;
		if (!names->heads || names->count > names->mask)
			grow_heads(names);
		GT_GROW(names->list, names->count, names->room);
		names->list[names->count] = (struct name){ .handle = name->handle,
							   .time_ns = name->time_ns,
							   .process = process,
							   .text = gt_strdup(name->name) };
		link_name(names, names->count++);
	}
}

const char *gt_names_find(const struct gt_names *names, uint32_t process, uint64_t handle,
			  uint64_t time_ns)
{
	const struct name *n = find(names, process, handle, time_ns);

	return n ? n->text : "";
}
