/* SPDX-License-Identifier: MIT */
/* http.c - a small, bounded HTTP server by libmicrohttpd, for the page and for the agent. */
#include "page/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/process.h"
#include "base/tool.h"

enum {
	CONNECTIONS = 16,
	CONNECTION_BYTES = 16384, /* a request and the head of its response; more is refused */
	REQUEST_MS = 10000,       /* for a whole request to arrive */
	IDLE_S = 10,              /* for a client to take some of its response */
	DEFAULT_PORT = 80,        /* which browsers leave out */
};

/*
 * Loaded when something is served (gt_tool_load_functions). The program that is to need no
 * libraries has it linked.
 */
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

#ifdef GT_NETWORK_LINKED
int gt_http_load(const char *option, struct gt_error *error)
{
	(void)option;
	(void)error;
#define F(name) mhd.name = MHD_##name;
	FUNCTIONS(F)
#undef F
	return 0;
}
#else
int gt_http_load(const char *option, struct gt_error *error)
{
#define F(name) "MHD_" #name,
	static const char *const names[] = { FUNCTIONS(F) };
#undef F
	const struct gt_tool_library library = { .file = "libmicrohttpd.so.12",
						 .user = option,
						 .package = "libmicrohttpd12",
						 .names = names,
						 .count = sizeof names / sizeof *names };

	return gt_tool_load_functions(&library, &mhd, error);
}
#endif

struct client {
	int fd; /* -1: free */
	uint64_t since_ns;
	bool has_asked; /* its request has arrived */
};

struct server {
	const struct gt_http *how;
	struct MHD_Daemon *daemon;
	int listener;
	uint16_t port;
	struct client clients[CONNECTIONS];
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

/* A socket that only its owner may connect to; one that an earlier server left is replaced. */
static int listen_on_path(struct server *s, struct gt_error *error)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t mask;
	int e;

	if (strlen(s->how->address) >= sizeof to.sun_path)
		return gt_error_set(error, -ENAMETOOLONG, "the path of the socket is too long: %s",
				    s->how->address);
	memcpy(to.sun_path, s->how->address, strlen(s->how->address));
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!lstat(to.sun_path, &st) && S_ISSOCK(st.st_mode))
		unlink(to.sun_path);
	mask = umask(0177);
	e = s->listener < 0 || s->listener >= FD_SETSIZE ||
	    bind(s->listener, (struct sockaddr *)&to, sizeof to) ||
	    listen(s->listener, CONNECTIONS);
	umask(mask);
	return e ? gt_error_set(error, -errno, "cannot listen on %s: %s", to.sun_path,
				strerror(errno)) :
		   0;
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

	if (address[0] == '/')
		return listen_on_path(s, error);
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

struct MHD_Response *gt_http_body(char *text, size_t size, const char *type, const char *tag)
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
	if (tag)
		mhd.add_response_header(response, MHD_HTTP_HEADER_ETAG, tag);
	return response;
}

void gt_http_body_free(struct MHD_Response *body)
{
	mhd.destroy_response(body);
}

static struct MHD_Response *words_of(unsigned status)
{
	char *text = gt_strdup(mhd.get_reason_phrase_for(status));

	return gt_http_body(text, strlen(text), "text/plain; charset=utf-8", NULL);
}

/* Queues a response, which is freed once it is sent. */
static enum MHD_Result send_reply(struct MHD_Connection *c, struct gt_http_reply *reply)
{
	unsigned status = reply->status ? reply->status : MHD_HTTP_OK;
	struct MHD_Response *body = reply->body ? reply->body : words_of(status);
	enum MHD_Result result = mhd.queue_response(c, status, body);

	if (!reply->keeps_body)
		mhd.destroy_response(body);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status)
{
	return send_reply(c, &(struct gt_http_reply){ .status = status });
}

/*
 * libmicrohttpd calls this with the target as it was sent: nothing is decoded, and nothing cut off,
 * which it does in place later.
 */
static void *take_target(void *server, const char *target, struct MHD_Connection *c)
{
	(void)server;
	(void)c;
	return gt_strdup(target);
}

static void free_target(void *server, struct MHD_Connection *c, void **target,
			enum MHD_RequestTerminationCode how)
{
	(void)server;
	(void)c;
	(void)how;
	free(*target);
	*target = NULL;
}

