/* SPDX-License-Identifier: MIT */
/*
 * debug_servers.h - asks debuginfod servers for files, and remembers which of them they lack.
 *
 * libdebuginfod remembers for ten minutes that a build id is unknown. Most libraries of a process
 * are unknown to every server, for good, and every report would ask for all of them again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gt_debug_servers;

enum gt_served_file { GT_SERVED_PROGRAM, GT_SERVED_DEBUG };

/*
 * Uses the servers in DEBUGINFOD_URLS. What they lack is remembered in a file in `folder`, for
 * these servers and for a day; NULL: it is not remembered. NULL where libdebuginfod is missing or
 * no server is named.
 */
struct gt_debug_servers *gt_debug_servers_new(const char *folder);
void gt_debug_servers_free(struct gt_debug_servers *s);

/* The path of the file, once downloaded, which the caller frees; NULL: there is none. */
char *gt_debug_servers_find(struct gt_debug_servers *s, enum gt_served_file file,
			    const uint8_t *build_id, size_t size);
