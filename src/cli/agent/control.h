/* SPDX-License-Identifier: MIT */
/*
 * control.h - questions to the agent, by a socket that only its own user can use.
 *
 * A request is a line; the reply is "ok SIZE" or "error SIZE" on a line, then SIZE bytes. The
 * process that answers HTTP requests asks in the same way, by a connection that it inherits, and
 * gets only what is public.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"

enum { GT_CONTROL_CLIENTS = 8, GT_CONTROL_LINE = 512 };

struct gt_control_client {
	int fd;          /* -1: none */
	bool is_public;  /* stays, and may ask for what is public alone */
	bool is_waiting; /* for an answer that takes a while */
	char line[GT_CONTROL_LINE];
	size_t line_size;
	char *reply; /* that is being sent; NULL: none */
	size_t reply_size, sent;
	uint64_t since_ns;
};

/*
 * Writes the answer to a request: 0; an error, which is -errno, and then it is a sentence; or 1:
 * gt_control_answer will be called later.
 */
typedef int gt_control_fn(void *context, struct gt_control_client *client, char *request,
			  FILE *out);

struct gt_control {
	int listener; /* -1: none */
	char path[108];
	struct gt_control_client clients[GT_CONTROL_CLIENTS];
	gt_control_fn *answer;
	void (*left)(void *context, struct gt_control_client *client); /* before its answer */
	void *context;
};

void gt_control_init(struct gt_control *c);
int gt_control_open(struct gt_control *c, const char *path, struct gt_error *error);
void gt_control_close(struct gt_control *c);
/* Adds the connection of the process that answers HTTP requests; closes the one before. */
void gt_control_add_public(struct gt_control *c, int fd);

/* For poll: GT_CONTROL_CLIENTS + 1 entries. */
size_t gt_control_poll(const struct gt_control *c, struct pollfd *fds);
/* Whatever has come meanwhile. */
void gt_control_run(struct gt_control *c, const struct pollfd *fds, size_t count);
/* Answers a client that is waiting. */
void gt_control_answer(struct gt_control_client *client, int error, const char *text);

/*
 * The other side: sends a request and waits for its reply, for `seconds` at most. 0 and the reply,
 * which the caller frees; or -errno and why.
 */
int gt_control_ask(int fd, const char *request, unsigned seconds, char **reply, size_t *size,
		   struct gt_error *error);
int gt_control_connect(const char *path, struct gt_error *error);
