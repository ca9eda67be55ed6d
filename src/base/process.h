/* SPDX-License-Identifier: MIT */
/* process.h - what the kernel tells of a process by its number. */
#pragma once

#include <stdint.h>

/* When it was forked, as wall clocks tell it; 0: there is none that runs. */
uint64_t gt_process_began_ns(uint32_t pid);
