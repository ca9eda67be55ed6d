/* SPDX-License-Identifier: MIT */
/* by.c - the ways to group: the words of --by. */
#include "replay/by.h"

#include "base/print.h"

#define WAY(name, word, one, many, part) word,
const char *const gt_by_names[] = { GT_WAYS(WAY) NULL };
#undef WAY

#define WAY(name, word, one_, many_, part_)                                                        \
	[GT_BY_##name] = { .one = one_, .many = many_, .part = GT_PART_##part_ },
static const struct {
	const char *one, *many;
	enum gt_part_by part;
} ways[GT_BY_COUNT] = { GT_WAYS(WAY) };
#undef WAY

const char *gt_by_noun(enum gt_by by, uint64_t count)
{
	return gt_plural(count, ways[by].one, ways[by].many);
}

enum gt_part_by gt_by_part(enum gt_by by)
{
	return ways[by].part;
}

bool gt_by_code(enum gt_by by)
{
	return ways[by].part == GT_PART_NONE;
}

bool gt_by_line(enum gt_by by)
{
	return by == GT_BY_LINE || by == GT_BY_STACK || !gt_by_code(by);
}
