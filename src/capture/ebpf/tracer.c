/* SPDX-License-Identifier: MIT */
/* tracer.c - turns the records of the BPF programs into traces, one for each traced process. */
#include "capture/ebpf/tracer_state.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "capture/ebpf/ze_devices.h"

enum {
	DRAINS_MAX = 16,
	BACKLOG = 4, /* times the ring's size may wait in our own memory */
};

/* Ends the process's trace and forgets the process. */
static void end(struct gt_tracer *t, struct gt_traced *p)
{
	struct gt_process_state state;

	t->ended[t->ended_count++ % GT_TRACER_ENDED] = p->pid;
	gt_traced_set_remove(&t->processes, p);
	if (t->last == p)
		t->last = NULL;
	if (p->lost_at_end.count)
		gt_traced_lose(p, &p->lost_at_end);
	if (p->has_exited)
		gt_traced_exit(p, p->exit_code);
	else if (p->has_execed)
		gt_traced_exec(p);
	else if (!p->is_over && gt_process_state_read(&state, p->pid) && !state.has_ended)
		gt_traced_let_go(p);
	if (p->is_seen && t->options.listener.ended)
		t->options.listener.ended(t->options.listener.context, p);
	gt_tracer_stacks_end(&t->stacks, p);
	gt_traced_free(p);
}

static bool is_target(const struct gt_tracer *t, const struct gt_traced *p, uint32_t pid)
{
	return p || gt_probes_has_target(t->probes, pid);
}

static void on_mapped(void *context, uint32_t pid, const struct gt_mapping *mapping)
{
	struct gt_tracer *t = context;
	struct gt_traced *p = gt_traced_set_by_pid(&t->processes, pid);

	if (p)
		p->modules.is_stale = true;
	gt_parents_stale(&t->parents, pid);
	if (gt_python_is_likely(mapping->path) && is_target(t, p, pid))
		gt_python_search(&t->pythons, pid);
	if (mapping->inode)
		gt_map_history_add(&t->map_history, pid, mapping);
	if (gt_recorder_is_likely(mapping->path) &&
	    (t->options.probes.everyone || is_target(t, p, pid)))
		gt_recorders_hear(&t->recorders, pid, mapping);
	if (gt_libraries_api(&t->libraries, mapping->path) >= 0)
		gt_libraries_hear(&t->libraries, pid, mapping);
}

static void look_everywhere(struct gt_tracer *t)
{
	if (t->options.probes.everyone) {
		gt_recorders_everywhere(&t->recorders);
		gt_libraries_queue_all(&t->libraries);
	}
	for (struct gt_traced *p = NULL; (p = gt_traced_set_next(&t->processes, p));) {
		if (!t->options.probes.everyone)
			gt_recorders_scan(&t->recorders, p->pid);
		gt_libraries_queue(&t->libraries, p->pid);
		p->modules.is_stale = true;
	}
}

/*
 * Hears of the mappings made so far; where some were lost, everything is searched. Also for
 * gt_images, when a process has ended and these are all that is left of it. What is heard of may
 * lead there, too: then the rest follows when it has been dealt with.
 */
static void take_mappings(void *context)
{
	struct gt_tracer *t = context;

	if (t->hears_mappings)
		return;
	t->hears_mappings = true;
	if (!gt_mapwatch_drain(&t->mapwatch, on_mapped, t))
		look_everywhere(t);
	t->hears_mappings = false;
}

/* A process has been scanned: the libraries from number `known` on are new. */
static void on_scanned(void *context, uint32_t pid, size_t known)
{
	struct gt_tracer *t = context;
	struct gt_traced *p = gt_traced_set_by_pid(&t->processes, pid);
	bool is_wanted = t->options.probes.everyone ?
				 gt_wanted_early(&t->wanted, pid,
						 gt_map_history_program(&t->map_history, pid)) :
				 gt_probes_has_target(t->probes, pid);

	t->has_library |= t->libraries.usable && is_wanted;
	if (t->libraries.usable && is_wanted && !p && t->options.probes.everyone &&
	    !t->libraries.is_settled)
		gt_parents_meet(&t->parents, &t->images, pid);
	/* at first, most processes of the machine use none of the libraries */
	if (t->libraries.is_settled || gt_libraries_was_early(&t->libraries, pid))
		gt_python_search(&t->pythons, pid);
	if (p && gt_libraries_was_early(&t->libraries, pid)) {
		p->contexts.has_unseen = true;
		gt_traced_late(p);
	}
	for (size_t i = known; i < t->libraries.count; i++) {
		t->libraries.list[i].late_pid = pid;
		t->libraries.list[i].is_late = p || (is_wanted && t->options.probes.everyone);
	}
}

