/* SPDX-License-Identifier: MIT */
/*
 * server.h - hands a page and its data to a browser on this machine, as long as it is wanted.
 *
 * Whoever asks must know the token in the address, and name the server by number. One thread, few
 * connections, nothing that one of them sends is kept.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"

struct gt_serve {
	const char *address; /* a numeric address */
	uint16_t port;       /* 0: any that is free */
	/* Writes the data as JSON; the data before is kept when it fails. */
	int (*write_data)(void *context, FILE *out, struct gt_error *error);
	void *context;
	/* The address to open, with its token, before the first question. */
	void (*ready)(void *context, const char *url);
};

/* Until SIGINT or SIGTERM; then 0. */
int gt_serve_run(const struct gt_serve *s, struct gt_error *error);
