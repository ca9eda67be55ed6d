/* SPDX-License-Identifier: MIT */
/* rank.c - the rank of a job that holds more than the others. */
#include "replay/rank.h"

#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"

/* What each rank holds, at the index of its first process; returns how many ranks there are. */
static size_t add_up(const struct gt_recording *r, const uint64_t *bytes, uint64_t *sums,
		     bool *is_first)
{
	size_t count = gt_recording_process_count(r), ranks = 0;
	struct gt_map first = { 0 };

	for (size_t i = 0; i < count; i++) {
		const char *rank = gt_recording_process(r, i)->rank;
		void **at = *rank ? gt_map_at(&first, strtoull(rank, NULL, 10) + 1) : NULL;

		if (!at)
			continue;
		if (!*at) {
			*at = (void *)(uintptr_t)(i + 1);
			is_first[i] = true;
			ranks++;
		}
		sums[(uintptr_t)*at - 1] += bytes[i];
	}
	gt_map_fini(&first);
	return ranks;
}

struct gt_rank gt_rank_find(const struct gt_recording *r, const uint64_t *bytes)
{
	size_t count = gt_recording_process_count(r), most = count;
	uint64_t *sums = gt_alloc((count + 1) * sizeof *sums);
	bool *is_first = gt_alloc((count + 1) * sizeof *is_first);
	size_t ranks = add_up(r, bytes, sums, is_first);
	struct gt_rank found = { .others = ranks ? ranks - 1 : 0 };

	for (size_t i = 0; i < count; i++)
		if (is_first[i] && (most == count || sums[i] > sums[most]))
			most = i;
	for (size_t i = 0; i < count; i++)
		if (is_first[i] && i != most && sums[i] > found.others_most)
			found.others_most = sums[i];
	if (found.others && sums[most] > found.others_most + found.others_most / 8) {
		found.rank = gt_recording_process(r, most)->rank;
		found.bytes = sums[most];
	}
	free(sums);
	free(is_first);
	return found;
}

static bool has_ranks(const struct gt_recording *r)
{
	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		if (*gt_recording_process(r, i)->rank)
			return true;
	return false;
}

static struct gt_rank rank_of(const struct gt_view *v, const struct gt_groups *groups)
{
	struct gt_rank found = { 0 };
	uint64_t *bytes;

	/* most programs are no job of several: then nobody need look at what may be millions */
	if (!has_ranks(v->recording))
		return found;
	bytes = gt_alloc((gt_recording_process_count(v->recording) + 1) * sizeof *bytes);
	for (size_t i = 0; i < groups->object_count; i++)
		bytes[groups->objects[i]->process] += gt_entry_bytes(groups->objects[i]);
	found = gt_rank_find(v->recording, bytes);
	free(bytes);
	return found;
}

void gt_rank_put(struct gt_printer *p, const struct gt_view *v, const struct gt_groups *groups)
{
	char text[GT_FORMAT_MAX], most[GT_FORMAT_MAX], count[GT_FORMAT_MAX];
	struct gt_rank found = rank_of(v, groups);

	if (found.rank && !found.others_most)
		gt_print_wrap(p, GT_PLAIN, 2, "all of it in rank %s, none in the %s other %s",
			      found.rank, gt_format_count(count, found.others),
			      gt_plural(found.others, "rank", "ranks"));
	else if (found.rank)
		gt_print_wrap(p, GT_PLAIN, 2, "%s of it in rank %s, at most %s in %s",
			      gt_format_bytes(text, found.bytes), found.rank,
			      gt_format_bytes(most, found.others_most),
			      found.others == 1 ? "the other" : "each other");
}

void gt_rank_json(struct gt_json *j, const struct gt_view *v, const struct gt_groups *groups)
{
	struct gt_rank found = rank_of(v, groups);

	if (!found.rank)
		return;
	gt_json_line(j, "rank");
	gt_json_text(j, "rank", found.rank);
	gt_json_uint(j, "bytes", found.bytes);
	gt_json_uint(j, "others", found.others);
	gt_json_uint(j, "others_most_bytes", found.others_most);
	gt_json_end(j);
}
