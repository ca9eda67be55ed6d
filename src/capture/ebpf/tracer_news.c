/* SPDX-License-Identifier: MIT */
/* tracer_news.c - processes that start, fork, become other programs and end. */
#include "capture/ebpf/tracer_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static void set_early(struct gt_tracer *t, struct gt_traced *p)
{
	p->contexts.has_unseen = p->is_late = gt_libraries_was_early(&t->libraries, p->pid);
}

struct gt_traced *gt_tracer_add(struct gt_tracer *t, uint32_t pid, uint64_t start, uint32_t exec,
				uint32_t parent)
{
	struct gt_traced *p = gt_traced_set_add(&t->processes, pid, start, exec);

	p->parent = parent;
	p->places = &t->places;
	p->stacks.tree.budget = &t->budget;
	set_early(t, p);
	/* libraries that it mapped before we knew that it is traced */
	for (size_t k = 0; k < t->libraries.count; k++)
		t->libraries.list[k].is_late |= t->libraries.list[k].late_pid == pid;
	return p;
}

/* A process that was named by its pid, and of which the kernel now says when it started. */
static void adopt(struct gt_tracer *t, uint32_t pid, uint64_t start, uint32_t exec)
{
	struct gt_traced *p = gt_traced_set_find(&t->processes, pid, 0, 0);

	if (!p)
		return;
	p->start = start;
	p->exec = exec;
	set_early(t, p);
}

/* From a parent that makes no calls itself. */
static void inherit(struct gt_tracer *t, struct gt_traced *p, const struct gt_probe_event *e)
{
	const struct gt_modules *modules = gt_parents_get(&t->parents, &t->images, e);

	if (modules)
		gt_modules_inherit(&p->modules, modules);
}

static void on_fork(struct gt_tracer *t, const struct gt_probe_event *e)
{
	struct gt_traced *parent = gt_traced_set_by_pid(&t->processes, e->parent), *p;

	if (gt_traced_set_find(&t->processes, e->pid, e->start, e->exec))
		return;
	/* when all processes are traced, those without calls are of no interest yet */
	if (t->options.probes.everyone && (!parent || !parent->is_known))
		return;
	p = gt_tracer_add(t, e->pid, e->start, e->exec, e->parent);
	if (!parent) {
		inherit(t, p, e);
	} else {
		gt_modules_inherit(&p->modules, &parent->modules);
		gt_tracer_stacks_fork(parent, p);
		p->platforms = parent->platforms;
		memcpy(p->name, parent->name, sizeof p->name);
		p->is_wanted = parent->is_wanted && !t->options.probes.no_children;
	}
}

static void on_exec(struct gt_tracer *t, const struct gt_probe_event *e)
{
	struct gt_traced_set *f = &t->processes;

	for (struct gt_traced *p = gt_traced_set_by_pid(f, e->pid); p; p = p->next)
		if (p->pid == e->pid && p->start == e->start && p->exec != e->exec) {
			p->has_execed |= !p->is_over;
			gt_traced_set_over(f, p, &e->lost);
		}
	/* whatever was mapped before is gone */
	gt_libraries_forget(&t->libraries, e->pid);
	gt_tracer_stacks_exec(&t->stacks, e->pid);
	if (!gt_traced_set_find(f, e->pid, e->start, e->exec))
		gt_tracer_add(t, e->pid, e->start, e->exec, e->parent);
	/* it may have a library linked into it */
	if (!t->options.probes.everyone)
		gt_libraries_queue(&t->libraries, e->pid);
}

void gt_tracer_judge(struct gt_tracer *t, struct gt_traced *p, const struct gt_probe_event *e)
{
	/* its program is known from its mappings, if it has ended */
	if (t->wanted.decide)
		t->images.catch_up(t);
	p->is_wanted =
		p->is_wanted || gt_wanted_now(&t->wanted, e, p->start,
					      gt_map_history_program(&t->map_history, e->pid));
	p->is_unwanted = !p->is_wanted;
	if (p->is_unwanted)
		gt_probes_ignore(t->probes, p->pid);
}

