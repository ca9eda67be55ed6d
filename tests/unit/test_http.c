/* SPDX-License-Identifier: MIT */
/* test_http.c - requests that a browser sends, and those that nobody should be answered for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "page/http.h"

static struct gt_http_request request;

static enum gt_http_state parse(const char *text)
{
	return gt_http_parse(&request, text, strlen(text));
}

static void a_browser_is_understood(void **state)
{
	(void)state;
	assert_int_equal(parse("GET /token/data.json HTTP/1.1\r\nhOsT:  127.0.0.1:8080 \r\n"
			       "Accept: */*\r\nIf-None-Match: \"12\"\r\n\r\n"),
			 GT_HTTP_WHOLE);
	assert_string_equal(request.method, "GET");
	assert_string_equal(request.target, "/token/data.json");
	assert_string_equal(request.host, "127.0.0.1:8080");
	assert_string_equal(request.if_none_match, "\"12\"");
	assert_string_equal(request.origin, "");
}

static void a_part_is_not_a_request(void **state)
{
	static const char whole[] = "GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n";

	(void)state;
	for (size_t size = 0; size < sizeof whole - 1; size++)
		assert_int_equal(gt_http_parse(&request, whole, size), GT_HTTP_MORE);
	assert_int_equal(gt_http_parse(&request, whole, sizeof whole - 1), GT_HTTP_WHOLE);
}

static void what_is_not_plain_is_refused(void **state)
{
	static const char *const bad[] = {
		"GET\r\n\r\n",
		"\r\n\r\n",
		"GET / HTTP/2.0\r\n\r\n",
		"GET http://elsewhere/ HTTP/1.1\r\n\r\n",
		"GET  / HTTP/1.1\r\n\r\n",
		"GET /\x01 HTTP/1.1\r\n\r\n",
		"PROPFIND / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : localhost:1\r\n\r\n",
		"GET / HTTP/1.1\r\n folded\r\n\r\n",
		"GET / HTTP/1.1\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a:1\r\nHost: b:1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\x80:1\r\n\r\n",
		"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
		"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\nHost: a:1\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (parse(bad[i]) != GT_HTTP_BAD)
			fail_msg("taken: %s", bad[i]);
}

static void endless_requests_are_refused(void **state)
{
	static char text[GT_HTTP_MAX + 10];

	(void)state;
	memset(text, 'a', sizeof text);
	assert_int_equal(gt_http_parse(&request, text, GT_HTTP_MAX - 1), GT_HTTP_MORE);
	assert_int_equal(gt_http_parse(&request, text, GT_HTTP_MAX), GT_HTTP_LONG);
	assert_int_equal(gt_http_parse(&request, text, sizeof text), GT_HTTP_LONG);
	memset(text, 'a', 400);
	memcpy(text, "GET /", 5);
	memcpy(text + 300, " HTTP/1.1\r\n\r\n", 13);
	assert_int_equal(gt_http_parse(&request, text, 313), GT_HTTP_BAD);
}

static bool is_ours(const char *host, const char *origin)
{
	struct gt_http_request r = { .method = "GET", .target = "/" };

	snprintf(r.host, sizeof r.host, "%s", host);
	snprintf(r.origin, sizeof r.origin, "%s", origin);
	return gt_http_is_ours(&r, 8080);
}

static void names_that_lead_here_are_not_ours(void **state)
{
	(void)state;
	assert_true(is_ours("127.0.0.1:8080", ""));
	assert_true(is_ours("localhost:8080", ""));
	assert_true(is_ours("[::1]:8080", "http://[::1]:8080"));
	assert_false(is_ours("", ""));
	assert_false(is_ours("127.0.0.1", ""));
	assert_false(is_ours("127.0.0.1:80", ""));
	assert_false(is_ours("evil.example:8080", ""));
	assert_false(is_ours("127.0.0.1.evil.example:8080", ""));
	assert_false(is_ours("127.0.0.1:8080", "http://evil.example"));
	assert_false(is_ours("127.0.0.1:8080", "https://127.0.0.1:8080"));
	assert_false(is_ours("127.0.0.1:8080", "null"));
	assert_false(is_ours(":8080", ""));
	/* the port that nobody writes down */
	memset(&request, 0, sizeof request);
	strcpy(request.host, "127.0.0.1");
	assert_true(gt_http_is_ours(&request, 80));
	strcpy(request.origin, "http://127.0.0.1");
	assert_true(gt_http_is_ours(&request, 80));
	strcpy(request.origin, "http://evil.example");
	assert_false(gt_http_is_ours(&request, 80));
	strcpy(request.host, "evil.example");
	assert_false(gt_http_is_ours(&request, 80));
	request.origin[0] = '\0';
	strcpy(request.host, "[::1]");
	assert_true(gt_http_is_ours(&request, 80));
	strcpy(request.host, "[::1]:80");
	assert_true(gt_http_is_ours(&request, 80));
	assert_false(is_ours("[]:8080", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_browser_is_understood),
		cmocka_unit_test(a_part_is_not_a_request),
		cmocka_unit_test(what_is_not_plain_is_refused),
		cmocka_unit_test(endless_requests_are_refused),
		cmocka_unit_test(names_that_lead_here_are_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