/* The process of a record; NULL when it is not known yet. */
static struct gt_traced *known_process(struct gt_tracer *t, uint32_t pid, uint64_t start,
				       uint32_t exec)
{
	struct gt_traced *p = t->last;

	if (p && p->pid == pid && p->start == start && p->exec == exec)
		return p;
	return gt_traced_set_find(&t->processes, pid, start, exec);
}

/* The process of a record of a thread. */
static struct gt_traced *process_of(struct gt_tracer *t, uint32_t pid, uint64_t start,
				    uint32_t exec, uint32_t tid)
{
	struct gt_traced *p = known_process(t, pid, start, exec);

	/* news of it (its parent, its name) came before the record, on the other ring */
	if (!p || !p->is_known || !gt_traced_has_thread(p, tid)) {
		gt_ring_drain(gt_probes_news(t->probes), gt_tracer_take_news, t);
		p = known_process(t, pid, start, exec);
	}
	if (!p)
		p = gt_tracer_add(t, pid, start, exec, 0);
	t->last = p;
	return p;
}

/* A call in which its process ended: written as unfinished, where doors write it. */
static void take_unfinished(struct gt_tracer *t, struct gt_traced *p, const struct gt_plan *plan,
			    const struct gt_probe_call *c)
{
	struct gt_event event = { .function = c->row, .time_ns = c->begun_ns, .tid = c->tid };
	uint64_t argv[GT_ARGS_MAX], caller;
	uint32_t count = gt_plan_arguments(plan, c, argv);

	memcpy(&caller, c + 1, sizeof caller);
	if (c->frames)
		event.stack = gt_traced_stack_number(p, &t->images, &caller, 1);
	gt_traced_enter(p, &event, argv, count);
}

static void take_python(struct gt_tracer *t, const struct gt_probe_python_head *head, size_t size)
{
	struct gt_traced *p = process_of(t, head->pid, head->start, head->exec, head->tid);

	gt_traced_refresh(p, &t->images);
	gt_traced_python_take(&p->python, &p->modules, p->pid, head, size);
}

static void take_call(void *context, const void *record, size_t size)
{
	const struct gt_probe_call *c = record;
	struct gt_tracer *t = context;
	const struct gt_plan *plan;
	struct gt_replica replica;
	struct gt_traced *p;

	if (size >= sizeof(struct gt_probe_python_head) && !c->begun_ns) {
		take_python(t, record, size);
		return;
	}
	if (!gt_probe_call_is_whole(c, size))
		return;
	if (c->row >= GT_PROBE_ASKED && !c->unfinished) {
		p = process_of(t, c->pid, c->start, c->exec, c->tid);
		gt_platforms_take(&p->platforms, &t->places, c, gt_probe_call_array(c));
		gt_ze_devices_take(&p->ze_devices, c, gt_probe_call_array(c));
		return;
	}
	plan = gt_probes_plan(t->probes, c->row);
	if (!plan)
		return;
	p = process_of(t, c->pid, c->start, c->exec, c->tid);
	if (!p->is_wanted && !p->is_unwanted)
		gt_tracer_judge(t, p, &(struct gt_probe_event){ .pid = c->pid });
	if (p->is_unwanted)
		return;
	if (!p->is_seen) {
		p->is_seen = t->has_library = true;
		p->first_ns = c->begun_ns;
		if (t->place.folder) {
			int error = gt_traced_open(p, &t->place);

			if (error && !t->error)
				t->error = error;
		}
		if (t->options.listener.began)
			t->options.listener.began(t->options.listener.context, p);
	}
	if (c->unfinished) {
		take_unfinished(t, p, plan, c);
		return;
	}
	gt_replica_make(&replica, plan, c, gt_probe_call_array(c));
	if (replica.lost)
		gt_traced_lose(p,
			       &(struct gt_probe_losses){ replica.lost, c->begun_ns, c->ended_ns });
	if (t->options.probes.frames)
		replica.call.stack = gt_tracer_stacks_take(&t->stacks, p, c);
	gt_traced_events(p, &replica, c->tid, &t->options.listener);
}

