/* SPDX-License-Identifier: MIT */
/* demangle.h - readable names for C++ and Rust functions. */
#pragma once

/*
 * The name as the programmer wrote it: namespaces and template arguments stay; the parameter list,
 * Rust's hash, symbol versions and the compiler's clone suffixes (.cold, .part.0) go. A copy of
 * `name` where there is nothing to change. The caller frees it.
 */
char *gt_name_demangle(const char *name);
