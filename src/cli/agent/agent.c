/* SPDX-License-Identifier: MIT */
/* agent.c - `gputrack agent`: follows all GPU processes of a host, for months. */
#include "cli/agent/agent.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/metrics.h"
#include "agent/profile.h"
#include "base/format.h"
#include "base/process.h"
#include "base/text.h"
#include "capture/ebpf/obstacle.h"
#include "cli/agent/service.h"
#include "cli/attach/ring_size.h"
#include "cli/cli.h"
#include "cli/forward.h"

enum {
	DRAIN_MS = 100,  /* how often the rings are emptied, if nothing wakes us */
	STACKS_PART = 8, /* of --max-memory */
	RING_PART = 4,
	STEP_MOST = 3600,
	SECONDS_MOST = 86400,
};

#define MEMORY       ((uint64_t)64 << 20)
#define MEMORY_LEAST ((uint64_t)16 << 20)
#define MINUTE_NS    60000000000ull
#define WORN_NS      (60 * MINUTE_NS)
#define KEEP_LEAST   ((uint64_t)16 << 20)
#define STATE        "/var/lib/gputrack"
#define SOCKET       "/run/gputrack/agent.sock"

#define AT(field) .at = offsetof(struct gt_agent_settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "listen", .letter = 'l', .type = GT_OPTION_TEXT, .argument = "ADDRESS:PORT",
	  AT(listen),
	  .help = "answer HTTP requests there: /metrics, /debug/pprof/gpu (default: "
		  "127.0.0.1:9756); the path of a socket, or none; an address that other machines "
		  "reach needs --token-file" },
	{ .name = "token-file", .type = GT_OPTION_TEXT, .argument = "FILE", AT(token_file),
	  .is_path = true,
	  .help = "requests must have the first line of this file as their bearer token" },
	{ .name = "tls-cert", .type = GT_OPTION_TEXT, .argument = "FILE", AT(certificate),
	  .is_path = true, .help = "answer by TLS, with this certificate (PEM); needs --tls-key" },
	{ .name = "tls-key", .type = GT_OPTION_TEXT, .argument = "FILE", AT(key),
	  .is_path = true, .help = "the certificate's key" },
	{ .name = "socket", .type = GT_OPTION_TEXT, .argument = "FILE", AT(socket),
	  .help = "where `gputrack agent status` and others reach the agent (default: "
		  SOCKET ")" },
	{ .name = "config", .type = GT_OPTION_TEXT, .argument = "FILE", AT(config),
	  .help = "lines of OPTION = VALUE, which the command line overrides; read again on SIGHUP "
		  "(default: " GT_AGENT_CONFIG ", if it exists)" },
	{ .name = "keep", .letter = 'k', .type = GT_OPTION_SIZE, .argument = "SIZE", AT(keep),
	  .least = KEEP_LEAST, .most = GT_MEMORY_MOST,
	  .help = "keep the latest recordings of all processes, of this size together, at least "
		  "16M (default: none); they are in the folder ring of --state, for `gputrack "
		  "report` and `gputrack agent dump`" },
	{ .name = "state", .type = GT_OPTION_TEXT, .argument = "DIR", AT(state), .is_path = true,
	  .help = "folder of what is kept (default: " STATE ")" },
	{ .name = "output", .letter = 'o', .type = GT_OPTION_TEXT, .argument = "NAME.gt",
	  AT(output),
	  .help = "dump and trace: write this recording (default: agent.PID.gt)" },
	{ .name = "for", .type = GT_OPTION_TEXT, .argument = "TIME", AT(duration),
	  .help = "trace: record for this time, like 60s, 5m or 1h (default: 60s)" },
	{ .name = "max-memory", .type = GT_OPTION_SIZE, .argument = "SIZE", AT(max_memory),
	  .least = MEMORY_LEAST, .most = GT_MEMORY_MOST, .local = GT_LOCAL_YES,
	  .help = "memory that the agent may use (default: 64M, at least 16M); call sites that do "
		  "not fit are counted together as \"other call sites\"" },
	{ .name = "interval", .letter = 'i', .type = GT_OPTION_DECIMAL, .argument = "SECONDS",
	  .least = 0.1, .most = 60, AT(interval_s), .local = GT_LOCAL_YES,
	  .help = "how often totals are brought up to date (default: 5)" },
	{ .name = "growth-step", .type = GT_OPTION_DECIMAL, .argument = "SECONDS", .least = 0.1,
	  .most = STEP_MOST, AT(growth_step_s),
	  .help = "growth is judged by the least that a call site held in each step of this time, "
		  "over 64 steps, and over 64 steps of 60 times this (default: 60: an hour, and "
		  "64 hours)" },
	{ .name = "no-python", .type = GT_OPTION_FLAG, AT(no_python), .local = GT_LOCAL_YES,
	  .help = "do not look for Python's lines" },
	GT_ROWS_OPTIONS(offsetof(struct gt_agent_settings, rows)),
	GT_TARGETS_OPTIONS(offsetof(struct gt_agent_settings, targets),
		"follow only this process, its children, and those they start; may be repeated"),
	GT_OWN_OPTIONS(offsetof(struct gt_agent_settings, own)),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_agent_syntax = {
	.name = "agent",
	.summary = "follow all GPU processes of a host, for months",
	.operands = "[status | metrics | dump PID | trace PID]",
	.about = "Follows every process of the host that uses a GPU, through the kernel (eBPF), "
		 "in bounded memory: what each call site holds, and which ones grow. Prometheus "
		 "reads the sums at http://127.0.0.1:9756/metrics. `gputrack agent status` asks a "
		 "running agent what it follows, `gputrack agent dump PID` makes a recording of "
		 "what a process holds, and `gputrack agent trace PID` of what it does. Needs "
		 "root.",
	.options = options,
};

