/* SPDX-License-Identifier: MIT */
/*
 * rows_sender.h - the process that sends a spool's batches to ClickHouse.
 *
 * A process of its own: libcurl, and what comes from the network, have neither the agent's
 * privileges nor its memory, and the agent waits for nothing. It ends with the agent.
 */
#pragma once

#include <stdbool.h>

#include "base/mem.h"

struct gt_sender;

struct gt_sender_state {
	uint64_t sent_rows, sent_batches;
	uint64_t failures; /* attempts */
	bool is_failing;   /* the last attempt failed: */
	char error[512];   /* the latest failure; "" until there is one */
};

/* Borrows the texts. 0, or -errno: the URL is none, libcurl is missing, there is no process. */
int gt_sender_open(struct gt_sender **out, const char *url, const char *spool, const char *host,
		   struct gt_error *error);
/* Ends it at once: a batch that it was sending stays in the spool. */
void gt_sender_close(struct gt_sender *s);
/* There is a new batch. Starts the process again if it has ended. */
void gt_sender_wake(struct gt_sender *s);
struct gt_sender_state gt_sender_state(const struct gt_sender *s);
