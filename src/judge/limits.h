/* SPDX-License-Identifier: MIT */
/*
 * limits.h - how much may leak: parses --fail-on-leak=SPEC.
 *
 * SPEC is one or more limits, separated by commas. A limit is a word of api/select.h, alone (none
 * of it may leak) or with what is too much: "event>10" counts resources, "memory>1MiB" adds up
 * bytes;
 * ">=" works, too. A number with a unit is bytes, a bare one resources. The word "residue" means
 * driver residue (judge/residue.h), in bytes.
 */
#pragma once

#include "api/select.h"
#include "base/mem.h"

struct gt_limit {
	char *text; /* as it was given */
	struct gt_select what;
	uint64_t most; /* more than this fails */
	bool in_bytes;
	bool of_residue; /* then `what` is empty */
};

struct gt_limits {
	struct gt_limit *list;
	size_t count, room;
};

/* 0, or -EINVAL and a sentence that says where in `spec` the mistake is. */
int gt_limits_parse(struct gt_limits *limits, const char *spec, struct gt_error *error);
/* True when one of them limits driver residue. */
bool gt_limits_of_residue(const struct gt_limits *limits);
void gt_limits_fini(struct gt_limits *limits);
