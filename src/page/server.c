/* SPDX-License-Identifier: MIT */
/* server.c - serves a page and its data to a browser on this machine. */
#include "page/server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/process.h"
#include "page/http.h"
#include "page/page.h"

enum {
	FRESH_MS = 900,    /* data this old is made anew; the page asks every second */
	REFRESH_SHARE = 4, /* … but making it takes no more than a fourth of the time */
	TOKEN_BYTES = 16,
	FORBIDDEN = 403,
	NOT_FOUND = 404,
	NOT_MODIFIED = 304,
	UNAVAILABLE = 503,
};

struct server {
	const struct gt_serve *how;
	uint16_t port;
	char token[2 * TOKEN_BYTES + 1];
	struct MHD_Response *data; /* the latest; a client may still be reading an older one */
	const char *data_text;     /* its bytes */
	size_t data_size;
	char data_tag[24];
	uint64_t made_ns, cost_ns;
};

static int make_token(struct server *s, struct gt_error *error)
{
	uint8_t bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return gt_error_set(error, -EIO, "cannot get random bytes from the system");
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static uint64_t ms_since(uint64_t then_ns)
{
	return (gt_now_ns() - then_ns) / 1000000;
}

/* Makes the data anew where it is old; false when there has never been any. */
static bool refresh(struct server *s, struct gt_error *error)
{
	uint64_t begun = gt_now_ns();
	char *data = NULL;
	size_t size = 0;
	FILE *out;
	int e;

	if (s->data && (ms_since(s->made_ns) < FRESH_MS ||
			gt_now_ns() - s->made_ns < REFRESH_SHARE * s->cost_ns))
		return true;
	out = gt_memstream(&data, &size);
	e = s->how->write_data(s->how->context, out, error);
	gt_memstream_close(out);
	s->made_ns = gt_now_ns();
	s->cost_ns = s->made_ns - begun;
	if (e) {
		free(data);
		return s->data;
	}
	if (s->data)
		gt_http_body_free(s->data);
	snprintf(s->data_tag, sizeof s->data_tag, "\"%016" PRIx64 "\"", gt_hash_bytes(data, size));
	s->data = gt_http_body(data, size, "application/json", s->data_tag);
	s->data_text = data;
	s->data_size = size;
	return true;
}

static struct MHD_Response *page_of(const struct server *s)
{
	char *page = NULL;
	size_t size = 0;
	FILE *out = gt_memstream(&page, &size);

	gt_page_begin(out, GT_PAGE_SERVED);
	fwrite(s->data_text, 1, s->data_size, out);
	gt_page_end(out);
	gt_memstream_close(out);
	return gt_http_body(page, size, "text/html; charset=utf-8", NULL);
}

static struct gt_http_reply answer_data(const struct server *s, const char *known_tag)
{
	if (!known_tag || strcmp(known_tag, s->data_tag))
		return (struct gt_http_reply){ .body = s->data, .keeps_body = true };
	return (struct gt_http_reply){ .status = NOT_MODIFIED,
				       .body = gt_http_body(gt_strdup(""), 0, "application/json",
							    s->data_tag) };
}

static const char route_page[] = "/", route_data[] = "/data.json";

/* The route that "/TOKEN…" asks for, NULL for none; takes as long for every wrong token. */
static const char *find_route(const struct server *s, const char *target)
{
	size_t size = sizeof s->token - 1;
	unsigned char differs = 0;
	const char *rest;

	if (strlen(target) < size + 1 || target[0] != '/')
		return NULL;
	for (size_t i = 0; i < size; i++)
		differs |= (unsigned char)(target[1 + i] ^ s->token[i]);
	rest = target + 1 + size;
	return differs                   ? NULL :
	       !strcmp(rest, route_page) ? route_page :
	       !strcmp(rest, route_data) ? route_data :
					   NULL;
}

static void answer(void *server, const struct gt_http_request *r, struct gt_http_reply *reply)
{
	struct server *s = server;
	const char *route = find_route(s, r->target);
	struct gt_error error;

	if (!gt_http_is_ours(r, s->port))
		reply->status = FORBIDDEN;
	else if (!route)
		reply->status = NOT_FOUND;
	else if (!refresh(s, &error))
		reply->status = UNAVAILABLE;
	else if (route == route_page)
		reply->body = page_of(s);
	else
		*reply = answer_data(s, r->if_none_match);
}

static void ready(void *server, uint16_t port)
{
	struct server *s = server;
	const char *address = s->how->address;
	bool v6 = strchr(address, ':');
	char url[192];

	s->port = port;
	snprintf(url, sizeof url, "http://%s%s%s:%u/%s/", v6 ? "[" : "", address, v6 ? "]" : "",
		 port, s->token);
	s->how->ready(s->how->context, url);
}

int gt_serve_run(const struct gt_serve *how, struct gt_error *error)
{
	struct server *s = gt_alloc(sizeof *s);
	const struct gt_http http = { .address = how->address,
				      .port = how->port,
				      .answer = answer,
				      .ready = ready,
				      .context = s };
	int e;

	s->how = how;
	e = gt_http_load("--serve", error);
	if (!e)
		e = make_token(s, error);
	if (!e && !refresh(s, error))
		e = -EINVAL;
	if (!e)
		e = gt_http_run(&http, error);
	if (s->data)
		gt_http_body_free(s->data);
	free(s);
	return e;
}
