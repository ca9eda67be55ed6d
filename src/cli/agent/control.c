/* SPDX-License-Identifier: MIT */
/* control.c - questions to the agent, by a socket that only its own user can use. */
#include "cli/agent/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text.h"

enum { HEAD = 40, REQUEST_NS = 1000000000 };

#define REPLY_MOST ((size_t)256 << 20)

void gt_control_init(struct gt_control *c)
{
	*c = (struct gt_control){ .listener = -1 };
	for (size_t i = 0; i < GT_CONTROL_CLIENTS; i++)
		c->clients[i].fd = -1;
}

static int name_socket(struct sockaddr_un *to, const char *path, struct gt_error *error)
{
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof to->sun_path)
		return gt_error_set(error, -ENAMETOOLONG,
				    "the path of the agent's socket is too long: %s", path);
	memcpy(to->sun_path, path, strlen(path));
	return 0;
}

/* Of the socket, which systemd has made for its service; bind tells if it cannot be. */
static void make_folder(const char *path)
{
	char *folder = gt_strndup(path, gt_path_folder_size(path));

	if (*folder)
		mkdir(folder, 0700);
	free(folder);
}

int gt_control_open(struct gt_control *c, const char *path, struct gt_error *error)
{
	struct sockaddr_un to;
	struct stat st;
	mode_t mask;
	int fd, e = name_socket(&to, path, error);

	if (e)
		return e;
	fd = gt_control_connect(path, NULL);
	if (fd >= 0) {
		close(fd);
		return gt_error_set(error, -EADDRINUSE,
				    "an agent is running already: %s answers; stop it first, or "
				    "choose another --socket",
				    path);
	}
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
	make_folder(path);
	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0177);
	e = c->listener < 0 || bind(c->listener, (struct sockaddr *)&to, sizeof to) ||
			    listen(c->listener, GT_CONTROL_CLIENTS) ?
		    -errno :
		    0;
	umask(mask);
	if (e)
		return gt_error_set(error, e,
				    "cannot make the agent's socket %s: %s; --socket chooses "
				    "another place",
				    path, strerror(-e));
	snprintf(c->path, sizeof c->path, "%s", path);
	return 0;
}

static void drop(struct gt_control *c, struct gt_control_client *client)
{
	if (client->is_waiting && c->left)
		c->left(c->context, client);
	close(client->fd);
	free(client->reply);
	*client = (struct gt_control_client){ .fd = -1 };
}

void gt_control_close(struct gt_control *c)
{
	for (size_t i = 0; i < GT_CONTROL_CLIENTS; i++)
		if (c->clients[i].fd >= 0)
			drop(c, &c->clients[i]);
	if (c->listener >= 0) {
		close(c->listener);
		unlink(c->path);
	}
	c->listener = -1;
}

static struct gt_control_client *find_place(struct gt_control *c)
{
	for (size_t i = 0; i < GT_CONTROL_CLIENTS; i++)
		if (c->clients[i].fd < 0)
			return &c->clients[i];
	return NULL;
}

void gt_control_add_public(struct gt_control *c, int fd)
{
	struct gt_control_client *place;

	for (size_t i = 0; i < GT_CONTROL_CLIENTS; i++)
		if (c->clients[i].fd >= 0 && c->clients[i].is_public)
			drop(c, &c->clients[i]);
	place = find_place(c);
	if (!place) {
		drop(c, &c->clients[0]);
		place = &c->clients[0];
	}
	*place = (struct gt_control_client){ .fd = fd, .is_public = true };
}

static void accept_client(struct gt_control *c)
{
	struct gt_control_client *place = find_place(c);
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof peer;

	if (fd < 0)
		return;
	if (!place || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid && peer.uid != geteuid())) {
		close(fd);
		return;
	}
	*place = (struct gt_control_client){ .fd = fd, .since_ns = gt_now_ns() };
}

size_t gt_control_poll(const struct gt_control *c, struct pollfd *fds)
{
	size_t count = 0;

	if (c->listener >= 0)
		fds[count++] = (struct pollfd){ .fd = c->listener, .events = POLLIN };
	for (size_t i = 0; i < GT_CONTROL_CLIENTS; i++)
		if (c->clients[i].fd >= 0)
			fds[count++] =
				(struct pollfd){ .fd = c->clients[i].fd,
						 .events = c->clients[i].reply ? POLLOUT : POLLIN };
	return count;
}