const struct gt_agent_settings gt_agent_defaults = { .listen = "127.0.0.1:9756",
						     .socket = SOCKET,
						     .state = STATE,
						     .max_memory = MEMORY,
						     .interval_s = 5,
						     .growth_step_s = 60,
						     .rows.interval_s = GT_ROWS_INTERVAL_S };

static volatile sig_atomic_t must_reload, must_restart;

static void on_hangup(int number)
{
	(void)number;
	must_reload = 1;
}

static void on_restart(int number)
{
	(void)number;
	must_restart = 1;
}

static uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static struct gt_agent_figures figures(struct gt_agent *a)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (struct gt_agent_figures){
		.version = GT_VERSION,
		.lost_events = gt_tracer_lost(a->tracer) + a->dropped,
		.out_of_memory = a->out_of_memory,
		.cpu_seconds = seconds_of(own.ru_utime) + seconds_of(own.ru_stime) +
			       seconds_of(children.ru_utime) + seconds_of(children.ru_stime),
		.resident_bytes = resident_bytes(),
		.capacity = gt_agent_gpu_capacity,
		.context = a,
	};
}

static void put_status(struct gt_agent *a, FILE *out)
{
	struct gt_agent_sums sums = gt_agent_totals_sums(a->totals);
	struct gt_agent_figures f = figures(a);
	char live[GT_FORMAT_MAX], cached[GT_FORMAT_MAX], memory[GT_FORMAT_MAX];

	fprintf(out,
		"processes    %zu\nlive         %s in %llu %s\ncached       %s\ngrowing      %llu "
		"%s\n"
		"lost         %llu %s\nagent        %s, %.1f s of processor time\n",
		gt_tracer_running(a->tracer), gt_format_bytes(live, sums.live_bytes),
		(unsigned long long)sums.places, gt_plural(sums.places, "call site", "call sites"),
		gt_format_bytes(cached, sums.cached_bytes), (unsigned long long)sums.growing,
		gt_plural(sums.growing, "call site", "call sites"),
		(unsigned long long)f.lost_events, gt_plural(f.lost_events, "call", "calls"),
		gt_format_bytes(memory, f.resident_bytes), f.cpu_seconds);
	gt_agent_rows_status(&a->rows, out);
}

/* "profile pprof type=inuse pid=12", as the HTTP server makes it of a query. */
static int put_profile(struct gt_agent *a, char *request, FILE *out)
{
	struct gt_profile profile = { 0 };
	char *rest = request, *word;
	bool folded = false;
	uint64_t pid;

	while ((word = strsep(&rest, " "))) {
		if (!strcmp(word, "folded"))
			folded = true;
		else if (!strcmp(word, "type=alloc"))
			profile.weight = GT_PROFILE_ALLOC;
		else if (gt_text_begins(word, "pid=") && gt_count_parse(word + 4, &pid) &&
			 pid <= UINT32_MAX)
			profile.pid = (uint32_t)pid;
		else if (strcmp(word, "profile") && strcmp(word, "pprof") &&
			 strcmp(word, "type=inuse") && !gt_text_begins(word, "seconds=")) {
			fputs("a query is type=inuse or type=alloc, and pid=PID", out);
			return -EINVAL;
		}
	}
	if (folded)
		gt_agent_folded(out, a->totals, &profile);
	else
		gt_agent_pprof(out, a->totals, &profile);
	return 0;
}

