/* SPDX-License-Identifier: MIT */
/* ending.c - how a process ended, and what may therefore be said of what it left alive. */
#include "replay/ending.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/process_text.h"
#include "replay/shortage.h"

const char *const gt_fate_words[GT_FATE_COUNT] = {
	[GT_FATE_LEAKED] = "LEAKED",
	[GT_FATE_PERHAPS] = "PERHAPS LEAKED",
	[GT_FATE_KILLED] = "ALIVE WHEN KILLED",
	[GT_FATE_ALIVE] = "ALIVE",
};

const char *const gt_fate_phrases[GT_FATE_COUNT] = {
	[GT_FATE_LEAKED] = "leaked",
	[GT_FATE_PERHAPS] = "perhaps leaked",
	[GT_FATE_KILLED] = "alive when killed",
	[GT_FATE_ALIVE] = "alive",
};

const char *const gt_fate_keys[GT_FATE_COUNT] = {
	[GT_FATE_LEAKED] = "leaked",
	[GT_FATE_PERHAPS] = "perhaps",
	[GT_FATE_KILLED] = "killed",
	[GT_FATE_ALIVE] = "alive",
};

static const char *const end_keys[] = {
	[GT_END_UNKNOWN] = "unknown",   [GT_END_RUNNING] = "running", [GT_END_EXIT] = "exit",
	[GT_END_QUICK] = "quick_exit",  [GT_END_EXEC] = "exec",       [GT_END_SIGNAL] = "signal",
	[GT_END_DETACHED] = "detached", [GT_END_STOPPED] = "stopped",
};

/* At _exit, other threads than the one that called it may have been at work. */
static bool left_threads(const struct gt_process *p)
{
	return (p->end == GT_END_QUICK || (p->end == GT_END_EXIT && p->is_attached)) &&
	       p->threads_at_end > p->main_at_end;
}

/* How certain it is that the process would not have released more. */
static enum gt_fate fate_of_process(const struct gt_process *p)
{
	switch (p->end) {
	case GT_END_RUNNING:
	case GT_END_DETACHED: return GT_FATE_ALIVE;
	case GT_END_STOPPED:
	case GT_END_UNKNOWN: return GT_FATE_PERHAPS;
	case GT_END_SIGNAL: return GT_FATE_KILLED;
	case GT_END_QUICK:
	case GT_END_EXIT:
	case GT_END_EXEC: break;
	}
	/* the driver ended it, or it ended while another thread was at work */
	return p->calls_in_flight || left_threads(p) ? GT_FATE_KILLED : GT_FATE_LEAKED;
}

/* True when a missing event may have ended the entry, or the owner with which it dies. */
static bool may_have_ended(const struct gt_view *v, const struct gt_process *p,
			   const struct gt_entry *entry)
{
	const struct gt_entry *owner;

	if (!p->gap_first_ns)
		return false;
	owner = gt_live_owner_of(&v->ledger->live, entry);
	return (owner ? owner : entry)->time_ns <= p->gap_last_ns;
}

/* The fate of what a process left, unless a missing event may have ended it. */
static enum gt_fate fate_in(const struct gt_view *v, uint32_t process)
{
	const struct gt_process *p = gt_recording_process(v->recording, process);
	enum gt_fate fate = fate_of_process(p);

	if (fate == GT_FATE_LEAKED && gt_shortage_stopped(v, process))
		fate = GT_FATE_KILLED;
	if (fate == GT_FATE_ALIVE && v->strict.running_is_leak)
		fate = GT_FATE_LEAKED;
	/* nobody saw whether a process without an end was killed */
	if (v->strict.killed_is_leak && (fate == GT_FATE_KILLED || p->end == GT_END_UNKNOWN))
		fate = GT_FATE_LEAKED;
	return fate;
}

/* Given the fate of what its process left. */
static enum gt_fate fate_given(const struct gt_view *v, const struct gt_entry *entry,
			       const struct gt_process *p, enum gt_fate fate)
{
	return fate == GT_FATE_LEAKED && may_have_ended(v, p, entry) ? GT_FATE_PERHAPS : fate;
}

enum gt_fate gt_fate_of(const struct gt_view *v, const struct gt_entry *entry)
{
	return fate_given(v, entry, gt_recording_process(v->recording, entry->process),
			  fate_in(v, entry->process));
}

/* The fate of all that is alive, if one look at each process tells; otherwise GT_FATE_COUNT. */
static enum gt_fate shared_fate(const struct gt_view *v)
{
	const struct gt_live *live = &v->ledger->live;
	enum gt_fate shared = GT_FATE_COUNT;

