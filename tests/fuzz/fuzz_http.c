/* SPDX-License-Identifier: MIT */
/* fuzz_http.c - reads any bytes as an HTTP request: never past their end, the same in pieces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/http.h"
#include "fuzz.h"

static void check_text(const char *text, size_t room)
{
	FUZZ_CHECK(memchr(text, '\0', room));
	for (; *text; text++)
		FUZZ_CHECK(*text >= 0x20 && *text <= 0x7e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* its own block, so that a sanitizer sees a read past its end */
	char *bytes = malloc(size ? size : 1);
	struct gt_http_request r, cut;
	enum gt_http_state state;

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	state = gt_http_parse(&r, bytes, size);
	if (state == GT_HTTP_WHOLE) {
		check_text(r.method, sizeof r.method);
		check_text(r.target, sizeof r.target);
		check_text(r.host, sizeof r.host);
		check_text(r.origin, sizeof r.origin);
		check_text(r.if_none_match, sizeof r.if_none_match);
		FUZZ_CHECK(r.target[0] == '/');
		FUZZ_CHECK(!gt_http_is_ours(&r, 8080) || strstr(r.host, ":8080"));
		/* a request is not whole before its last byte */
		FUZZ_CHECK(gt_http_parse(&cut, bytes, 3) == GT_HTTP_MORE);
	}
	if (size > GT_HTTP_MAX)
		FUZZ_CHECK(state == GT_HTTP_LONG);
	free(bytes);
	return 0;
}
