/* SPDX-License-Identifier: MIT */
/*
 * endpoint.c - the process that answers HTTP requests for the agent.
 *
 * It has no privileges and knows nothing: it passes questions on to the agent, which answers what
 * is public (control.h). A request can do no more than that, whatever is wrong with it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/format.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/agent/agent.h"
#include "cli/agent/service.h"
#include "cli/cli.h"
#ifdef GT_HAVE_SERVER
#include "page/http.h"

enum {
	NOBODY = 65534,
	ANSWER_S = 5,
	START_S = 10,
	FILE_MOST = 1 << 16,
	FILES_MOST = 64, /* descriptors */
	BAD_REQUEST = 400,
	NOT_FOUND = 404,
	FORBIDDEN = 403,
	UNAUTHORIZED = 401,
	UNAVAILABLE = 503,
};

#define AGAIN_NS 5000000000ull

struct endpoint {
	int agent; /* connection */
	uint16_t port;
	char address[128];
	bool is_local; /* nobody but this machine reaches it */
	bool is_path;
	char *token, *certificate, *key; /* NULL: none */
};

/* What a path asks the agent for. */
static const struct {
	const char *path, *request, *type;
	bool has_query;
} routes[] = {
	{ "/metrics", "metrics text", "text/plain; version=0.0.4; charset=utf-8", false },
	{ "/metrics", "metrics open", "application/openmetrics-text; version=1.0.0; charset=utf-8",
	  false },
	{ "/debug/pprof/gpu", "profile pprof", "application/octet-stream", true },
	{ "/debug/folded/gpu", "profile folded", "text/plain; charset=utf-8", true },
};

static bool is_allowed(const struct endpoint *e, const struct gt_http_request *r)
{
	static const char bearer[] = "Bearer ";

	return !e->token ||
	       (r->authorization && !strncasecmp(r->authorization, bearer, strlen(bearer)) &&
		gt_http_is_secret(r->authorization + strlen(bearer), e->token));
}

/* " KEY VALUE" for each part of a query that is letters, digits, "_" and "="; false: it is not. */
static bool add_query(char *request, size_t size, const char *query)
{
	size_t used = strlen(request);

	if (*query && used + 1 < size)
		request[used++] = ' ';
	for (; *query && used + 1 < size; query++) {
		if (!strchr("=&_", *query) && !(*query >= '0' && *query <= '9') &&
		    !(*query >= 'a' && *query <= 'z'))
			return false;
		request[used++] = *query == '&' ? ' ' : *query;
	}
	request[used] = '\0';
	return !*query;
}

static const char index_text[] =
	"gputrack agent\n\n/metrics\n/debug/pprof/gpu\n/debug/folded/gpu\n";

static void answer(void *context, const struct gt_http_request *r, struct gt_http_reply *reply)
{
	struct endpoint *e = context;
	size_t path = strcspn(r->target, "?"), i = 0, size;
	const char *query = r->target[path] ? r->target + path + 1 : "";
	bool open = r->accept && strstr(r->accept, "application/openmetrics-text");
	char request[256], *text;
	struct gt_error error;
	int code;

	if (!is_allowed(e, r)) {
		reply->status = UNAUTHORIZED;
		return;
	}
	/* a token is proof enough; without one, no web site may ask through a browser */
	if (!e->token && !e->is_path && !gt_http_is_ours(r, e->port)) {
		reply->status = FORBIDDEN;
		return;
	}
	if (!strcmp(r->target, "/")) {
		reply->body = gt_http_body(gt_strdup(index_text), sizeof index_text - 1,
					   "text/plain; charset=utf-8", NULL);
		return;
	}
	while (i < sizeof routes / sizeof *routes &&
	       (strlen(routes[i].path) != path || strncmp(routes[i].path, r->target, path)))
		i++;
	if (i == sizeof routes / sizeof *routes || (*query && !routes[i].has_query)) {
		reply->status = NOT_FOUND;
		return;
	}
	i += !i && open;
	snprintf(request, sizeof request, "%s", routes[i].request);
	if (!add_query(request, sizeof request, query)) {
		reply->status = NOT_FOUND;
		return;
	}
	code = gt_control_ask(e->agent, request, ANSWER_S, &text, &size, &error);
	if (code) {
		reply->status = code == -EREMOTEIO ? BAD_REQUEST : UNAVAILABLE;
		/* an answer that comes late must not be taken for the next one: ends the server */
		if (code != -EREMOTEIO)
			shutdown(e->agent, SHUT_RDWR);
		return;
	}
	reply->body = gt_http_body(text, size, routes[i].type, NULL);
}