	for (uint32_t i = 0; i < live->arena_count; i++) {
		enum gt_fate fate;

		if (!live->arenas[i].count)
			continue;
		fate = fate_in(v, i);
		if (gt_recording_process(v->recording, i)->gap_first_ns ||
		    (shared != GT_FATE_COUNT && shared != fate))
			return GT_FATE_COUNT;
		shared = fate;
	}
	return shared;
}

struct walk {
	const struct gt_view *view;
	void (*each)(void *context, const struct gt_entry *entry, enum gt_fate fate);
	void *context;
	/* of the latest entry: neighbours mostly are of one process */
	const struct gt_process *process; /* NULL: there was none */
	uint32_t number;
	enum gt_fate fate; /* of what the process left */
};

static bool visit(void *context, const struct gt_entry *entry)
{
	struct walk *w = context;

	if (gt_kinds[gt_entry_kind(entry)].habits & GT_LASTING ||
	    gt_ledger_is_held(w->view->ledger, entry))
		return true;
	if (!w->process || entry->process != w->number) {
		w->number = entry->process;
		w->process = gt_recording_process(w->view->recording, entry->process);
		w->fate = fate_in(w->view, entry->process);
	}
	w->each(w->context, entry, fate_given(w->view, entry, w->process, w->fate));
	return true;
}

void gt_fate_each(const struct gt_view *v,
		  void (*each)(void *context, const struct gt_entry *entry, enum gt_fate fate),
		  void *context)
{
	struct walk walk = { .view = v, .each = each, .context = context };

	gt_live_each(&v->ledger->live, visit, &walk);
}

static void add_to_sums(void *context, const struct gt_entry *entry, enum gt_fate fate)
{
	struct gt_fate_sum *sum = (struct gt_fate_sum *)context + fate;

	sum->count++;
	*(gt_kind_on_device(gt_entry_kind(entry)) ? &sum->device_bytes : &sum->host_bytes) +=
		gt_entry_bytes(entry);
}

void gt_fate_sums(const struct gt_view *v, struct gt_fate_sum sums[GT_FATE_COUNT])
{
	enum gt_fate shared = shared_fate(v);

	memset(sums, 0, GT_FATE_COUNT * sizeof *sums);
	if (shared < GT_FATE_COUNT) {
		struct gt_leaked all = gt_ledger_leaked(v->ledger);

		sums[shared] = (struct gt_fate_sum){ all.count, all.device_bytes, all.host_bytes };
	} else {
		gt_fate_each(v, add_to_sums, sums);
	}
}

struct site_sums {
	const struct gt_ledger *ledger;
	struct gt_site_fates *fates;
};

static void add_to_site(void *context, const struct gt_entry *entry, enum gt_fate fate)
{
	const struct site_sums *s = context;
	const struct gt_site *site = gt_ledger_site(s->ledger, entry);
	struct gt_site_fates *fates = site ? &s->fates[site - s->ledger->sites] : NULL;

	if (!fates)
		return;
	fates->count[fate]++;
	fates->bytes[fate] += gt_entry_bytes(entry);
}

struct gt_site_fates *gt_site_fates(const struct gt_view *v)
{
	struct site_sums sums = { v->ledger,
				  gt_alloc((v->ledger->site_count + 1) * sizeof *sums.fates) };

	enum gt_fate shared = shared_fate(v);

	if (shared == GT_FATE_COUNT)
		gt_fate_each(v, add_to_site, &sums);
	for (size_t i = 0; shared < GT_FATE_COUNT && i < v->ledger->site_count; i++) {
		const struct gt_site *site = &v->ledger->sites[i];

		if (!gt_site_leaks(site))
			continue;
		sums.fates[i].count[shared] = site->live;
		sums.fates[i].bytes[shared] = site->bytes_live;
	}
	return sums.fates;
}

/* The one fate of all these, or GT_FATE_COUNT. */
static enum gt_fate common_fate(const struct gt_view *v, const struct gt_groups *groups)
{
	enum gt_fate common = shared_fate(v);

	if (common < GT_FATE_COUNT)
		return common;
	common = GT_FATE_LEAKED;
	for (size_t i = 0; i < groups->count; i++)
		for (size_t k = 0; k < groups->list[i].count; k++) {
			enum gt_fate fate = gt_fate_of(v, groups->list[i].objects[k]);

			if (!i && !k)
				common = fate;
			if (fate != common)
				return GT_FATE_COUNT;
		}
	return common;
}

static bool has_fate(const void *context, const struct gt_entry *entry, int fate)
{
	return gt_fate_of(context, entry) == (enum gt_fate)fate;
}

void gt_fate_split(const struct gt_view *v, struct gt_groups *groups,
		   struct gt_groups by_fate[GT_FATE_COUNT])
{
	enum gt_fate common = common_fate(v, groups);

