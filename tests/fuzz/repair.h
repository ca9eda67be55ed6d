/* SPDX-License-Identifier: MIT */
/* repair.h - corrects magic words, sizes, sequence numbers and hashes of a changed trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The n-th block, counted from 0: its offset and maximum size; false if there is none. */
bool trace_block_at(const uint8_t *data, size_t size, size_t n, size_t *offset, size_t *room);

/* After this a reader gets as far as the records. */
void trace_repair(uint8_t *data, size_t size);