static void set_reply(struct gt_control_client *client, int error, const char *text, size_t size)
{
	char head[HEAD];
	int n = snprintf(head, sizeof head, "%s %zu\n", error ? "error" : "ok", size);

	free(client->reply);
	client->reply = gt_alloc((size_t)n + size);
	memcpy(client->reply, head, (size_t)n);
	memcpy(client->reply + n, text, size);
	client->reply_size = (size_t)n + size;
	client->sent = 0;
	client->is_waiting = false;
}

void gt_control_answer(struct gt_control_client *client, int error, const char *text)
{
	set_reply(client, error, text, strlen(text));
}

static void answer(struct gt_control *c, struct gt_control_client *client)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = gt_memstream(&text, &size);
	int e = c->answer(c->context, client, client->line, out);

	gt_memstream_close(out);
	client->line_size = 0;
	if (e > 0)
		client->is_waiting = true;
	else
		set_reply(client, e, text, size);
	free(text);
}

/* False when the client is to be dropped. */
static bool take(struct gt_control *c, struct gt_control_client *client)
{
	ssize_t n = recv(client->fd, client->line + client->line_size,
			 sizeof client->line - 1 - client->line_size, MSG_DONTWAIT);
	char *end;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	/* who waits may only leave */
	if (!n || client->is_waiting)
		return false;
	client->line_size += (size_t)n;
	client->line[client->line_size] = '\0';
	end = strchr(client->line, '\n');
	if (!end)
		return client->line_size < sizeof client->line - 1;
	*end = '\0';
	answer(c, client);
	return true;
}

static bool give(struct gt_control_client *client)
{
	ssize_t n = send(client->fd, client->reply + client->sent,
			 client->reply_size - client->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	client->sent += (size_t)n;
	if (client->sent < client->reply_size)
		return true;
	free(client->reply);
	client->reply = NULL;
	/* others have one question */
	return client->is_public;
}

void gt_control_run(struct gt_control *c, const struct pollfd *fds, size_t count)
{
	for (size_t i = 0; i < GT_CONTROL_CLIENTS; i++) {
		struct gt_control_client *client = &c->clients[i];
		short events = 0;

		for (size_t k = 0; k < count; k++)
			if (fds[k].fd == client->fd)
				events = fds[k].revents;
		if (client->fd < 0 || !events)
			continue;
		if (client->reply ? !give(client) : !take(c, client))
			drop(c, client);
		else if (client->reply && !client->sent && !give(client))
			drop(c, client);
	}
	for (size_t i = 0; i < GT_CONTROL_CLIENTS; i++)
		if (c->clients[i].fd >= 0 && !c->clients[i].is_public &&
		    !c->clients[i].is_waiting && !c->clients[i].reply &&
		    gt_now_ns() - c->clients[i].since_ns > REQUEST_NS)
			drop(c, &c->clients[i]);
	for (size_t k = 0; k < count; k++)
		if (fds[k].fd == c->listener && fds[k].revents)
			accept_client(c);
}

int gt_control_connect(const char *path, struct gt_error *error)
{
	struct sockaddr_un to;
	int fd, e = name_socket(&to, path, error);

	if (e)
		return e;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) {
		e = -errno;
		if (fd >= 0)
			close(fd);
		return gt_error_set(error, e, "no agent answers at %s: %s%s", path, strerror(-e),
				    e == -EACCES || e == -EPERM ?
					    "; only the agent's user can ask it: use sudo" :
					    "; is it running?");
	}
	return fd;
}

static int read_all(int fd, char *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, to + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

int gt_control_ask(int fd, const char *request, unsigned seconds, char **reply, size_t *size,
		   struct gt_error *error)
{
	struct timeval wait = { .tv_sec = seconds };
	char line[GT_CONTROL_LINE], word[8];
	size_t used = 0;
	int e = 0;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	snprintf(line, sizeof line, "%s\n", request);
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line))
		return gt_error_set(error, -EPIPE, "the agent does not listen");
	while (!e && used < HEAD && (!used || line[used - 1] != '\n'))
		e = read_all(fd, line + used++, 1);
	line[used] = '\0';
	if (e || sscanf(line, "%7s %zu", word, size) != 2 || *size > REPLY_MOST)
		return gt_error_set(error, e ? e : -EPROTO, "the agent has not answered");
	*reply = gt_alloc(*size + 1);
	e = read_all(fd, *reply, *size);
	if (e || strcmp(word, "ok") != 0) {
		gt_error_set(error, 0, "%.500s",
			     e ? "the agent has not finished its answer" : *reply);
		free(*reply);
		return e ? e : -EREMOTEIO;
	}
	return 0;
}
