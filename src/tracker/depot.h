/* SPDX-License-Identifier: MIT */
/* depot.h - stacks kept in the traced process, for those who ask where something was created. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The stack's number, the same for the same frames; 0 when there is no memory. */
uint32_t gt_depot_put(const uint64_t *frames, size_t count);
/* Its frames, good for ever; 0 frames for number 0. */
size_t gt_depot_get(uint32_t number, const uint64_t **frames);
/* Takes the memory that the first stacks will need. */
void gt_depot_warm(void);
/* In a child after fork, where another thread may have been inside. */
void gt_depot_restart(void);
