/* SPDX-License-Identifier: MIT */
/* test_random.h - random numbers that are the same in every run and on every machine. */
#pragma once

#include <stdint.h>

/* `state` starts with any value but 0. */
static inline uint64_t random_word(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1du;
}
