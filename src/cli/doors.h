/* SPDX-License-Identifier: MIT */
/* doors.h - where the libraries are that go into the traced program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Path of one of our libraries, absolute: beside the program (a build folder), or where it was
 * installed relative to it. False when it is in neither place.
 */
bool gt_doors_find(char *out, size_t size, const char *file);
