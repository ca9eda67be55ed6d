/* SPDX-License-Identifier: MIT */
/* info.h - a recording's `info`: lines "key: value" that a person can read too. */
#pragma once

#include "base/mem.h"

struct gt_info;

struct gt_info *gt_info_new(void);
void gt_info_free(struct gt_info *info);
/* An absent file gives an empty list; a line that is none is passed over. */
struct gt_info *gt_info_read(const char *path);

void gt_info_set(struct gt_info *info, const char *key, const char *value);
void gt_info_setf(struct gt_info *info, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "" when the key is not there. */
const char *gt_info_get(const struct gt_info *info, const char *key);

/* Written beside, then renamed. */
int gt_info_write(const struct gt_info *info, const char *path, struct gt_error *error);
