/* SPDX-License-Identifier: MIT */
/* gzip.h - bytes as a gzip file, stored and not compressed: for readers that want gzip. */
#pragma once

#include <stddef.h>
#include <stdio.h>

void gt_gzip_put(FILE *out, const void *data, size_t size);