static bool drain_calls(struct gt_tracer *t)
{
	return t->backlog ? gt_backlog_drain(t->backlog, take_call, t) :
			    gt_rings_drain(gt_probes_calls(t->probes), take_call, t);
}

/* Handles new mappings; where the kernel does not report them, searches once a second. */
static void look_for_libraries(struct gt_tracer *t)
{
	uint64_t now = gt_now_ns();

	if (t->mapwatch.count) {
		take_mappings(t);
	} else if (now - t->looked_ns >= 1000000000) {
		t->looked_ns = now;
		look_everywhere(t);
	}
	gt_tracer_drop_others(t);
	gt_libraries_scan_queued(&t->libraries, on_scanned, t);
}

static void end_those_over(struct gt_tracer *t)
{
	struct gt_traced *p = gt_traced_set_next(&t->processes, NULL), *next;

	for (; p && t->processes.over; p = next) {
		next = gt_traced_set_next(&t->processes, p);
		if (p->is_over)
			end(t, p);
	}
}

static void end_threads(struct gt_tracer *t)
{
	for (struct gt_traced *p = NULL;
	     t->threads_over && (p = gt_traced_set_next(&t->processes, p));)
		gt_traced_end_threads(p);
	t->threads_over = false;
}

/*
 * Takes all that waits in all rings. Returns true if every call of the processes and threads that
 * are known to have ended has arrived: none is kept back by one that is still being written, and
 * taking the calls brought no news of further ends.
 */
static bool take_all(struct gt_tracer *t)
{
	struct gt_ring *news = gt_probes_news(t->probes);
	uint64_t known;

	for (int i = 0; i < DRAINS_MAX; i++) {
		gt_ring_drain(news, gt_tracer_take_news, t);
		known = *news->consumer;
		if (!drain_calls(t))
			return false;
		if (*news->consumer == known)
			return true;
	}
	return false;
}

/* Tells the BPF programs what processes have mapped, before the first call from there. */
static void look_ahead(struct gt_tracer *t)
{
	if (!t->stacks.tables || !t->mapwatch.count)
		return;
	for (struct gt_traced *p = NULL; (p = gt_traced_set_next(&t->processes, p));)
		if (p->modules.is_stale && !p->is_over) {
			gt_traced_refresh(p, &t->images);
			gt_tracer_stacks_prepare(&t->stacks, p);
		}
	gt_unwind_tables_tidy(t->stacks.tables, gt_now_ns());
}

void gt_tracer_drain(struct gt_tracer *t)
{
	/* first: a call may come from a library mapped a moment ago */
	if (!t->stopped)
		look_for_libraries(t);
	drain_calls(t);
	if (take_all(t)) {
		end_threads(t);
		end_those_over(t);
	}
	gt_python_search_traced(&t->pythons, &t->processes);
	if (!t->stopped)
		look_ahead(t);
}

/* Edge-triggered: only the BPF programs wake us, when much is waiting. */
static int watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int watch_rings(struct gt_tracer *t)
{
	struct gt_rings *calls = gt_probes_calls(t->probes);
	int e = t->epoll < 0 ? -errno : watch(t->epoll, gt_probes_news(t->probes)->fd);

	for (unsigned i = 0; i < calls->count && !e; i++)
		e = watch(t->epoll, calls->parts[i].ring.fd);
	return e;
}