	memset(by_fate, 0, GT_FATE_COUNT * sizeof *by_fate);
	if (common < GT_FATE_COUNT) {
		by_fate[common] = *groups;
	} else {
		for (int fate = 0; fate < GT_FATE_COUNT; fate++)
			gt_groups_select(&by_fate[fate], groups, has_fate, v, fate);
		gt_groups_fini(groups);
	}
	*groups = (struct gt_groups){ 0 };
}

void gt_fate_word(struct gt_printer *p, enum gt_fate fate)
{
	gt_print_put(p, fate == GT_FATE_LEAKED ? GT_RED : GT_YELLOW, "%s", gt_fate_words[fate]);
}

/* "pid 12 (demo)" */
static char *who(const struct gt_process *p)
{
	char *name = gt_process_name(p), *text;

	if (asprintf(&text, *name ? "pid %" PRIu32 " (%s)" : "pid %" PRIu32, p->pid, name) < 0)
		text = gt_strdup("a process");
	free(name);
	return text;
}

const char *gt_stop_reason(int error)
{
	return error == ETIME ? "the --duration limit was reached" :
	       error == EFBIG ? "the recording reached its size limit (--max-size, or ulimit -f)" :
				strerror(error);
}

#define OOM_WORDS "killed by the kernel, because memory of the host ran out"

/* "killed by signal 15 (SIGTERM)" */
static char *signal_words(int number)
{
	const char *name = sigabbrev_np(number);
	char *text;

	return asprintf(&text, name ? "killed by signal %d (SIG%s)" : "killed by signal %d", number,
			name) < 0 ?
		       gt_strdup("killed") :
		       text;
}

char *gt_end_words(const struct gt_process *p)
{
	char *text = NULL;
	int n = 0;

	switch (p->end) {
	case GT_END_SIGNAL: return p->is_oom_kill ? gt_strdup(OOM_WORDS) : signal_words(p->signal);
	case GT_END_RUNNING: return gt_strdup("running");
	case GT_END_DETACHED: return gt_strdup(p->is_snapshot ? "running" : "detached");
	case GT_END_STOPPED: return gt_strdup("recording stopped");
	case GT_END_EXEC: return gt_strdup("exec");
	case GT_END_UNKNOWN: return gt_strdup(p->unread ? "unread" : "not recorded");
	case GT_END_EXIT:
	case GT_END_QUICK: break;
	}
	n = p->exit_status >= 0 ? asprintf(&text, "exit status %d", p->exit_status) :
				  asprintf(&text, p->end == GT_END_EXIT ? "exit" : "_exit");
	return n < 0 ? gt_strdup("exit") : text;
}

const char *gt_end_key(const struct gt_process *p)
{
	return end_keys[p->end];
}

char *gt_ending_text(const struct gt_process *p)
{
	char *name = who(p), *text = NULL, *words = NULL;
	int n = 0;

	switch (p->end) {
	case GT_END_SIGNAL:
		words = p->is_oom_kill ? gt_strdup(OOM_WORDS) : signal_words(p->signal);
		n = asprintf(&text, "%s was %s", name, words);
		break;
	case GT_END_RUNNING: n = asprintf(&text, "%s is still running", name); break;
	case GT_END_DETACHED:
		n = p->is_snapshot ?
			    asprintf(&text, "the program was running when the snapshot was taken") :
			    asprintf(&text, "%s kept running after gputrack detached", name);
		break;
	case GT_END_STOPPED:
		n = asprintf(&text, "recording of %s stopped before it ended (%s)", name,
			     gt_stop_reason(p->error));
		break;
	case GT_END_UNKNOWN: n = asprintf(&text, "the end of %s was not recorded", name); break;
	case GT_END_EXIT:
	case GT_END_QUICK:
	case GT_END_EXEC:
		if (p->calls_in_flight)
			n = asprintf(&text, "%s ended inside a call", name);
		else if (left_threads(p))
			n = asprintf(&text, "%s exited while other threads of it were at work",
				     name);
		else if (p->gap_first_ns)
			n = asprintf(&text, "events of %s are missing", name);
		break;
	}
	free(name);
	free(words);
	return n < 0 ? NULL : text;
}

/* gt_ending_text; a process that ran out of memory and stopped there did not end by itself. */
static char *ending_of(const struct gt_view *v, uint32_t process)
{
	const struct gt_process *p = gt_recording_process(v->recording, process);
	const struct gt_shortage *s = gt_shortage_stopped(v, process);
	char *text = gt_ending_text(p), *name, when[GT_FORMAT_MAX];

	if (text || !s)
		return text;
	name = who(p);
	if (asprintf(&text, "%s stopped when it ran out of memory at %s", name,
		     gt_format_span(when, gt_view_elapsed(v, s->time_ns))) < 0)
		text = NULL;
	free(name);
	return text;
}

