/* SPDX-License-Identifier: MIT */
/* swift_name.h - the identifiers that a mangled Swift name carries. */
#pragma once

/*
 * "main.Pool.take" of "$s4main4PoolC4takeyyF": module, types and function, without labels, generic
 * arguments and types. Accessors have their property's name, closures that of their function. NULL
 * for what is not understood. The caller frees it.
 */
char *gt_swift_name(const char *mangled);
