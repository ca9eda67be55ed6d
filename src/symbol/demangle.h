/* SPDX-License-Identifier: MIT */
/* demangle.h - readable names for functions of C++, Rust, D and Fortran. */
#pragma once

/*
 * The name as the programmer wrote it: namespaces and template arguments stay; the parameter list,
 * Rust's hash, symbol versions and the compiler's suffixes (.cold, .part.0) go. A copy of `name`
 * where there is nothing to change: C, Go, and Swift, whose names nothing here can read. The
 * caller frees it.
 */
char *gt_name_demangle(const char *name);
