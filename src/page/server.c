/* SPDX-License-Identifier: MIT */
/* server.c - serves a page and its data to a browser on this machine, by libmicrohttpd. */
#include "page/server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/bytes.h"
#include "base/process.h"
#include "base/mem.h"
#include "page/page.h"

enum {
	CONNECTIONS = 16,
	CONNECTION_BYTES = 16384, /* a request and the head of its response; more is refused */
	REQUEST_MS = 10000,       /* for a whole request to arrive */
	IDLE_S = 10,              /* for a client to take some of its response */
	FRESH_MS = 900,           /* data this old is made anew; the page asks every second */
	REFRESH_SHARE = 4,        /* … but making it takes no more than a fourth of the time */
	TOKEN_BYTES = 16,
	DEFAULT_PORT = 80, /* which browsers leave out */
};

/*
 * Loaded when a page is served: linked, libmicrohttpd and the GnuTLS that it brings would cost
 * every command memory and start-up time.
 */
#define LIBRARY "libmicrohttpd.so.12"
/* clang-format off */
#define FUNCTIONS(F) \
	F(add_connection) F(add_response_header) F(create_response_from_buffer) \
	F(destroy_response) F(get_connection_info) F(get_connection_values) \
	F(get_fdset2) F(get_reason_phrase_for) F(get_timeout) \
	F(queue_response) F(run_from_select) F(start_daemon) \
	F(stop_daemon)
/* clang-format on */

static struct {
#define F(name) __typeof__(MHD_##name) *name;
	FUNCTIONS(F)
#undef F
} mhd;

static int load_library(struct gt_error *error)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool is_whole = library;

#define F(name) is_whole = is_whole && (mhd.name = dlsym(library, "MHD_" #name));
	FUNCTIONS(F)
#undef F
	return is_whole ? 0 :
			  gt_error_set(error, -ENOENT,
				       "cannot load " LIBRARY ", which --serve needs (%s): install "
				       "libmicrohttpd12",
				       dlerror());
}

struct client {
	int fd; /* -1: free */
	uint64_t since_ns;
	bool has_asked; /* its request has arrived */
};

struct server {
	const struct gt_serve *how;
	struct MHD_Daemon *daemon;
	int listener;
	uint16_t port;
	char token[2 * TOKEN_BYTES + 1];
	struct client clients[CONNECTIONS];
	struct MHD_Response *data; /* the latest; a client may still be reading an older one */
	const char *data_text;     /* its bytes */
	size_t data_size;
	char data_tag[24];
	uint64_t made_ns, cost_ns;
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static int make_token(struct server *s, struct gt_error *error)
{
	uint8_t bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return gt_error_set(error, -EIO, "cannot get random bytes from the system");
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int listen_on(struct server *s, struct gt_error *error)
{
	const char *address = s->how->address;
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(s->how->port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(s->how->port) };
	bool is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
	socklen_t size = is_v4 ? sizeof v4 : sizeof v6;
	struct sockaddr *to = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	int yes = 1;

	if (!is_v4 && inet_pton(AF_INET6, address, &v6.sin6_addr) != 1)
		return gt_error_set(error, -EINVAL,
				    "--listen takes a numeric address such as 127.0.0.1, not %s",
				    address);
	s->listener =
		socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener >= FD_SETSIZE)
		errno = EMFILE;
	if (s->listener < 0 || s->listener >= FD_SETSIZE)
		return gt_error_set(error, -errno, "cannot create a socket: %s", strerror(errno));
	setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(s->listener, to, size) || listen(s->listener, CONNECTIONS) ||
	    getsockname(s->listener, to, &size))
		return gt_error_set(error, -errno,
				    "cannot listen on %s, port %u: %s; choose another port",
				    address, s->how->port, strerror(errno));
	s->port = ntohs(is_v4 ? v4.sin_port : v6.sin6_port);
	return 0;
}

static uint64_t ms_since(uint64_t then_ns)
{
	return (gt_now_ns() - then_ns) / 1000000;
}

/* A response that owns `text`, with the headers that all have. */
static struct MHD_Response *new_response(char *text, size_t size, const char *type)
{
	static const char *const headers[][2] = {
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ MHD_HTTP_HEADER_CONNECTION, "close" },
	};
	struct MHD_Response *response =
		gt_memory_check(mhd.create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE));

	mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		mhd.add_response_header(response, headers[i][0], headers[i][1]);
	return response;
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
		mhd.destroy_response(s->data);
	s->data = new_response(data, size, "application/json");
	s->data_text = data;
	s->data_size = size;
	snprintf(s->data_tag, sizeof s->data_tag, "\"%016" PRIx64 "\"", gt_hash_bytes(data, size));
	mhd.add_response_header(s->data, MHD_HTTP_HEADER_ETAG, s->data_tag);
	return true;
}

/* Queues a response and frees it once it is sent. */
static enum MHD_Result queue(struct MHD_Connection *c, unsigned status,
			     struct MHD_Response *response)
{
	enum MHD_Result result = mhd.queue_response(c, status, response);