/* What may be asked. Requests of the HTTP server may have the first ones alone. */
static int answer(void *context, struct gt_control_client *client, char *request, FILE *out)
{
	struct gt_agent *a = context;
	bool open = !strcmp(request, "metrics open");
	struct gt_agent_figures f;
	double seconds;
	unsigned pid;

	if (open || !strcmp(request, "metrics") || !strcmp(request, "metrics text")) {
		f = figures(a);
		gt_agent_metrics(out, a->totals, &f, open ? GT_METRICS_OPEN : GT_METRICS_TEXT);
		return 0;
	}
	if (gt_text_begins(request, "profile "))
		return put_profile(a, request, out);
	if (client->is_public) {
		fputs("not public", out);
		return -EPERM;
	}
	if (!strcmp(request, "status")) {
		put_status(a, out);
		return 0;
	}
	if (sscanf(request, "cut %u", &pid) == 1)
		return gt_agent_record_cut(a, pid, out);
	if (sscanf(request, "record %u %lf", &pid, &seconds) == 2 && seconds >= 0 &&
	    seconds <= SECONDS_MOST)
		return gt_agent_record_ask(a, client, pid, seconds, out);
	fputs("the agent does not know this question: it may be of another version", out);
	return -EINVAL;
}

static void left(void *context, struct gt_control_client *client)
{
	gt_agent_record_left(context, client);
}

/* What a tracer has seen of files stays with it; after months of new containers it is full. */
static bool is_worn(const struct gt_agent *a)
{
	return gt_tracer_has_all_images(a->tracer) || gt_tracer_libraries(a->tracer)->is_full;
}

/* Once a minute: rows of call sites are complete, and what has ended can go. */
static void every_minute(struct gt_agent *a)
{
	if (is_worn(a) && gt_now_ns() - a->begun_ns > WORN_NS) {
		gt_service_log(GT_LEVEL_NOTICE, "as many libraries as can be followed have been "
						"seen: starting again with those in use");
		must_restart = 1;
	}
	gt_agent_forget(a);
}

static void wait_for_news(struct gt_agent *a)
{
	struct pollfd fds[GT_CONTROL_CLIENTS + 3];
	size_t count = gt_control_poll(&a->control, fds), controls = count;

	fds[count++] = (struct pollfd){ .fd = gt_tracer_fd(a->tracer), .events = POLLIN };
	if (a->namer.child)
		fds[count++] = (struct pollfd){ .fd = a->namer.pipe, .events = POLLIN };
	if (poll(fds, count, DRAIN_MS) > 0)
		gt_control_run(&a->control, fds, controls);
	gt_tracer_wait(a->tracer, 0);
}

static void follow(struct gt_agent *a)
{
	uint64_t watchdog_ns = gt_service_watchdog_ns(), barked_ns = 0;
	size_t told = 0;

	a->fed_ns = a->minute_ns = a->begun_ns = a->rows.taken_ns = gt_now_ns();
	while (!gt_stopped && !must_restart) {
		uint64_t now;

		wait_for_news(a);
		gt_tracer_drain(a->tracer);
		now = gt_now_ns();
		if (now - a->fed_ns >= (uint64_t)(a->settings.interval_s * 1e9)) {
			a->fed_ns = now;
			gt_agent_feed(a, now);
			gt_namer_start(a, now);
			gt_agent_endpoint_check(a, now);
			gt_targets_tell_dropped(a->tracer, &told);
		}
		gt_namer_take(a, now);
		gt_agent_record_tick(a, now);
		gt_agent_rows_take(&a->rows, &a->settings.rows, a->totals, now, false);
		if (now - a->minute_ns >= MINUTE_NS) {
			a->minute_ns = now;
			every_minute(a);
		}
		if (watchdog_ns && now - barked_ns >= watchdog_ns) {
			barked_ns = now;
			gt_service_notify("WATCHDOG=1");
		}
		if (must_reload) {
			must_reload = 0;
			gt_agent_reload(a);
		}
	}
}

