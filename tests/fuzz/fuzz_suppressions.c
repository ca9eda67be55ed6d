/* SPDX-License-Identifier: MIT */
/* fuzz_suppressions.c - reads any bytes as suppressions, and tries what was read on names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "judge/limits.h"
#include "replay/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gt_frame frames[] = {
		{ .function = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", .file = "/src/a.c" },
		{ .module = "" },
	};
	struct gt_suppressions s = { 0 };
	struct gt_limits limits;
	struct gt_error error = { "" };
	char *text = malloc(size + 1);
	int e = gt_suppressions_parse(&s, "input", (const char *)data, size, &error);

	FUZZ_CHECK(!e || *error.text);
	for (size_t i = 0; i < s.count; i++)
		FUZZ_CHECK(*s.list[i].pattern && s.list[i].line);
	gt_suppressions_find(&s, GT_OPENCL, GT_EVENT, "clCreateUserEvent", frames, 2);
	gt_suppressions_fini(&s);

	/* the same bytes as limits: they share the words */
	FUZZ_CHECK(text);
	memcpy(text, data, size);
	text[size] = '\0';
	*error.text = '\0';
	e = gt_limits_parse(&limits, text, &error);
	FUZZ_CHECK(e ? *error.text && !limits.count : limits.count);
	gt_limits_fini(&limits);
	free(text);
	return 0;
}