/* It listens: from now on it needs nothing but its sockets. */
static void ready(void *context, uint16_t port)
{
	struct endpoint *e = context;
	char line[32];

	e->port = port;
	if (!geteuid() && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		_exit(1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ FILES_MOST, FILES_MOST });
	snprintf(line, sizeof line, "ready %u\n", port);
	(void)!write(e->agent, line, strlen(line));
}

static void serve(struct endpoint *e, uint16_t port)
{
	const struct gt_http http = { .address = e->address,
				      .port = port,
				      .certificate = e->certificate,
				      .key = e->key,
				      .answer = answer,
				      .ready = ready,
				      .context = e,
				      .until_fd = e->agent };
	struct gt_error error = { "" };

	signal(SIGHUP, SIG_IGN);
	if (gt_http_load("--listen", &error) || gt_http_run(&http, &error)) {
		gt_tell("%s", error.text);
		_exit(1);
	}
	_exit(0);
}

/* A small file that only its owner may read, such as a key; NULL and why. */
static char *read_secret(const char *path, const char *what, bool is_line, struct gt_error *error)
{
	char *text = gt_alloc(FILE_MOST + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, FILE_MOST);

	if (fd >= 0)
		close(fd);
	if (n > 0 && is_line)
		text[strcspn(text, "\r\n")] = '\0';
	if (n <= 0 || !*text) {
		gt_error_set(error, -EINVAL, "cannot read the %s %s: %s", what, path,
			     n < 0 ? strerror(errno) : "it is empty");
		free(text);
		return NULL;
	}
	return text;
}

/* ADDRESS:PORT, [ADDRESS]:PORT, or a path. */
static int parse_listen(struct endpoint *e, const char *text, uint16_t *port,
			struct gt_error *error)
{
	const char *colon = strrchr(text, ':');
	size_t size = colon ? (size_t)(colon - text) : 0;
	uint64_t number = 0;

	if (*text == '/') {
		e->is_path = e->is_local = true;
		snprintf(e->address, sizeof e->address, "%s", text);
		return 0;
	}
	if (!colon || !size || size >= sizeof e->address || !gt_count_parse(colon + 1, &number) ||
	    number > UINT16_MAX)
		return gt_error_set(error, -EINVAL,
				    "--listen takes ADDRESS:PORT, such as 127.0.0.1:9756, the path "
				    "of a socket, or none; not '%s'",
				    text);
	if (*text == '[' && text[size - 1] == ']')
		snprintf(e->address, sizeof e->address, "%.*s", (int)size - 2, text + 1);
	else
		snprintf(e->address, sizeof e->address, "%.*s", (int)size, text);
	*port = (uint16_t)number;
	e->is_local = gt_text_begins(e->address, "127.") || !strcmp(e->address, "::1");
	return 0;
}

static int configure(struct endpoint *e, const struct gt_agent_settings *s, uint16_t *port,
		     struct gt_error *error)
{
	int code = parse_listen(e, s->listen, port, error);

	if (!code && s->token_file &&
	    !(e->token = read_secret(s->token_file, "token", true, error)))
		code = -EINVAL;
	if (!code && s->certificate &&
	    (!(e->certificate = read_secret(s->certificate, "certificate", false, error)) ||
	     !(e->key = read_secret(s->key, "key", false, error))))
		code = -EINVAL;
	if (!code && !e->is_local && !e->token)
		code = gt_error_set(error, -EINVAL,
				    "--listen %s can be reached from other machines: it needs "
				    "--token-file, and should have --tls-cert",
				    s->listen);
	return code;
}

static void free_endpoint(struct endpoint *e)
{
	free(e->token);
	free(e->certificate);
	free(e->key);
}

/* Waits until it listens; its port. */
static int wait_ready(int fd, unsigned *port)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char line[32];
	size_t used = 0;

	while (used < sizeof line - 1 && poll(&poll_fd, 1, START_S * 1000) > 0 &&
	       read(fd, line + used, 1) == 1)
		if (line[used++] == '\n')
			break;
	line[used] = '\0';
	return sscanf(line, "ready %u", port) == 1 ? 0 : -ECHILD;
}

