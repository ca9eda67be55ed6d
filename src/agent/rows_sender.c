/* SPDX-License-Identifier: MIT */
/* rows_sender.c - the process that sends a spool's batches to ClickHouse. */
#include "agent/rows_sender.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/clickhouse.h"
#include "agent/row_text.h"
#include "agent/spool.h"
#include "base/bytes.h"
#include "base/process.h"

enum { PAUSE_FIRST_MS = 1000, PAUSE_MAX_MS = 300 * 1000 };

/* In memory that both processes see. */
struct shared {
	_Atomic uint64_t sent_rows, sent_batches, failures;
	atomic_bool is_failing;
	char error[512];
};

struct gt_sender {
	char *url, *spool, *host;
	struct shared *shared;
	pid_t process; /* 0: none */
	int socket;    /* to it; -1 */
};

/* What the process has. */
struct work {
	const struct gt_sender *of;
	int socket; /* to the agent */
	struct gt_clickhouse *server;
	char *columns;
	unsigned failures; /* in a row */
};

/* Doubles, and differs from host to host: a server that comes back is not run over. */
static uint64_t pause_ms(const struct work *w)
{
	uint64_t ms = PAUSE_MAX_MS;
	uint64_t mix = gt_mix64(gt_hash_bytes(w->of->host, strlen(w->of->host)) + w->failures);

	if (w->failures < 16 && ((uint64_t)PAUSE_FIRST_MS << (w->failures - 1)) < ms)
		ms = (uint64_t)PAUSE_FIRST_MS << (w->failures - 1);
	return ms / 2 + mix % (ms / 2 + 1);
}

/* Waits for news of the agent; ends with it. */
static void wait_ms(const struct work *w, int ms)
{
	struct pollfd fd = { .fd = w->socket, .events = POLLIN };
	char news[64];

	if (poll(&fd, 1, ms) > 0 && read(w->socket, news, sizeof news) <= 0)
		_exit(0);
}

/* New batches do not make a server come back sooner. */
static void pause_after_failure(const struct work *w)
{
	uint64_t until = gt_now_ns() / 1000000 + pause_ms(w), now;

	while ((now = gt_now_ns() / 1000000) < until)
		wait_ms(w, (int)(until - now));
}

static void send_batch(struct work *w, struct gt_spool *spool, const struct gt_batch *batch)
{
	struct shared *shared = w->of->shared;
	bool is_rows = !strcmp(batch->table, "rows");
	struct gt_error error;
	size_t size;
	void *bytes = gt_spool_read(spool, batch, &size);
	uint64_t rows = bytes ? batch->rows : 0;
	int e = 0;

	/* a file that made room for others, or is cut, has nothing to send */
	if (bytes)
		e = gt_clickhouse_insert(w->server, batch->table,
					 is_rows ? w->columns : "stack,frames", bytes, size,
					 &error);
	free(bytes);
	w->failures = e ? w->failures + 1 : 0;
	if (e) {
		snprintf(shared->error, sizeof shared->error, "%s", error.text);
		shared->failures++;
	} else {
		/* who sees that nothing waits any more is to see that it was sent */
		shared->sent_rows += rows;
		shared->sent_batches++;
		gt_spool_remove(spool, batch);
	}
	shared->is_failing = e;
}

static void send_all(struct work *w, struct gt_spool *spool)
{
	struct gt_batch batch;

	for (;;) {
		gt_spool_scan(spool);
		while (gt_spool_first(spool, &batch)) {
			send_batch(w, spool, &batch);
			if (!w->failures)
				continue;
			pause_after_failure(w);
			break; /* the oldest may have made room meanwhile */
		}
		if (!gt_spool_first(spool, &batch))
			wait_ms(w, -1);
	}
}

/* It reads the spool, which is its user's, and sends: no privilege is needed. */
static void drop_privileges(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	syscall(SYS_capset, &head, none);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static _Noreturn void run(const struct gt_sender *s, int socket)
{
	struct work w = { .of = s, .socket = dup2(socket, STDERR_FILENO + 1) };
	struct gt_error error = { "" };
	struct gt_spool *spool;
	sigset_t none;
	int e;

	/* of what the agent has open, it gets its connection alone */
	close_range((unsigned)w.socket + 1, ~0u, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* the terminal's: the agent ends it when it has had time to send the last rows */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	drop_privileges();
	w.columns = gt_row_column_list();
	e = gt_clickhouse_open(&w.server, s->url, &error);
	if (!e)
		e = gt_spool_join(&spool, s->spool, &error);
	if (write(w.socket, &error, sizeof error) != sizeof error || e)
		_exit(1);
	send_all(&w, spool);
	_exit(0);
}

static int start(struct gt_sender *s, struct gt_error *error)
{
	struct gt_error said = { "" };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return gt_error_set(error, -errno, "cannot create a socket: %s", strerror(errno));
	s->process = fork();
	if (!s->process)
		run(s, ends[1]);
	close(ends[1]);
	s->socket = ends[0];
	if (s->process < 0) {
		s->process = 0;
		return gt_error_set(error, -errno, "cannot fork: %s", strerror(errno));
	}
	if (read(s->socket, &said, sizeof said) != sizeof said)
		return gt_error_set(error, -ECHILD, "the process that sends rows does not start");
	said.text[sizeof said.text - 1] = '\0';
	return *said.text ? gt_error_set(error, -EINVAL, "%s", said.text) : 0;
}

static void stop(struct gt_sender *s)
{
	if (s->socket >= 0)
		close(s->socket);
	s->socket = -1;
	if (s->process) {
		kill(s->process, SIGTERM);
		waitpid(s->process, NULL, 0);
	}
	s->process = 0;
}

int gt_sender_open(struct gt_sender **out, const char *url, const char *spool, const char *host,
		   struct gt_error *error)
{
	struct gt_sender *s = gt_alloc(sizeof *s);
	int e;

	s->url = gt_strdup(url);
	s->spool = gt_strdup(spool);
	s->host = gt_strdup(host);
	s->socket = -1;
	s->shared = mmap(NULL, sizeof *s->shared, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	gt_memory_check(s->shared == MAP_FAILED ? NULL : s->shared);
	e = start(s, error);
	if (e)
		gt_sender_close(s);
	else
		*out = s;
	return e;
}

void gt_sender_close(struct gt_sender *s)
{
	stop(s);
	munmap(s->shared, sizeof *s->shared);
	free(s->url);
	free(s->spool);
	free(s->host);
	free(s);
}

void gt_sender_wake(struct gt_sender *s)
{
	struct gt_error error;

	if (s->process && waitpid(s->process, NULL, WNOHANG) == s->process)
		s->process = 0;
	if (!s->process) {
		stop(s);
		if (start(s, &error)) {
			stop(s);
			return;
		}
	}
	/* where it has not read the last news yet, it knows enough */
	if (send(s->socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}

struct gt_sender_state gt_sender_state(const struct gt_sender *s)
{
	struct gt_sender_state state = { .sent_rows = s->shared->sent_rows,
					 .sent_batches = s->shared->sent_batches,
					 .is_failing = s->shared->is_failing,
					 .failures = s->shared->failures };

	/* it may be writing a new one */
	memcpy(state.error, s->shared->error, sizeof state.error - 1);
	return state;
}