static int prepare(struct gt_agent *a, struct gt_error *error)
{
	const struct gt_agent_settings *s = &a->settings;
	struct gt_tracer_options how = {
		.listener = gt_agent_listener(a),
		.max_stack_bytes = s->max_memory / STACKS_PART,
		.probes = { .frames = GT_PROBES_DEPTH,
			    .stack_bytes = GT_PROBES_STACK,
			    .python = !s->no_python },
	};
	int e = gt_control_open(&a->control, s->socket, error);

	if (!e)
		e = gt_agent_rows_open(&a->rows, &s->rows, s->state, error);
	if (!e)
		e = gt_agent_endpoint_start(a, error);
	if (!e)
		e = gt_targets_check(&a->targets, error);
	how.probes.ring_bytes = gt_ring_size(s->max_memory / RING_PART, &how.probes);
	gt_targets_configure(&a->targets, &how);
	if (!e)
		e = gt_tracer_new(&a->tracer, &how, error);
	a->live.tracer = a->tracer;
	if (!e) {
		e = gt_targets_probe(&a->targets, a->tracer, error);
		e = e < 0 ? e : 0;
	}
	if (!e)
		gt_agent_gpus_read(a);
	if (!e)
		e = gt_agent_record_init(a, error);
	/* the server of requests is another user's, and is started again if it dies */
	return e ? e :
		   gt_privileges_drop(1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_KILL);
}

static int run(struct gt_agent *a)
{
	struct gt_error error = { "" };
	char who[128];
	int e;

	gt_stop_on(SIGINT);
	gt_stop_on(SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGUSR2, &(struct sigaction){ .sa_handler = on_restart }, NULL);
	sigaction(SIGHUP, &(struct sigaction){ .sa_handler = on_hangup }, NULL);
	gt_control_init(&a->control);
	a->control.answer = answer;
	a->control.left = left;
	a->control.context = a;
	gt_agent_follow_init(a);
	e = prepare(a, &error);
	if (e) {
		gt_tell("%s", *error.text ? error.text : strerror(-e));
	} else {
		gt_targets_name(&a->targets, who, sizeof who);
		gt_service_log(GT_LEVEL_INFO, "following %s", who);
		gt_service_notify("READY=1");
		follow(a);
		gt_service_notify(must_restart ? "RELOADING=1" : "STOPPING=1");
		gt_tracer_stop(a->tracer);
		gt_agent_rows_take(&a->rows, &a->settings.rows, a->totals, gt_now_ns(), true);
	}
	if (a->tracer)
		gt_agent_record_fini(a);
	gt_agent_rows_close(&a->rows);
	gt_control_close(&a->control);
	gt_agent_endpoint_stop(a);
	gt_namer_fini(&a->namer);
	if (a->tracer)
		gt_tracer_free(a->tracer);
	gt_agent_follow_fini(a);
	gt_agent_gpus_fini(a);
	return e ? gt_targets_status(e) : GT_EXIT_DONE;
}

static int check(struct gt_agent *a)
{
	const struct gt_agent_settings *s = &a->settings;

	if (!s->certificate != !s->key)
		return gt_syntax_wrong(&gt_agent_syntax,
				       "--tls-cert and --tls-key need each other");
	return gt_targets_parse(&a->targets, &gt_agent_syntax, &a->settings.targets,
				&a->settings.own.library);
}

/* Runs the installed program, which may be a newer one, with the same arguments and pid. */
static int restart(int argc, char *const *argv)
{
	static const char deleted[] = " (deleted)";
	char path[PATH_MAX], **arguments = gt_alloc(((size_t)argc + 2) * sizeof *arguments), *end;
	ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

	path[size > 0 ? size : 0] = '\0';
	end = strstr(path, deleted);
	if (end && !end[strlen(deleted)])
		*end = '\0';
	arguments[0] = path;
	memcpy(arguments + 1, argv, (size_t)argc * sizeof *argv);
	execv(path, arguments);
	free(arguments);
	return gt_fail("cannot run %s again: %s", path, strerror(errno));
}

int gt_cmd_agent(int argc, char **argv)
{
	struct gt_agent *a = gt_alloc(sizeof *a);
	char **typed = gt_alloc(((size_t)argc + 1) * sizeof *typed);
	struct gt_error error = { "" };
	int status, first;

	memcpy(typed, argv, (size_t)argc * sizeof *argv);
	a->settings = gt_agent_defaults;
	first = gt_options_parse(&gt_agent_syntax, &a->settings, argc, argv, &status);
	if (first >= 0 && gt_agent_config_read(&a->settings, &error)) {
		gt_tell("%s", error.text);
		status = GT_EXIT_USAGE;
		first = -1;
	}
	if (first >= 0 && first < argc)
		status = gt_agent_ask(&a->settings, argc - first, argv + first);
	else if (first >= 0)
		status = check(a);
	if (first >= 0 && first == argc && !status)
		status = run(a);
	gt_targets_settings_fini(&a->settings.targets);
	gt_own_options_fini(&a->settings.own);
	gt_targets_fini(&a->targets);
	gt_agent_config_free();
	free(a);
	if (must_restart && !gt_stopped && !status)
		status = restart(argc, typed);
	free(typed);
	return status;
}