void gt_tracer_wait(struct gt_tracer *t, unsigned milliseconds)
{
	struct gt_rings *calls = gt_probes_calls(t->probes);
	struct epoll_event events[GT_PROBE_RINGS + 1];

	/* not before: a thread that is started early keeps the privileges that we drop */
	if (!t->has_waited && gt_backlog_start(&t->backlog, calls, BACKLOG * gt_rings_size(calls),
					       gt_probes_backlog(t->probes)))
		t->backlog = NULL;
	t->has_waited = true;
	/* libraries that are to be probed do not wait: their first calls are missed */
	epoll_wait(t->epoll, events, GT_PROBE_RINGS + 1,
		   t->libraries.queue_count || t->libraries.heard_count ? 0 : (int)milliseconds);
}

int gt_tracer_fd(const struct gt_tracer *t)
{
	return t->epoll;
}

int gt_tracer_new(struct gt_tracer **out, const struct gt_tracer_options *options,
		  struct gt_error *error)
{
	struct gt_tracer *t = gt_alloc(sizeof *t);
	int e = gt_probes_new(&t->probes, &options->probes, error);

	if (e) {
		free(t);
		return e;
	}
	t->options = *options;
	t->wanted.decide = options->wants;
	t->wanted.context = options->wants_context;
	t->places.look = options->look_at_gpus;
	t->budget.limit_bytes = options->max_stack_bytes;
	t->libraries.probes = t->probes;
	t->recorders.probes = t->probes;
	t->libraries.with_programs = !options->probes.everyone;
	t->images.history = &t->map_history;
	t->images.catch_up = take_mappings;
	t->images.context = t;
	t->pythons.probes = gt_probes_has_python(t->probes) ? t->probes : NULL;
	t->pythons.images = &t->images;
	gt_mapwatch_open(&t->mapwatch);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	gt_tracer_stacks_init(&t->stacks, &t->images, t->probes, &options->probes);
	if (watch_rings(t)) {
		e = gt_error_set(error, -errno, "cannot wait for the kernel: %s", strerror(errno));
		gt_tracer_free(t);
		return e;
	}
	*out = t;
	return 0;
}

bool gt_tracer_has_python(const struct gt_tracer *t)
{
	return t->pythons.probes;
}

/* Calls of the process may be missing, whose libraries were not all probed when all ended. */
static void on_missed(void *context, uint32_t pid, size_t known)
{
	struct gt_tracer *t = context;
	struct gt_traced *p = gt_traced_set_by_pid(&t->processes, pid);

	if (p && gt_libraries_was_early(&t->libraries, pid)) {
		p->contexts.has_unseen = true;
		gt_traced_late(p);
	}
}

void gt_tracer_stop(struct gt_tracer *t)
{
	t->stopped = true;
	gt_probes_stop(t->probes);
	if (t->mapwatch.count)
		take_mappings(t);
	else
		look_everywhere(t);
	gt_tracer_drop_others(t);
	gt_libraries_end(&t->libraries, on_missed, t);
	/* twice: a record may have been incomplete the first time */
	gt_tracer_drain(t);
	usleep(1000);
	gt_tracer_drain(t);
}

void gt_tracer_free(struct gt_tracer *t)
{
	for (struct gt_traced *p; (p = gt_traced_set_next(&t->processes, NULL));) {
		p->lost_at_end = gt_probes_lost(t->probes, p->pid);
		end(t, p);
	}
	if (t->epoll >= 0)
		close(t->epoll);
	gt_mapwatch_close(&t->mapwatch);
	if (t->backlog)
		gt_backlog_stop(t->backlog);
	gt_tracer_stacks_fini(&t->stacks);
	gt_probes_free(t->probes);
	gt_libraries_fini(&t->libraries);
	gt_images_fini(&t->images);
	gt_map_history_fini(&t->map_history);
	gt_parents_fini(&t->parents);
	free(t);
}

void gt_tracer_record(struct gt_tracer *t, const char *folder)
{
	t->place.folder = folder;
	t->place.max_bytes = t->options.max_bytes;
	t->place.stack_depth = t->options.probes.frames;
}

int gt_tracer_error(const struct gt_tracer *t)
{
	return t->error;
}

struct gt_libraries *gt_tracer_libraries(struct gt_tracer *t)
{
	return &t->libraries;
}

