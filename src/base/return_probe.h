/* SPDX-License-Identifier: MIT */
/* return_probe.h - addresses that hide a caller, because a tool probes the return of its callee. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A function whose return is probed returns to a page that the kernel maps as high as it can: only
 * the kernel knows the real return address. Of x86-64 and, as pages may have up to 64 KiB and
 * addresses 39 to 52 bits, of arm64; recordings are read anywhere.
 */
static inline bool gt_is_return_probe(uint64_t address)
{
	const uint64_t last = address >> 16;

	return address >> 12 == 0x7fffffffe || last == 0x7fffff || last == 0x3ffffff ||
	       last == 0xffffffff || last == 0xfffffffff;
}
