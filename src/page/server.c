/* SPDX-License-Identifier: MIT */
/* server.c - hands a page and its data to a browser on this machine. */
#include "page/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/process.h"
#include "page/http.h"
#include "page/page.h"

enum {
	CONNECTIONS = 16,
	PATIENCE_MS = 10000, /* with a connection that does nothing */
	FRESH_MS = 900,      /* data this old is made anew; the page asks every second */
	SHARE = 4,           /* … but making it takes no more than a fourth of the time */
	TOKEN_BYTES = 16,
};

struct connection {
	int fd; /* -1: free */
	uint64_t since_ns;
	char in[GT_HTTP_MAX];
	size_t in_size;
	char *out; /* NULL: still asking */
	size_t out_size, out_sent;
};

struct server {
	const struct gt_serve *how;
	int listener;
	uint16_t port;
	char token[2 * TOKEN_BYTES + 1];
	struct connection connections[CONNECTIONS];
	char *data; /* the latest, with its size and hash */
	size_t data_size;
	uint64_t data_hash, made_ns, cost_ns;
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static int make_token(struct server *s)
{
	uint8_t bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return -EIO;
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
				    "%s is no numeric address; --listen takes one, "
				    "such as 127.0.0.1",
				    address);
	s->listener =
		socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return gt_error_set(error, -errno, "cannot make a socket: %s", strerror(errno));
	setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(s->listener, to, size) || listen(s->listener, CONNECTIONS) ||
	    getsockname(s->listener, to, &size))
		return gt_error_set(error, -errno,
				    "cannot listen on %s, port %u: %s; choose "
				    "another port",
				    address, s->how->port, strerror(errno));
	s->port = ntohs(is_v4 ? v4.sin_port : v6.sin6_port);
	return 0;
}

static uint64_t ms_since(uint64_t then_ns)
{
	return (gt_now_ns() - then_ns) / 1000000;
}

/* Data that is new enough, or as new as can be had; false when there has never been any. */
static bool refresh(struct server *s, struct gt_error *error)
{
	uint64_t begun = gt_now_ns();
	char *data = NULL;
	size_t size = 0;
	FILE *out;
	int e;

	if (s->data &&
	    (ms_since(s->made_ns) < FRESH_MS || gt_now_ns() - s->made_ns < SHARE * s->cost_ns))
		return true;
	out = open_memstream(&data, &size);
	e = out ? s->how->write_data(s->how->context, out, error) : -ENOMEM;
	if (out && fclose(out))
		e = -ENOMEM;
	s->made_ns = gt_now_ns();
	s->cost_ns = s->made_ns - begun;
	if (e) {
		free(data);
		return s->data;
	}
	free(s->data);
	s->data = data;
	s->data_size = size;
	s->data_hash = gt_hash_bytes(data, size);
	return true;
}

struct answer {
	const char *status, *type;
	const char *body; /* may be NULL */
	size_t size;
	bool head_only;
	bool tagged;
};

static void answer(struct server *s, struct connection *c, const struct answer *a)
{
	FILE *out = open_memstream(&c->out, &c->out_size);

	if (!out)
		return;
	fprintf(out, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", a->status,
		a->type ? a->type : "text/plain; charset=utf-8", a->size);
	if (a->tagged)
		fprintf(out, "ETag: \"%016" PRIx64 "\"\r\n", s->data_hash);
	fputs("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
	      "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
	      "Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
	      out);
	if (a->body && !a->head_only)
		fwrite(a->body, 1, a->size, out);
	fclose(out);
}

static void refuse(struct server *s, struct connection *c, const char *status)
{
	answer(s, c, &(struct answer){ .status = status, .body = status, .size = strlen(status) });
}

static void answer_page(struct server *s, struct connection *c, bool head_only)
{
	char *page = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&page, &size);

	if (!out)
		return;
	gt_html_begin(out, &(struct gt_html_page){ .served = true });
	fwrite(s->data, 1, s->data_size, out);
	gt_html_end(out);
	fclose(out);
	answer(s, c,
	       &(struct answer){ .status = "200 OK",
				 .type = "text/html; charset=utf-8",
				 .body = page,
				 .size = size,
				 .head_only = head_only });
	free(page);
}

static void answer_data(struct server *s, struct connection *c, const struct gt_http_request *r,
			bool head_only)
{
	char tag[32];

	snprintf(tag, sizeof tag, "\"%016" PRIx64 "\"", s->data_hash);
	if (!strcmp(r->if_none_match, tag))
		answer(s, c,
		       &(struct answer){ .status = "304 Not Modified",
					 .tagged = true,
					 .type = "application/json" });
	else
		answer(s, c,
		       &(struct answer){ .status = "200 OK",
					 .type = "application/json",
					 .body = s->data,
					 .size = s->data_size,
					 .head_only = head_only,
					 .tagged = true });
}

/* What follows the token in "/TOKEN…"; NULL for another. Takes as long for every wrong one. */
static const char *after_token(const struct server *s, const char *target)
{
	size_t size = sizeof s->token - 1;
	unsigned char differs = 0;

	if (strlen(target) < size + 1)
		return NULL;
	for (size_t i = 0; i < size; i++)
		differs |= (unsigned char)(target[1 + i] ^ s->token[i]);
	return differs ? NULL : target + 1 + size;
}

