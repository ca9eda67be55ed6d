/* SPDX-License-Identifier: MIT */
/* function_name.h - names of functions made short enough to read: C++, Rust, and all the others. */
#pragma once

#include <stdbool.h>

/*
 * A copy of a function's name with its outermost template arguments as `<…>` (`<...>` without
 * `utf8`). Operators, lambdas and arguments no longer than the mark stay as they are, and so does
 * everything from an unclosed bracket on. The caller frees it.
 */
char *gt_function_abbreviate(const char *name, bool utf8);

/*
 * The name as a place says it, which is the same for all instances of a template: no template
 * arguments, parameters, anonymous namespaces, ABI tags, clones or hashes; lambdas and closures as
 * part of their function:
 *
 *   (anonymous namespace)::Pool<float>::take[abi:cxx11](int)      Pool::take
 *   main::{lambda(int)#1}::operator()(int) const                  main::{lambda}
 *   app::run::{{closure}}::h0123456789abcdef                      app::run::{{closure}}
 *   <app::Pool<T> as app::Allocate>::take                         <app::Pool as
 * app::Allocate>::take
 *
 * Behind many brackets that stay, as unclosed ones do, the rest of a name is left as it is. The
 * caller frees it.
 */
char *gt_function_short(const char *name);

/* The last two parts of a name with more than three: "Cache::take" of "c10::cuda::Cache::take". */
const char *gt_function_tail(const char *name);
