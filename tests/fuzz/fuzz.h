/* SPDX-License-Identifier: MIT */
/* fuzz.h - the interface between fuzz targets and libFuzzer or driver.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Runs one input. Returns 0; any error ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Changes the input in place, to at most `max_size` bytes, and returns its new size. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* A target that knows its format may define its own. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* The input as a file that can be opened by its path; the same path for every input. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Ends the process if a guarantee of the readers is broken. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__,           \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
