/* SPDX-License-Identifier: MIT */
/* fuzz.h - what fuzz targets offer, to libFuzzer or to driver.c, and what both offer to them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One input. Returns 0; whatever is wrong ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Changes the input in place, to at most `max_size` bytes, and gives its new size. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* A target that knows its format may have one of its own. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* The input as a file that can be opened by its path; the same path for every input. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Ends the process when something that readers promise does not hold. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__,           \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