/* The headers of a request that matter here. */
struct headers {
	struct gt_http_request request;
	bool is_bad; /* one came twice, or announces a body */
};

static enum MHD_Result take_header(void *headers, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct headers *h = headers;
	struct gt_http_request *r = &h->request;
	const char **once = !strcasecmp(name, MHD_HTTP_HEADER_HOST)          ? &r->host :
			    !strcasecmp(name, MHD_HTTP_HEADER_ORIGIN)        ? &r->origin :
			    !strcasecmp(name, MHD_HTTP_HEADER_AUTHORIZATION) ? &r->authorization :
									       NULL;

	if (once) {
		h->is_bad |= *once != NULL || !value;
		*once = value;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_IF_NONE_MATCH)) {
		r->if_none_match = value;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_ACCEPT)) {
		r->accept = value;
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

bool gt_http_is_ours(const struct gt_http_request *r, uint16_t port)
{
	return r->host && is_authority(r->host, port) &&
	       (!r->origin ||
		(!strncmp(r->origin, "http://", 7) && !strcmp(r->origin + 7, r->host)));
}

bool gt_http_is_secret(const char *given, const char *is)
{
	size_t size = strlen(is);
	unsigned char differs = strlen(given) != size;

	for (size_t i = 0; i < size; i++)
		differs |= (unsigned char)((differs ? 0 : given[i]) ^ is[i]);
	return !differs;
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
			       size_t *body_size, void **target)
{
	struct server *s = server;
	struct client *client = find_client(s, fd_of(c));
	struct headers h = { 0 };
	struct gt_http_reply reply = { 0 };

	if (client)
		client->has_asked = true;
	mhd.get_connection_values(c, MHD_HEADER_KIND, take_header, &h);
	if (h.is_bad)
		return refuse(c, MHD_HTTP_BAD_REQUEST);
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED);
	h.request.target = *target;
	s->how->answer(s->how->context, &h.request, &reply);
	return send_reply(c, &reply);
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
		if (s->how->until_fd)
			FD_SET(s->how->until_fd, &readable);
		if (s->how->until_fd > highest)
			highest = s->how->until_fd;
		if (pselect(highest + 1, &readable, &writable, &failed, &wait, while_waiting) < 0)
			continue;
		if (s->how->until_fd && FD_ISSET(s->how->until_fd, &readable))
			return;
		if (FD_ISSET(s->listener, &readable))
			accept_client(s);
		hang_up_slow(s);
		mhd.run_from_select(s->daemon, &readable, &writable, &failed);
	}
}

/* No thread of its own and no listening socket: waiting and accepting are ours, to be bounded. */
static int start_daemon(struct server *s, struct gt_error *error)
{
	const struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)s->how->certificate },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)s->how->key },
		{ MHD_OPTION_END, 0, NULL },
	};
	bool has_tls = s->how->certificate;

	s->daemon = mhd.start_daemon(
		MHD_USE_NO_LISTEN_SOCKET | (has_tls ? (unsigned)MHD_USE_TLS : 0u), 0, NULL, NULL,
		respond, s, MHD_OPTION_URI_LOG_CALLBACK, take_target, s,
		MHD_OPTION_NOTIFY_COMPLETED, free_target, s, MHD_OPTION_NOTIFY_CONNECTION,
		forget_client, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_ARRAY, has_tls ? tls : tls + 2, MHD_OPTION_END);
	return s->daemon ? 0 :
			   gt_error_set(error, -EIO, "cannot start the server%s: %s",
					has_tls ? "; check the certificate and its key" : "",
					strerror(errno));
}

int gt_http_run(const struct gt_http *how, struct gt_error *error)
{
	struct server *s = gt_alloc(sizeof *s);
	struct sigaction action = { .sa_handler = stop };
	sigset_t blocked, before;
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
	e = listen_on(s, error);
	if (!e)
		e = start_daemon(s, error);
	if (!e) {
		if (how->ready)
			how->ready(how->context, s->port);
		serve(s, &before);
		mhd.stop_daemon(s->daemon);
	}
	if (s->listener >= 0)
		close(s->listener);
	free(s);
	return e;
}
