/* SPDX-License-Identifier: MIT */
/*
 * http.h - one HTTP request, from a stranger's bytes: GET or HEAD, no body, nothing unusual.
 *
 * What is not plain is refused rather than guessed at: folded lines, blanks before a colon, two
 * Host lines, control characters, a body.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GT_HTTP_MAX = 8192 }; /* of a request; longer ones are refused */

enum gt_http_state {
	GT_HTTP_MORE, /* not all there yet */
	GT_HTTP_WHOLE,
	GT_HTTP_BAD,  /* status 400 */
	GT_HTTP_LONG, /* status 431 */
};

struct gt_http_request {
	char method[8], target[256];
	char host[128];   /* "" when there was none */
	char origin[160]; /* likewise */
	char if_none_match[80];
};

enum gt_http_state gt_http_parse(struct gt_http_request *r, const char *bytes, size_t size);

/*
 * True when the request names the server by number, or localhost, and the right port: a page of
 * elsewhere whose name was made to lead here names it otherwise. An Origin, if any, likewise.
 */
bool gt_http_is_ours(const struct gt_http_request *r, uint16_t port);