/* What /proc does not say, the kernel has said: the process may have ended. */
static void identify(struct gt_traced *p, const struct gt_probe_event *e)
{
	struct utsname own;

	gt_identity_read(&p->who, p->pid);
	if (p->who.uid == GT_UID_UNKNOWN)
		gt_identity_set_user(&p->who, e->uid);
	if (!uname(&own) && strncmp(own.nodename, e->host, sizeof e->host - 1))
		snprintf(p->who.host, sizeof p->who.host, "%.*s", (int)sizeof e->host - 1, e->host);
}

static void on_thread(struct gt_tracer *t, const struct gt_probe_event *e)
{
	struct gt_traced *p = gt_traced_set_find(&t->processes, e->pid, e->start, e->exec);

	if (!p)
		p = gt_tracer_add(t, e->pid, e->start, e->exec, e->parent);
	p->parent = e->parent;
	if (!p->is_wanted && !p->is_unwanted)
		gt_tracer_judge(t, p, e);
	if (!p->is_known) {
		p->is_known = true;
		gt_traced_name(p, e->name);
		identify(p, e);
		gt_tracer_stacks_adopt(&t->stacks, p);
		gt_modules_look(&p->modules, &t->images, p->pid);
		if (!p->modules.count)
			inherit(t, p, e);
		gt_tracer_stacks_prepare(&t->stacks, p);
	}
	gt_traced_thread(p, e->tid, e->name);
}

static void on_end(struct gt_tracer *t, const struct gt_probe_event *e)
{
	struct gt_traced *p = gt_traced_set_by_pid(&t->processes, e->pid);

	for (; p; p = p->next) {
		if (p->pid != e->pid || p->start != e->start || p->is_over)
			continue;
		p->has_exited = true;
		p->exit_code = e->exit_code;
		gt_libraries_forget(&t->libraries, e->pid);
		gt_traced_set_over(&t->processes, p, &e->lost);
	}
}

void gt_tracer_take_news(void *context, const void *record, size_t size)
{
	const struct gt_probe_event *e = record;
	struct gt_tracer *t = context;
	struct gt_traced *p;

	if (size < sizeof *e)
		return;
	adopt(t, e->parent, e->parent_start, e->parent_exec);
	/* an exec ends what it was before, which is its number of exec calls less one */
	adopt(t, e->pid, e->start, e->exec - (e->news == GT_NEWS_EXEC));
	switch ((enum gt_probe_news)e->news) {
	case GT_NEWS_THREAD: on_thread(t, e); break;
	case GT_NEWS_FORK: on_fork(t, e); break;
	case GT_NEWS_EXEC: on_exec(t, e); break;
	case GT_NEWS_END: on_end(t, e); break;
	case GT_NEWS_THREAD_END:
		p = gt_traced_set_find(&t->processes, e->pid, e->start, e->exec);
		if (p)
			t->threads_over |= gt_traced_thread_end(p, e->tid);
		break;
	}
}

/* Also true of one that has ended: the library it has mapped may be that of the next. */
static bool is_followed(const struct gt_tracer *t, uint32_t pid)
{
	size_t count = t->ended_count < GT_TRACER_ENDED ? t->ended_count : GT_TRACER_ENDED;

	for (size_t i = 0; i < count; i++)
		if (t->ended[i] == pid)
			return true;
	return gt_probes_has_target(t->probes, pid) || gt_traced_set_by_pid(&t->processes, pid);
}

void gt_tracer_drop_others(struct gt_tracer *t)
{
	struct gt_libraries *l = &t->libraries;
	size_t heard = 0, queued = 0;

	if (t->options.probes.everyone || (!l->heard_count && !l->queue_count))
		return;
	/* children that are new are known from there */
	gt_ring_drain(gt_probes_news(t->probes), gt_tracer_take_news, t);
	for (size_t i = 0; i < l->heard_count; i++) {
		if (is_followed(t, l->heard[i].pid))
			l->heard[heard++] = l->heard[i];
		else
			free(l->heard[i].mapping.path);
	}
	l->heard_count = heard;
	for (size_t i = 0; i < l->queue_count; i++)
		if (is_followed(t, l->queue[i]))
			l->queue[queued++] = l->queue[i];
	l->queue_count = queued;
}