static void respond(struct server *s, struct connection *c, const struct gt_http_request *r)
{
	bool head_only = !strcmp(r->method, "HEAD");
	const char *rest = after_token(s, r->target);
	struct gt_error error;

	if (!head_only && strcmp(r->method, "GET")) {
		refuse(s, c, "405 Method Not Allowed");
	} else if (!gt_http_is_ours(r, s->port)) {
		refuse(s, c, "403 Forbidden");
	} else if (!rest || (strcmp(rest, "/") && strcmp(rest, "/data.json"))) {
		refuse(s, c, "404 Not Found");
	} else if (!refresh(s, &error)) {
		refuse(s, c, "503 Service Unavailable");
	} else if (!strcmp(rest, "/")) {
		answer_page(s, c, head_only);
	} else {
		answer_data(s, c, r, head_only);
	}
}

static void hang_up(struct connection *c)
{
	close(c->fd);
	free(c->out);
	c->fd = -1;
	c->out = NULL;
}

static void hear(struct server *s, struct connection *c)
{
	struct gt_http_request request;
	ssize_t n = recv(c->fd, c->in + c->in_size, sizeof c->in - c->in_size, 0);

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			hang_up(c);
		return;
	}
	c->in_size += (size_t)n;
	switch (gt_http_parse(&request, c->in, c->in_size)) {
	case GT_HTTP_MORE: return;
	case GT_HTTP_BAD: refuse(s, c, "400 Bad Request"); break;
	case GT_HTTP_LONG: refuse(s, c, "431 Request Header Fields Too Large"); break;
	case GT_HTTP_WHOLE: respond(s, c, &request); break;
	}
	c->since_ns = gt_now_ns();
	if (!c->out)
		hang_up(c);
}

static void tell(struct connection *c)
{
	ssize_t n = send(c->fd, c->out + c->out_sent, c->out_size - c->out_sent, MSG_NOSIGNAL);

	if (n > 0) {
		c->out_sent += (size_t)n;
		c->since_ns = gt_now_ns();
	}
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || c->out_sent == c->out_size)
		hang_up(c);
}

/* A free place, or that of who has been here longest without asking for anything. */
static struct connection *place_for(struct server *s)
{
	struct connection *oldest = NULL;

	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &s->connections[i];

		if (c->fd < 0)
			return c;
		if (!c->out && (!oldest || c->since_ns < oldest->since_ns))
			oldest = c;
	}
	if (oldest)
		hang_up(oldest);
	return oldest;
}

static void welcome(struct server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c;

	if (fd < 0)
		return;
	c = place_for(s);
	if (!c) {
		close(fd);
		return;
	}
	*c = (struct connection){ .fd = fd, .since_ns = gt_now_ns() };
}

static void serve(struct server *s, const sigset_t *while_waiting)
{
	static const struct timespec tick = { .tv_sec = 1 };
	struct pollfd polled[CONNECTIONS + 1];

	while (!stopped) {
		polled[CONNECTIONS] = (struct pollfd){ .fd = s->listener, .events = POLLIN };
		for (size_t i = 0; i < CONNECTIONS; i++)
			polled[i] = (struct pollfd){ .fd = s->connections[i].fd,
						     .events = s->connections[i].out ? POLLOUT :
										       POLLIN };
		if (ppoll(polled, CONNECTIONS + 1, &tick, while_waiting) < 0)
			continue;
		for (size_t i = 0; i < CONNECTIONS; i++) {
			struct connection *c = &s->connections[i];

			if (c->fd >= 0 && polled[i].revents)
				(c->out ? tell(c) : hear(s, c));
			if (c->fd >= 0 && ms_since(c->since_ns) > PATIENCE_MS)
				hang_up(c);
		}
		if (polled[CONNECTIONS].revents)
			welcome(s);
	}
}

int gt_serve_run(const struct gt_serve *how, struct gt_error *error)
{
	struct server *s = gt_alloc(sizeof *s);
	struct sigaction action = { .sa_handler = stop };
	sigset_t ends, before;
	char url[192];
	int e = 0;

	s->how = how;
	s->listener = -1;
	for (size_t i = 0; i < CONNECTIONS; i++)
		s->connections[i].fd = -1;
	/* only while nothing is being written is there an end */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (make_token(s))
		e = gt_error_set(error, -EIO, "the system has no random numbers to give");
	if (!e)
		e = listen_on(s, error);
	if (!e && !refresh(s, error))
		e = -EINVAL;
	if (!e) {
		bool v6 = strchr(how->address, ':');

		snprintf(url, sizeof url, "http://%s%s%s:%u/%s/", v6 ? "[" : "", how->address,
			 v6 ? "]" : "", s->port, s->token);
		how->ready(how->context, url);
		serve(s, &before);
	}
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (s->connections[i].fd >= 0)
			hang_up(&s->connections[i]);
	if (s->listener >= 0)
		close(s->listener);
	free(s->data);
	free(s);
	return e;
}