	mhd.destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status)
{
	char *text = gt_strdup(mhd.get_reason_phrase_for(status));

	return queue(c, status, new_response(text, strlen(text), "text/plain; charset=utf-8"));
}

static enum MHD_Result answer_page(const struct server *s, struct MHD_Connection *c)
{
	char *page = NULL;
	size_t size = 0;
	FILE *out = gt_memstream(&page, &size);

	gt_page_begin(out, GT_PAGE_SERVED);
	fwrite(s->data_text, 1, s->data_size, out);
	gt_page_end(out);
	gt_memstream_close(out);
	return queue(c, MHD_HTTP_OK, new_response(page, size, "text/html; charset=utf-8"));
}

static enum MHD_Result answer_data(const struct server *s, struct MHD_Connection *c,
				   const char *known_tag)
{
	struct MHD_Response *unchanged;

	if (!known_tag || strcmp(known_tag, s->data_tag))
		return mhd.queue_response(c, MHD_HTTP_OK, s->data);
	unchanged = new_response(gt_strdup(""), 0, "application/json");
	mhd.add_response_header(unchanged, MHD_HTTP_HEADER_ETAG, s->data_tag);
	return queue(c, MHD_HTTP_NOT_MODIFIED, unchanged);
}

static const char route_page[] = "/", route_data[] = "/data.json";

/*
 * The route that "/TOKEN…" asks for, NULL for none; takes as long for every wrong token.
 * libmicrohttpd calls this with the target as it was sent: nothing is decoded, and nothing cut off.
 */
static void *find_route(void *server, const char *target, struct MHD_Connection *c)
{
	const struct server *s = server;
	size_t size = sizeof s->token - 1;
	unsigned char differs = 0;
	const char *rest;

	if (strlen(target) < size + 1 || target[0] != '/')
		return NULL;
	for (size_t i = 0; i < size; i++)
		differs |= (unsigned char)(target[1 + i] ^ s->token[i]);
	rest = target + 1 + size;
	return differs                   ? NULL :
	       !strcmp(rest, route_page) ? (void *)route_page :
	       !strcmp(rest, route_data) ? (void *)route_data :
					   NULL;
}

/* The headers of a request that matter here. */
struct headers {
	const char *host, *origin, *if_none_match; /* NULL: none */
	bool is_bad;                               /* one came twice, or announces a body */
};

static enum MHD_Result take_header(void *headers, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct headers *h = headers;
	const char **once = !strcasecmp(name, MHD_HTTP_HEADER_HOST)   ? &h->host :
			    !strcasecmp(name, MHD_HTTP_HEADER_ORIGIN) ? &h->origin :
									NULL;

	if (once) {
		h->is_bad |= *once != NULL || !value;
		*once = value;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_IF_NONE_MATCH)) {
		h->if_none_match = value;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
		h->is_bad = true;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
		h->is_bad |= !value || strcmp(value, "0") != 0;
	}
	return MHD_YES;
}

/* "NUMBER:PORT", "[NUMBER]:PORT" or "localhost:PORT". */
static bool is_authority(const char *text, uint16_t port)
{
	const char *bracket = strrchr(text, ']'), *colon = strrchr(bracket ? bracket : text, ':');
	unsigned char address[16];
	char host[64], number[8];
	size_t size = colon ? (size_t)(colon - text) : strlen(text);

	snprintf(number, sizeof number, "%u", port);
	if (colon ? strcmp(colon + 1, number) != 0 : port != DEFAULT_PORT)
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

/*
 * True when the request names the server by number, or localhost, and the right port: a web site
 * whose name resolves to this machine (DNS rebinding) sends its own name. An Origin must match too.
 */
static bool is_ours(const struct headers *h, uint16_t port)
{
	return h->host && is_authority(h->host, port) &&
	       (!h->origin ||
		(!strncmp(h->origin, "http://", 7) && !strcmp(h->origin + 7, h->host)));
}

static struct client *find_client(struct server *s, int fd)
{
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (s->clients[i].fd == fd)
			return &s->clients[i];
	return NULL;
}

static int fd_of(struct MHD_Connection *c)
{
	return mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* The head of a request has arrived; a response now makes libmicrohttpd read no body. */
static enum MHD_Result respond(void *server, struct MHD_Connection *c, const char *url,
			       const char *method, const char *version, const char *body,
			       size_t *body_size, void **route)
{
	struct server *s = server;
	struct client *client = find_client(s, fd_of(c));
	struct headers h = { 0 };
	struct gt_error error;

	if (client)
		client->has_asked = true;
	mhd.get_connection_values(c, MHD_HEADER_KIND, take_header, &h);
	if (h.is_bad)
		return refuse(c, MHD_HTTP_BAD_REQUEST);
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED);
	if (!is_ours(&h, s->port))
		return refuse(c, MHD_HTTP_FORBIDDEN);
	if (!*route)
		return refuse(c, MHD_HTTP_NOT_FOUND);
	if (!refresh(s, &error))
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE);
	return *route == route_page ? answer_page(s, c) : answer_data(s, c, h.if_none_match);
}