int gt_tracer_follow(struct gt_tracer *t, uint32_t pid, struct gt_error *error)
{
	struct gt_process_state state;
	struct gt_traced *p;
	int e;

	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return gt_error_set(error, -ESRCH,
				    "there is no process %u: `ps` lists all processes", pid);
	e = gt_probes_target(t->probes, pid);
	if (e)
		return gt_error_set(error, e, "cannot follow process %u: %s", pid, strerror(-e));
	/* it may have ended before the kernel knew that its end is of interest */
	if (!gt_process_state_read(&state, pid) || state.has_ended) {
		gt_probes_untarget(t->probes, pid);
		return 0;
	}
	/* our own child is about to run another program */
	if (state.ppid != (uint32_t)getpid())
		gt_tracer_stacks_follow(&t->stacks, pid);
	gt_python_search(&t->pythons, pid);
	gt_recorders_scan(&t->recorders, pid);
	if (gt_traced_set_by_pid(&t->processes, pid))
		return 0;
	/* now: it may end right after its first call, or its files be replaced */
	p = gt_tracer_add(t, pid, 0, 0, 0);
	gt_tracer_stacks_adopt(&t->stacks, p);
	if (!p->modules.count)
		gt_modules_look(&p->modules, &t->images, pid);
	return 0;
}

int gt_tracer_scan(struct gt_tracer *t, uint32_t pid, struct gt_error *error)
{
	int mapped = gt_libraries_scan(&t->libraries, pid, error);

	if (!mapped && gt_libraries_scan_program(&t->libraries, pid))
		mapped = 1;
	t->has_library |= t->libraries.usable > 0;
	return mapped;
}

bool gt_tracer_has_library(const struct gt_tracer *t)
{
	return t->has_library;
}

void gt_tracer_find_pythons(struct gt_tracer *t, const char *program)
{
	gt_python_search_installed(&t->pythons, program, getenv("PATH"));
}

void gt_tracer_find_recorders(struct gt_tracer *t, const char *installed)
{
	if (*installed)
		gt_recorders_installed(&t->recorders, installed);
	if (t->options.probes.everyone)
		gt_recorders_everywhere(&t->recorders);
}

void gt_tracer_scan_all(struct gt_tracer *t)
{
	gt_libraries_everywhere(&t->libraries, on_scanned, t);
}

bool gt_tracer_is_idle(const struct gt_tracer *t)
{
	/* their ends, if not lost, are in the ring */
	return gt_probes_is_idle(t->probes);
}

size_t gt_tracer_running(const struct gt_tracer *t)
{
	size_t count = 0;

	for (struct gt_traced *p = NULL; (p = gt_traced_set_next(&t->processes, p));)
		count += !p->is_unwanted && p->start;
	return count;
}

uint64_t gt_tracer_lost(const struct gt_tracer *t)
{
	uint64_t news, calls = gt_probes_lost_total(t->probes, &news);

	return calls + news;
}

void gt_tracer_lost_times(const struct gt_tracer *t, uint64_t *first_ns, uint64_t *last_ns)
{
	struct gt_probe_losses stray = gt_probes_lost(t->probes, 0);
	uint64_t news;

	gt_probes_lost_total(t->probes, &news);
	/* a start, an end or an exec that nobody knows of changes what all calls mean */
	*first_ns = news ? 1 : stray.first_ns;
	*last_ns = news ? UINT64_MAX : stray.last_ns;
}

const struct gt_places *gt_tracer_places(const struct gt_tracer *t)
{
	return &t->places;
}

const struct gt_images *gt_tracer_images(const struct gt_tracer *t)
{
	return &t->images;
}

bool gt_tracer_has_all_images(const struct gt_tracer *t)
{
	return t->images.count == GT_IMAGES_MAX;
}

uint64_t gt_tracer_other_stacks(const struct gt_tracer *t)
{
	return t->budget.refused;
}

uint64_t gt_tracer_cut_stacks(const struct gt_tracer *t)
{
	return t->stacks.cut;
}

bool gt_tracer_tables(const struct gt_tracer *t, struct gt_unwind_size *size)
{
	if (t->stacks.tables)
		*size = gt_unwind_tables_size(t->stacks.tables);
	return t->stacks.tables;
}
