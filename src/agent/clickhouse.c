/* SPDX-License-Identifier: MIT */
/* clickhouse.c - a ClickHouse server over HTTP, by libcurl. */
#include "agent/clickhouse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/text.h"
#include "base/tool.h"

enum {
	CONNECT_S = 10,
	STALL_S = 60,           /* a request during which nothing comes or goes for so long fails */
	QUERY_S = 600,          /* of a request in all */
	ANSWER_MAX = 256 << 20, /* bytes of an answer */
	PORT_HTTP = 8123,
	PORT_HTTPS = 8443,
};

/*
 * Loaded when a server is named (gt_tool_load_functions). The program that is to need no libraries
 * has it linked.
 */
/* clang-format off */
#define FUNCTIONS(F) \
	F(easy_init) F(easy_cleanup) F(easy_setopt) F(easy_perform) F(easy_getinfo) \
	F(easy_strerror) F(easy_escape) F(free) F(slist_append) F(slist_free_all) \
	F(url) F(url_set) F(url_get) F(url_cleanup)
/* clang-format on */

static struct {
#define F(name) __typeof__(curl_##name) *name;
	FUNCTIONS(F)
#undef F
} curl;

/* A macro of its header checks types, and stands in the way of a pointer of that name. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

struct gt_clickhouse {
	CURL *easy;
	char *base; /* "http://host:8123/?database=gputrack&…" */
	char *name; /* "http://host:8123/gputrack" */
	char *user, *password, *database;
	char failure[CURL_ERROR_SIZE];
};

#ifdef GT_NETWORK_LINKED
static int load_library(struct gt_error *error)
{
	(void)error;
#define F(name) curl.name = curl_##name;
	FUNCTIONS(F)
#undef F
	return 0;
}
#else
static int load_library(struct gt_error *error)
{
#define F(name) "curl_" #name,
	static const char *const names[] = { FUNCTIONS(F) };
#undef F
	const struct gt_tool_library library = { .file = "libcurl.so.4",
						 .user = "ClickHouse",
						 .package = "libcurl4",
						 .names = names,
						 .count = sizeof names / sizeof *names };

	return gt_tool_load_functions(&library, &curl, error);
}
#endif

/* A part of the URL, decoded; NULL if it has none. The caller frees it. */
static char *url_part(CURLU *u, CURLUPart part)
{
	char *text = NULL, *copy = NULL;

	if (!curl.url_get(u, part, &text, part == CURLUPART_QUERY ? 0 : CURLU_URLDECODE) && text)
		copy = gt_strdup(text);
	curl.free(text);
	return copy;
}

static bool is_name(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '_')
			return false;
	return *text && !isdigit((unsigned char)*text);
}

/* Without what was given: that may have a password in it. */
#define NO_URL "this is no URL of a server, such as http://HOST:8123"

static int take_url(struct gt_clickhouse *c, CURLU *u, struct gt_error *error)
{
	char *scheme = url_part(u, CURLUPART_SCHEME), *host = url_part(u, CURLUPART_HOST);
	char *port = url_part(u, CURLUPART_PORT), *path = url_part(u, CURLUPART_PATH);
	char *settings = url_part(u, CURLUPART_QUERY), standard[8];
	bool secure = scheme && !strcmp(scheme, "https");
	int e = 0;

	snprintf(standard, sizeof standard, "%d", secure ? PORT_HTTPS : PORT_HTTP);
	c->user = url_part(u, CURLUPART_USER);
	c->password = url_part(u, CURLUPART_PASSWORD);
	c->database = gt_strdup(path && path[0] && path[1] ? path + 1 : "gputrack");
	gt_path_trim_slashes(c->database);
	if (!scheme || (!secure && strcmp(scheme, "http") != 0) || !host)
		e = gt_error_set(error, -EINVAL, NO_URL);
	else if (!is_name(c->database))
		e = gt_error_set(error, -EINVAL, "'%s' is no name of a database", c->database);
	else if (asprintf(&c->name, "%s://%s:%s/%s", scheme, host, port ? port : standard,
			  c->database) < 0 ||
		 asprintf(&c->base, "%s://%s:%s/?database=%s%s%s", scheme, host,
			  port ? port : standard, c->database, settings ? "&" : "",
			  settings ? settings : "") < 0)
		gt_memory_check(NULL);
	free(scheme);
	free(host);
	free(port);
	free(path);
	free(settings);
	return e;
}

static void set_up(struct gt_clickhouse *c)
{
	CURL *easy = c->easy;

	curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, c->failure);
	curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl.easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl.easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
	curl.easy_setopt(easy, CURLOPT_TIMEOUT, (long)QUERY_S);
	curl.easy_setopt(easy, CURLOPT_USERAGENT, "gputrack/" GT_VERSION);
	if (c->user) {
		curl.easy_setopt(easy, CURLOPT_USERNAME, c->user);
		curl.easy_setopt(easy, CURLOPT_PASSWORD, c->password ? c->password : "");
	}
}

