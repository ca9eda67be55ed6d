/* SPDX-License-Identifier: MIT */
/* intern.h - gives equal byte strings the same number, counting from 0. For the tool. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gt_intern;

struct gt_intern *gt_intern_new(void);
void gt_intern_free(struct gt_intern *in);

/* The number of these bytes, which are copied when they are new. */
uint32_t gt_intern(struct gt_intern *in, const void *bytes, size_t size);
/* Borrowed until the next gt_intern call. Aligned for 64-bit words. */
const void *gt_intern_get(const struct gt_intern *in, uint32_t number, size_t *size);
size_t gt_intern_count(const struct gt_intern *in);