int gt_agent_endpoint_start(struct gt_agent *a, struct gt_error *error)
{
	struct endpoint e = { .agent = -1 };
	unsigned listens = 0;
	uint16_t port = 0;
	int ends[2], code;

	if (!strcmp(a->settings.listen, "none"))
		return 0;
	code = configure(&e, &a->settings, &port, error);
	if (!code && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		code = gt_error_set(error, -errno, "cannot create a socket: %s", strerror(errno));
	if (!code && (a->endpoint = fork()) < 0) {
		a->endpoint = 0;
		code = gt_error_set(error, -errno, "cannot fork: %s", strerror(errno));
	}
	if (!code && !a->endpoint) {
		/* of what the agent has open, it gets its connection alone */
		e.agent = dup2(ends[1], STDERR_FILENO + 1);
		close_range((unsigned)e.agent + 1, ~0u, 0);
		serve(&e, port);
	}
	free_endpoint(&e);
	if (code)
		return code;
	close(ends[1]);
	a->endpoint_started_ns = gt_now_ns();
	if (wait_ready(ends[0], &listens)) {
		close(ends[0]);
		waitpid(a->endpoint, NULL, 0);
		a->endpoint = 0;
		return gt_error_set(error, -ECHILD, "nothing listens on %s", a->settings.listen);
	}
	gt_control_add_public(&a->control, ends[0]);
	gt_service_log(GT_LEVEL_INFO,
		       e.is_path ? "metrics at the socket %s" :
				   "metrics at http%s://%s%s%s:%u/metrics",
		       e.is_path ? e.address : (a->settings.certificate ? "s" : ""),
		       strchr(e.address, ':') ? "[" : "", e.address,
		       strchr(e.address, ':') ? "]" : "", listens);
	return 0;
}

void gt_agent_endpoint_stop(struct gt_agent *a)
{
	if (!a->endpoint)
		return;
	/* it has seen the end of its connection; we may not signal another user's process */
	waitpid(a->endpoint, NULL, 0);
	a->endpoint = 0;
	if (*a->settings.listen == '/')
		unlink(a->settings.listen);
}

void gt_agent_endpoint_check(struct gt_agent *a, uint64_t now_ns)
{
	struct gt_error error;

	if (a->endpoint && waitpid(a->endpoint, NULL, WNOHANG) == a->endpoint)
		a->endpoint = 0;
	if (a->endpoint || now_ns - a->endpoint_started_ns < AGAIN_NS)
		return;
	a->endpoint_started_ns = now_ns;
	if (gt_agent_endpoint_start(a, &error))
		gt_service_log(GT_LEVEL_WARNING, "%s", error.text);
}

void gt_agent_endpoint_reload(struct gt_agent *a)
{
	struct endpoint e = { .agent = -1 };
	struct gt_error error;
	uint16_t port;

	if (!a->endpoint || (!a->settings.token_file && !a->settings.certificate))
		return;
	if (configure(&e, &a->settings, &port, &error)) {
		gt_service_log(GT_LEVEL_WARNING, "%s; the old one stays", error.text);
	} else {
		/* it has nothing to lose but requests, which are made again */
		kill(a->endpoint, SIGKILL);
		waitpid(a->endpoint, NULL, 0);
		a->endpoint = 0;
		if (gt_agent_endpoint_start(a, &error))
			gt_service_log(GT_LEVEL_WARNING, "%s", error.text);
	}
	free_endpoint(&e);
}

#else

int gt_agent_endpoint_start(struct gt_agent *a, struct gt_error *error)
{
	if (!strcmp(a->settings.listen, "none"))
		return 0;
	return gt_error_set(error, -ENOSYS,
			    "this gputrack was built without libmicrohttpd: use --listen none");
}

void gt_agent_endpoint_stop(struct gt_agent *a)
{
	(void)a;
}

void gt_agent_endpoint_check(struct gt_agent *a, uint64_t now_ns)
{
	(void)a;
	(void)now_ns;
}

void gt_agent_endpoint_reload(struct gt_agent *a)
{
	(void)a;
}
#endif
