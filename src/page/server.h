/* SPDX-License-Identifier: MIT */
/*
 * server.h - serves a page and its data to a browser on this machine, until it is interrupted.
 *
 * Clients must know the token in the address, and name the server by number or as localhost. One
 * thread, few connections, one request on each.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"

struct gt_serve {
	const char *address; /* a numeric address */
	uint16_t port;       /* 0: any that is free */
	/* Writes the data as JSON; when it fails, the previous data stays. */
	int (*write_data)(void *context, FILE *out, struct gt_error *error);
	void *context;
	/* The address to open, with its token; called before the first request. */
	void (*ready)(void *context, const char *url);
};

/* Until SIGINT or SIGTERM; then 0. */
int gt_serve_run(const struct gt_serve *s, struct gt_error *error);
