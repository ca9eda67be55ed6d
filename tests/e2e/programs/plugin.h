/* SPDX-License-Identifier: MIT */
/* What plugin.c calls in the libraries that it loads. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include "cl_common.h"

/* Leaks one buffer of @size_bytes; every plugin has a function of this name. */
#define PLUGIN_ENTRY "plugin_run"
typedef cl_int (*plugin_run_fn)(cl_context context, size_t size_bytes);
__attribute__((visibility("default"))) cl_int plugin_run(cl_context context, size_t size_bytes);

#endif