char *gt_ending_of(const struct gt_view *v, const struct gt_groups *groups)
{
	char *text = NULL;

	for (size_t i = 0; groups && !text && i < groups->count; i++)
		for (size_t k = 0; !text && k < groups->list[i].count; k++)
			text = ending_of(v, groups->list[i].objects[k]->process);
	for (size_t i = 0; !groups && !text && i < gt_recording_process_count(v->recording); i++)
		text = ending_of(v, (uint32_t)i);
	return text;
}

/* How many processes hold these. */
static size_t holders(const struct gt_view *v, const struct gt_groups *groups)
{
	size_t all = gt_recording_process_count(v->recording), count = 0;
	bool *has = gt_alloc(all * sizeof *has);

	for (size_t i = 0; i < groups->count; i++)
		for (size_t k = 0; k < groups->list[i].count; k++)
			has[groups->list[i].objects[k]->process] = true;
	for (size_t i = 0; i < all; i++)
		count += has[i];
	free(has);
	return count;
}

void gt_fate_line(struct gt_printer *p, const struct gt_view *v, enum gt_fate fate,
		  const struct gt_groups *groups)
{
	static const char *const so[GT_FATE_COUNT] = {
		[GT_FATE_PERHAPS] = "a release may be missing",
		[GT_FATE_KILLED] = "not counted as leaked",
		[GT_FATE_ALIVE] = "may be in use",
	};
	char *why = fate == GT_FATE_LEAKED ? NULL : gt_ending_of(v, groups);
	size_t more = why ? holders(v, groups) - 1 : 0;

	if (more)
		gt_print_wrap(p, GT_DIM, 2, "%s; likewise %zu more %s: %s", why, more,
			      gt_plural(more, "process", "processes"), so[fate]);
	else if (why)
		gt_print_wrap(p, GT_DIM, 2, "%s: %s", why, so[fate]);
	free(why);
}

void gt_fates_json(struct gt_json *j, const struct gt_groups by_fate[GT_FATE_COUNT])
{
	gt_json_object(j, "fates");
	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		gt_json_line(j, gt_fate_keys[fate]);
		gt_json_uint(j, "count", by_fate[fate].object_count);
		gt_json_uint(j, "bytes", by_fate[fate].bytes);
		gt_json_end(j);
	}
	gt_json_end(j);
}

/* True if one of the holders, or with NULL any process, ended so. */
static bool has_end(const struct gt_view *v, const struct gt_groups *groups, enum gt_end end)
{
	for (size_t i = 0; groups && i < groups->count; i++)
		for (size_t k = 0; k < groups->list[i].count; k++)
			if (gt_recording_process(v->recording, groups->list[i].objects[k]->process)
				    ->end == end)
				return true;
	for (size_t i = 0; !groups && i < gt_recording_process_count(v->recording); i++)
		if (gt_recording_process(v->recording, i)->end == end)
			return true;
	return false;
}

/* The same of processes that stopped because memory ran out. */
static bool has_shortage(const struct gt_view *v, const struct gt_groups *groups)
{
	for (size_t i = 0; groups && i < groups->count; i++)
		for (size_t k = 0; k < groups->list[i].count; k++)
			if (gt_shortage_stopped(v, groups->list[i].objects[k]->process))
				return true;
	for (size_t i = 0; !groups && i < v->ledger->shortage_count; i++)
		if (gt_shortage_stopped(v, v->ledger->shortages[i].process))
			return true;
	return false;
}

const char *gt_fate_remedy(const struct gt_view *v, enum gt_fate fate,
			   const struct gt_groups *groups)
{
	if (has_end(v, groups, GT_END_RUNNING))
		return "judge again when it has ended, or count what it holds with "
		       "--running-is-leak";
	if (has_end(v, groups, GT_END_STOPPED))
		return "record again with room and time to the end";
	if (fate == GT_FATE_ALIVE)
		return "record until it ends, or count what it held with --running-is-leak";
	if (has_shortage(v, groups))
		return "run it with enough memory, or count what it held with --killed-is-leak";
	if (fate == GT_FATE_KILLED || has_end(v, groups, GT_END_UNKNOWN))
		return "let it end by itself, or count what it held with --killed-is-leak";
	if (gt_recording_unrecorded(v->recording))
		return "record with `gputrack attach`";
	return gt_view_is_attached(v) ? "record again with a larger --ring-size" : "record again";
}

bool gt_recording_goes_on(const struct gt_recording *recording)
{
	for (size_t i = 0; i < gt_recording_process_count(recording); i++) {
		const struct gt_process *p = gt_recording_process(recording, i);

		if (!p->unread && (p->end == GT_END_RUNNING || p->end == GT_END_UNKNOWN))
			return true;
	}
	return false;
}
