/* SPDX-License-Identifier: MIT */
/* client.c - questions to a running agent, and its recordings. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/ring.h"
#include "base/format.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/agent/agent.h"
#include "cli/cli.h"

enum { ANSWER_S = 10, RECORD_S = 60 };

/* Asks for an answer within `seconds`. */
static int ask(const struct gt_agent_settings *s, const char *request, unsigned seconds,
	       char **text, size_t *size, struct gt_error *error)
{
	int fd = gt_control_connect(s->socket, error), e;

	if (fd < 0)
		return fd;
	e = gt_control_ask(fd, request, seconds, text, size, error);
	close(fd);
	return e;
}

static int print(const struct gt_agent_settings *s, const char *request)
{
	struct gt_error error = { "" };
	size_t size = 0;
	char *text;

	if (ask(s, request, ANSWER_S, &text, &size, &error))
		return gt_fail("%s", error.text);
	fwrite(text, 1, size, stdout);
	free(text);
	return GT_EXIT_DONE;
}

/* "60s", "5m", "1h", "60": in seconds; false: it is none of these. */
static bool parse_time(const char *text, double *seconds)
{
	static const struct {
		char unit;
		unsigned seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 } };
	size_t size = strlen(text);
	char number[32];
	double factor = 1;

	if (!size || size >= sizeof number)
		return false;
	memcpy(number, text, size + 1);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (number[size - 1] == units[i].unit) {
			factor = units[i].seconds;
			number[--size] = '\0';
			break;
		}
	if (!gt_decimal_parse(number, seconds) || *seconds <= 0 || *seconds * factor > 86400)
		return false;
	*seconds *= factor;
	return true;
}

/* Fetches a recording that the agent makes for us. */
static int fetch(const struct gt_agent_settings *s, uint32_t pid, double seconds, const char *to)
{
	struct gt_error error = { "" };
	char request[64], *path;
	size_t size;
	int e;

	snprintf(request, sizeof request, "record %u %g", pid, seconds);
	if (ask(s, request, (unsigned)seconds + ANSWER_S, &path, &size, &error))
		return gt_fail("%s", error.text);
	e = gt_ring_copy(path, 0, to, &error);
	gt_ring_remove(path);
	free(path);
	return e ? gt_fail("%s", error.text) : GT_EXIT_DONE;
}

static void tell_made(const char *name, uint32_t pid, const char *what)
{
	gt_tell("%s has %s process %u; see `%s report %s`", name, what, pid, gt_tool_name(), name);
}

/* A recording of the ring that the agent has just ended, for a process that runs. */
static int cut_running(const struct gt_agent_settings *s, uint32_t pid, const char *to, char *from,
		       size_t from_size, struct gt_error *error)
{
	char request[64], *path;
	size_t size;
	int e;

	snprintf(request, sizeof request, "cut %u", pid);
	if (ask(s, request, ANSWER_S, &path, &size, error))
		return -ENOENT;
	snprintf(from, from_size, "%s", gt_path_name(path));
	e = gt_ring_copy(path, pid, to, error);
	free(path);
	return e;
}

/* From the ring, also after the process has ended; without one, what it holds now. */
static int dump(const struct gt_agent_settings *s, uint32_t pid, const char *to)
{
	struct gt_error error = { "" };
	char ring[PATH_MAX], from[PATH_MAX], what[96];
	int e, status;

	snprintf(ring, sizeof ring, "%s/ring", s->state);
	e = cut_running(s, pid, to, from, sizeof from, &error);
	if (e == -ENOENT)
		e = gt_ring_cut(ring, pid, to, from, sizeof from, &error);
	if (e && e != -ENOENT)
		return gt_fail("%s", error.text);
	if (!e) {
		snprintf(what, sizeof what, "all since %.15s of", from);
		tell_made(to, pid, what);
		return GT_EXIT_DONE;
	}
	status = fetch(s, pid, 0, to);
	if (!status)
		tell_made(to, pid, "the living resources of");
	return status;
}

static int trace(const struct gt_agent_settings *s, uint32_t pid, const char *to)
{
	double seconds = RECORD_S;
	int status;

	if (s->duration && !parse_time(s->duration, &seconds))
		return gt_syntax_wrong(&gt_agent_syntax,
				       "--for is a time of at most a day, like 60s, 5m or 1h, not "
				       "'%s'",
				       s->duration);
	status = fetch(s, pid, seconds, to);
	if (!status)
		tell_made(to, pid, "the calls of");
	return status;
}

int gt_agent_ask(const struct gt_agent_settings *s, int argc, char **argv)
{
	bool dumps = !strcmp(argv[0], "dump"), traces = !strcmp(argv[0], "trace");
	char name[64];
	uint64_t pid;

	if (argc == 1 && (!strcmp(argv[0], "status") || !strcmp(argv[0], "metrics")))
		return print(s, argv[0]);
	if (!dumps && !traces)
		return gt_syntax_wrong(
			&gt_agent_syntax,
			"'%s' is no question to an agent: status, metrics, dump PID, "
			"trace PID",
			argv[0]);
	if (argc != 2 || !gt_count_parse(argv[1], &pid) || !pid || pid > INT_MAX)
		return gt_syntax_wrong(&gt_agent_syntax, "%s needs the id of one process", argv[0]);
	snprintf(name, sizeof name, "agent.%u.gt", (unsigned)pid);
	return dumps ? dump(s, (uint32_t)pid, s->output ? s->output : name) :
		       trace(s, (uint32_t)pid, s->output ? s->output : name);
}
