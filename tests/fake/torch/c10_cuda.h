/* SPDX-License-Identifier: MIT */
/* c10_cuda.h - what a program calls of the stand-in for PyTorch's allocator, by dlsym. */
#pragma once

#include "caching.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

/* Once: loads the driver and makes a context. */
FAKE_EXPORT void fake_torch_start(bool expandable);
/* For totals. */
FAKE_EXPORT struct caching *fake_torch_pool(void);
/* 0: memory has run out, which is reported. */
FAKE_EXPORT uint64_t fake_torch_malloc(int private, uint64_t size);
FAKE_EXPORT void fake_torch_free(uint64_t address);
FAKE_EXPORT void fake_torch_trim(void);
/* A block in main memory; of 0 bytes: it is freed. */
FAKE_EXPORT void fake_torch_cpu(void *block, size_t size);
