/* SPDX-License-Identifier: MIT */
/* definitions.h - takes lane 0 of a trace apart. */
#pragma once

#include "base/bytes.h"
#include "trace/reader.h"

/* Adds the records of one block; false when they are damaged: what came before them stays. */
bool gt_definitions_add(struct gt_definitions *d, const uint8_t *records, size_t size);
void gt_definitions_free(struct gt_definitions *d);