int gt_clickhouse_open(struct gt_clickhouse **out, const char *url, struct gt_error *error)
{
	struct gt_clickhouse *c;
	struct gt_error why;
	CURLU *u;
	int e = load_library(error);

	if (e)
		return e;
	c = gt_alloc(sizeof *c);
	u = gt_memory_check(curl.url());
	if (curl.url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME))
		e = gt_error_set(&why, -EINVAL, NO_URL);
	else
		e = take_url(c, u, &why);
	curl.url_cleanup(u);
	if (e) {
		gt_clickhouse_close(c);
		return gt_error_set(error, e, "--clickhouse: %s", why.text);
	}
	c->easy = gt_memory_check(curl.easy_init());
	set_up(c);
	*out = c;
	return 0;
}

void gt_clickhouse_close(struct gt_clickhouse *c)
{
	if (c->easy)
		curl.easy_cleanup(c->easy);
	free(c->base);
	free(c->name);
	free(c->user);
	free(c->password);
	free(c->database);
	free(c);
}

const char *gt_clickhouse_name(const struct gt_clickhouse *c)
{
	return c->name;
}

static size_t take_answer(char *bytes, size_t size, size_t count, void *answer)
{
	FILE *out = answer;

	/* what is not taken makes the request fail */
	return ftello(out) > ANSWER_MAX ? 0 : fwrite(bytes, size, count, out);
}

/* The first sentence of what the server says, in words for a line. */
static int refused(const struct gt_clickhouse *c, long status, const char *answer,
		   struct gt_error *error)
{
	size_t length = strcspn(answer, "\n");
	char *text = gt_strndup(answer, length < 300 ? length : 300);
	char *clean = gt_text_sanitize(text);

	gt_error_set(error, -EPROTO, "%s answers with status %ld: %s", c->name, status,
		     *clean ? clean : "no reason given");
	free(clean);
	free(text);
	return -EPROTO;
}

static int perform(struct gt_clickhouse *c, const char *url, const char *body, size_t size,
		   bool is_gzip, char **answer, struct gt_error *error)
{
	struct curl_slist *headers = NULL;
	size_t answer_size = 0;
	FILE *out = gt_memstream(answer, &answer_size);
	long status = 0;
	CURLcode code;
	int e = 0;

	/* without an Expect each would wait a second for an old server's permission */
	headers = gt_memory_check(curl.slist_append(headers, "Expect:"));
	headers = gt_memory_check(curl.slist_append(headers, "Content-Type: text/plain"));
	if (is_gzip)
		headers = gt_memory_check(curl.slist_append(headers, "Content-Encoding: gzip"));
	c->failure[0] = '\0';
	curl.easy_setopt(c->easy, CURLOPT_URL, url);
	curl.easy_setopt(c->easy, CURLOPT_POST, 1L);
	curl.easy_setopt(c->easy, CURLOPT_POSTFIELDS, body);
	curl.easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	curl.easy_setopt(c->easy, CURLOPT_HTTPHEADER, headers);
	curl.easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, take_answer);
	curl.easy_setopt(c->easy, CURLOPT_WRITEDATA, out);
	code = curl.easy_perform(c->easy);
	gt_memstream_close(out);
	curl.easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
	curl.slist_free_all(headers);
	curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	if (code)
		e = gt_error_set(error, -EIO, "cannot reach %s: %s", c->name,
				 c->failure[0] ? c->failure : curl.easy_strerror(code));
	else if (status != 200)
		e = refused(c, status, *answer, error);
	if (e) {
		free(*answer);
		*answer = NULL;
	}
	return e;
}

int gt_clickhouse_insert(struct gt_clickhouse *c, const char *table, const char *columns,
			 const void *gzip, size_t size, struct gt_error *error)
{
	char *query, *escaped, *url, *answer;
	int e;

	if (asprintf(&query, "INSERT INTO %s (%s) FORMAT TabSeparated", table, columns) < 0)
		gt_memory_check(NULL);
	escaped = gt_memory_check(curl.easy_escape(c->easy, query, 0));
	if (asprintf(&url, "%s&query=%s", c->base, escaped) < 0)
		gt_memory_check(NULL);
	e = perform(c, url, gzip, size, true, &answer, error);
	if (!e)
		free(answer);
	curl.free(escaped);
	free(query);
	free(url);
	return e;
}

int gt_clickhouse_query(struct gt_clickhouse *c, const char *query, char **answer,
			struct gt_error *error)
{
	char *url;
	int e;

	/* the status says how it ended, not how it began */
	if (asprintf(&url, "%s&wait_end_of_query=1", c->base) < 0)
		gt_memory_check(NULL);
	e = perform(c, url, query, strlen(query), false, answer, error);
	free(url);
	return e;
}
