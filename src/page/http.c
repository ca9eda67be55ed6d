/* SPDX-License-Identifier: MIT */
/* http.c - one HTTP request, from a stranger's bytes. */
#include "page/http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct field {
	const char *name;
	char *to;
	size_t room;
	bool once;
};

/* Copies what fits; false for more than that, and for what is not printable ASCII. */
static bool take(char *to, size_t room, const char *from, size_t size)
{
	if (size >= room)
		return false;
	for (size_t i = 0; i < size; i++)
		if (from[i] < 0x20 || from[i] > 0x7e)
			return false;
	memcpy(to, from, size);
	to[size] = '\0';
	return true;
}

static bool parse_first(struct gt_http_request *r, const char *line, size_t size)
{
	const char *target = memchr(line, ' ', size);
	const char *version =
		target ? memchr(target + 1, ' ', size - (size_t)(target + 1 - line)) : NULL;
	size_t left = version ? size - (size_t)(version + 1 - line) : 0;

	return version && left == 8 &&
	       (!memcmp(version + 1, "HTTP/1.1", 8) || !memcmp(version + 1, "HTTP/1.0", 8)) &&
	       target > line && target[1] == '/' &&
	       take(r->method, sizeof r->method, line, (size_t)(target - line)) &&
	       take(r->target, sizeof r->target, target + 1, (size_t)(version - target - 1));
}

static bool is_name(const char *name, size_t size)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < size; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c && strchr(marks, c))))
			return false;
	}
	return size > 0;
}

static bool parse_header(struct gt_http_request *r, const char *line, size_t size)
{
	struct field fields[] = {
		{ "host", r->host, sizeof r->host, true },
		{ "origin", r->origin, sizeof r->origin, true },
		{ "if-none-match", r->if_none_match, sizeof r->if_none_match, false },
	};
	const char *colon = memchr(line, ':', size), *value;
	size_t name = colon ? (size_t)(colon - line) : 0, left;

	if (!colon || !is_name(line, name))
		return false;
	value = colon + 1;
	left = size - name - 1;
	while (left && (*value == ' ' || *value == '\t'))
		value++, left--;
	while (left && (value[left - 1] == ' ' || value[left - 1] == '\t'))
		left--;
	/* nothing here reads a body, so there may be none: what follows it could be read as ours */
	if (name == 17 && !strncasecmp(line, "transfer-encoding", 17))
		return false;
	if (name == 14 && !strncasecmp(line, "content-length", 14))
		return left == 1 && *value == '0';
	for (size_t i = 0; i < left; i++)
		if (iscntrl((unsigned char)value[i]) && value[i] != '\t')
			return false;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct field *f = &fields[i];

		if (name != strlen(f->name) || strncasecmp(line, f->name, name))
			continue;
		if (f->once && f->to[0])
			return false;
		return take(f->to, f->room, value, left) || !f->once;
	}
	return true;
}

enum gt_http_state gt_http_parse(struct gt_http_request *r, const char *bytes, size_t size)
{
	const char *at = bytes, *end = memmem(bytes, size, "\r\n\r\n", 4);
	bool first = true;

	memset(r, 0, sizeof *r);
	if (size > GT_HTTP_MAX)
		return GT_HTTP_LONG;
	if (!end)
		return size == GT_HTTP_MAX ? GT_HTTP_LONG : GT_HTTP_MORE;
	while (at <= end) {
		const char *stop = memmem(at, (size_t)(end + 2 - at), "\r\n", 2);
		size_t length = (size_t)(stop - at);

		if (first ? !parse_first(r, at, length) : !parse_header(r, at, length))
			return GT_HTTP_BAD;
		first = false;
		at = stop + 2;
	}
	return GT_HTTP_WHOLE;
}

enum { USUAL_PORT = 80 }; /* which nobody writes down */

/* "NUMBER:PORT", "[NUMBER]:PORT" or "localhost:PORT". */
static bool is_authority(const char *text, uint16_t port)
{
	const char *bracket = strrchr(text, ']'), *colon = strrchr(bracket ? bracket : text, ':');
	unsigned char address[16];
	char host[64], number[8];
	size_t size = colon ? (size_t)(colon - text) : strlen(text);

	snprintf(number, sizeof number, "%u", port);
	if (colon ? strcmp(colon + 1, number) != 0 : port != USUAL_PORT)
		return false;
	if (!size || size >= sizeof host)
		return false;
	memcpy(host, text, size);
	host[size] = '\0';
	if (host[0] == '[' && host[size - 1] == ']') {
		host[size - 1] = '\0';
		return inet_pton(AF_INET6, host + 1, address) == 1;
	}
	return !strcmp(host, "localhost") || inet_pton(AF_INET, host, address) == 1;
}

bool gt_http_is_ours(const struct gt_http_request *r, uint16_t port)
{
	if (!is_authority(r->host, port))
		return false;
	return !r->origin[0] ||
	       (!strncmp(r->origin, "http://", 7) && !strcmp(r->origin + 7, r->host));
}
