/* SPDX-License-Identifier: MIT */
/* test_random.h - numbers that are the same in every run, on every machine. */
#pragma once

#include <stdint.h>

/* `state` may begin with anything but 0. */
static inline uint64_t random_word(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1du;
}