static void forget_client(void *server, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct client *client = find_client(server, fd_of(c));

	if (what == MHD_CONNECTION_NOTIFY_CLOSED && client)
		client->fd = -1;
}

/* Has libmicrohttpd close the connection: it finds that nothing more comes. */
static void hang_up(struct client *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->has_asked = true;
}

/* The client that has been here longest without asking for anything; NULL: none. */
static struct client *longest_silent(struct server *s)
{
	struct client *oldest = NULL;

	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct client *c = &s->clients[i];

		if (c->fd >= 0 && !c->has_asked && (!oldest || c->since_ns < oldest->since_ns))
			oldest = c;
	}
	return oldest;
}

/* Accepts the next client; if all places are taken, drops the longest silent one instead. */
static void accept_client(struct server *s)
{
	struct client *place = find_client(s, -1), *silent = longest_silent(s);
	struct sockaddr_storage address;
	socklen_t size = sizeof address;
	int fd;

	if (!place) {
		if (silent)
			hang_up(silent);
		return;
	}
	fd = accept4(s->listener, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	*place = (struct client){ .fd = fd, .since_ns = gt_now_ns() };
	/* it closes the descriptor when it cannot take it */
	if (mhd.add_connection(s->daemon, fd, (struct sockaddr *)&address, size) != MHD_YES)
		place->fd = -1;
}

/* libmicrohttpd gives a client more time with each byte that comes. */
static void hang_up_slow(struct server *s)
{
	struct client *c;

	while ((c = longest_silent(s)) && ms_since(c->since_ns) > REQUEST_MS)
		hang_up(c);
}

static struct timespec time_to_wait(const struct server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (mhd.get_timeout(s->daemon, &ms) != MHD_YES || ms > 1000)
		ms = 1000;
	return (struct timespec){ .tv_sec = (time_t)ms / 1000,
				  .tv_nsec = (long)(ms % 1000) * 1000000 };
}

/*
 * By select, not epoll: libmicrohttpd polls at edges there, and may overlook the end of a request
 * that came with its last bytes.
 */
static void serve(struct server *s, const sigset_t *while_waiting)
{
	while (!stopped) {
		struct timespec wait = time_to_wait(s);
		fd_set readable, writable, failed;
		int highest = -1;

		FD_ZERO(&readable);
		FD_ZERO(&writable);
		FD_ZERO(&failed);
		mhd.get_fdset2(s->daemon, &readable, &writable, &failed, &highest, FD_SETSIZE);
		if (find_client(s, -1) || longest_silent(s))
			FD_SET(s->listener, &readable);
		if (s->listener > highest)
			highest = s->listener;
		if (pselect(highest + 1, &readable, &writable, &failed, &wait, while_waiting) < 0)
			continue;
		if (FD_ISSET(s->listener, &readable))
			accept_client(s);
		hang_up_slow(s);
		mhd.run_from_select(s->daemon, &readable, &writable, &failed);
	}
}

/* No thread of its own and no listening socket: waiting and accepting are ours, to be bounded. */
static int start_daemon(struct server *s, struct gt_error *error)
{
	s->daemon = mhd.start_daemon(MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, respond, s,
				     MHD_OPTION_URI_LOG_CALLBACK, find_route, s,
				     MHD_OPTION_NOTIFY_CONNECTION, forget_client, s,
				     MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
				     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
				     MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	return s->daemon ? 0 :
			   gt_error_set(error, -EIO, "cannot start the page's server: %s",
					strerror(errno));
}

int gt_serve_run(const struct gt_serve *how, struct gt_error *error)
{
	struct server *s = gt_alloc(sizeof *s);
	struct sigaction action = { .sa_handler = stop };
	sigset_t blocked, before;
	char url[192];
	int e;

	s->how = how;
	s->listener = -1;
	for (size_t i = 0; i < CONNECTIONS; i++)
		s->clients[i].fd = -1;
	/* ends only while nothing is being written, and not because a client has gone */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGPIPE);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	sigaddset(&before, SIGPIPE);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	e = load_library(error);
	if (!e)
		e = make_token(s, error);
	if (!e)
		e = listen_on(s, error);
	if (!e && !refresh(s, error))
		e = -EINVAL;
	if (!e)
		e = start_daemon(s, error);
	if (!e) {
		bool v6 = strchr(how->address, ':');

		snprintf(url, sizeof url, "http://%s%s%s:%u/%s/", v6 ? "[" : "", how->address,
			 v6 ? "]" : "", s->port, s->token);
		how->ready(how->context, url);
		serve(s, &before);
		mhd.stop_daemon(s->daemon);
	}
	if (s->listener >= 0)
		close(s->listener);
	if (s->data)
		mhd.destroy_response(s->data);
	free(s);
	return e;
}
