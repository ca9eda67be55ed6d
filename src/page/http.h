/* SPDX-License-Identifier: MIT */
/*
 * http.h - a small, bounded HTTP server by libmicrohttpd, for the page and for the agent.
 *
 * One thread, few connections, one request on each, GET and HEAD alone. A client that does not ask
 * in time, or does not take its response, is dropped.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* What a response consists of: MHD_Response, which counts its users. */
struct MHD_Response;

/* Owns `text`; with the headers that all have. `tag` is an ETag, or NULL. */
struct MHD_Response *gt_http_body(char *text, size_t size, const char *type, const char *tag);
void gt_http_body_free(struct MHD_Response *body);

struct gt_http_request {
	const char *target; /* as it was sent: nothing is decoded or cut off */
	const char *host, *origin, *if_none_match, *authorization, *accept; /* NULL: none */
};

struct gt_http_reply {
	unsigned status;           /* 200 if it is not set */
	struct MHD_Response *body; /* NULL: the words of the status */
	bool keeps_body;           /* the caller frees it */
};

struct gt_http {
	const char *address;           /* a numeric address, or the path of a socket */
	uint16_t port;                 /* 0: any that is free */
	const char *certificate, *key; /* PEM; NULL: no TLS */
	void (*answer)(void *context, const struct gt_http_request *request,
		       struct gt_http_reply *reply);
	/* Called once, before the first request; the port is 0 for a socket. May be NULL. */
	void (*ready)(void *context, uint16_t port);
	void *context;
	/* A connection on which nothing comes unasked: its end is the server's. 0: none. */
	int until_fd;
};

/* Loads the library, which no other command pays for. `option` is what needs it, for the message.
 */
int gt_http_load(const char *option, struct gt_error *error);
/* Answers requests until SIGINT, SIGTERM or the end of `until_fd`; then 0. */
int gt_http_run(const struct gt_http *how, struct gt_error *error);

/*
 * True when the request names the server by number, or localhost, and the right port: a web site
 * whose name resolves to this machine (DNS rebinding) sends its own name. An Origin must match too.
 */
bool gt_http_is_ours(const struct gt_http_request *r, uint16_t port);
/* Compares secrets in a time that depends on the length of `is` alone. */
bool gt_http_is_secret(const char *given, const char *is);
