/* SPDX-License-Identifier: MIT */
/* helper.h - the helper library of a test suite. */
#pragma once

#include <stddef.h>

void *helper_buffer(size_t bytes);
