/* SPDX-License-Identifier: MIT */
/*
 * test_model.c - random programs: what is said of every resource, against what their driver knows.
 *
 * usage: test_model [PROGRAMS [FIRST_SEED [STEPS]]]	so many, with a table of what they were; at
 *							most so many steps of each process
 */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "judge/verdict.h"
#include "model_program.h"
#include "model_recording.h"
#include "api/results.h"
#include "base/bytes.h"
#include "replay/ending.h"
#include "replay/replay.h"
#include "test_scratch.h"

enum { FEW = 300 };

/* What was seen of all programs. */
static struct sums {
	uint64_t programs, processes, events, objects, lost, damaged, late, mistakes, told_mistakes;
	uint64_t leaks, revived, inside, fates[GT_FATE_COUNT], outcomes[GT_OUTCOME_GROWING + 1];
	uint64_t ends[MODEL_ENDS];
} sum;

/* One program under test. */
struct run {
	uint64_t seed;
	struct model_program *program;
	struct gt_recording *recording;
	struct gt_view view;
	struct model_process *of[MODEL_PROCESSES]; /* by the recording's process */
	uint64_t found[MODEL_PROCESSES];           /* living entries, by the model's process */
	uint64_t fates[GT_FATE_COUNT];
	const char *wrong; /* the first thing that is */
	const struct model_process *wrong_process;
	uint64_t wrong_handle, wrong_time_ns;
};

static void is_wrong(struct run *run, const char *what, const struct model_process *p,
		     uint64_t handle, uint64_t time_ns)
{
	if (run->wrong)
		return;
	run->wrong = what;
	run->wrong_process = p;
	run->wrong_handle = handle;
	run->wrong_time_ns = time_ns;
}

/* True when it ended in the middle of something, by a call of its own or of its driver. */
static bool ended_at_work(const struct model_process *p)
{
	for (int i = 0; i < p->lane_count; i++)
		if (p->is_open[i] || (i && p->end == END_QUICK && !p->has_left[i]))
			return true;
	return false;
}

static bool ended_by_itself(const struct model_process *p)
{
	return p->end == END_EXIT || p->end == END_QUICK || p->end == END_EXEC;
}

/* True when memory ran out for it: it may have stopped there. */
static bool ran_out(const struct model_process *p)
{
	for (int i = 0; i < p->call_count; i++) {
		const struct gt_event *e = &p->calls[i].event;
		const struct gt_function *fn = &gt_functions[e->function];

		if (e->failed && fn->effect == GT_CREATE &&
		    gt_result_is_out_of_memory((enum gt_api)fn->api, e->result))
			return true;
	}
	return false;
}

/* True if what the process has not given back may be called leaked. */
static bool may_leak(const struct run *run, const struct model_process *p)
{
	const struct gt_strictness *strict = &run->view.strict;

	if (p->end == END_SIGNAL || p->end == END_UNKNOWN)
		return strict->killed_is_leak;
	if (p->end == END_RUNNING || p->end == END_DETACHED)
		return strict->running_is_leak;
	return ended_by_itself(p) && (!ended_at_work(p) || strict->killed_is_leak);
}

static bool is_complete(const struct model_process *p)
{
	return !p->damage && !p->is_late && p->end != END_STOPPED;
}

/* The object that an entry is: by its creation, or by its handle if no creation was seen. */
static const struct model_object *object_of(const struct model_process *p,
					    const struct gt_entry *entry)
{
	bool has_creation = gt_functions[entry->function].effect == GT_CREATE;

	for (int i = 0; i < p->object_count; i++) {
		const struct model_object *o = &p->objects[i];

		if (o->handle == entry->handle &&
		    (has_creation ? o->time_ns == entry->time_ns :
				    model_is_alive(p, o) &&
					    model_sorts[o->sort].retain == entry->function))
			return o;
	}
	return NULL;
}

static bool has_right_origin(const struct run *run, const struct gt_entry *entry,
			     const struct model_object *o)
{
	const struct gt_trace_frame *frames;

	if (gt_functions[entry->function].effect != GT_CREATE)
		return true;
	return entry->function == model_sorts[o->sort].create && entry->size == o->size &&
	       gt_recording_stack(run->recording, entry->stack, &frames) == 2 &&
	       frames[0].address == o->frame;
}

static bool check_entry(void *context, const struct gt_entry *entry)
{
	struct run *run = context;
	struct model_process *p = run->of[entry->process];
	const struct model_object *o = object_of(p, entry);
	enum gt_fate fate = gt_fate_of(&run->view, entry);
	/* an object that dies with its owner may have done so in a loss before its creation */
	bool loss_explains = p->damage && (entry->time_ns <= p->loss_last ||
					   (o && model_sorts[o->sort].tie == TIE_TAKEN));

	run->fates[fate]++;
	run->found[p - run->program->processes]++;
	switch (fate) {
	case GT_FATE_LEAKED:
		if (!o || !model_is_alive(p, o))
			is_wrong(run, "LEAKED is said of what was given back", p, entry->handle,
				 entry->time_ns);
		else if (!has_right_origin(run, entry, o))
			is_wrong(run, "a leak has the size or the stack of another", p,
				 entry->handle, entry->time_ns);
		if (!may_leak(run, p))
			is_wrong(run, "LEAKED is said of a process that did not end by itself", p,
				 entry->handle, entry->time_ns);
		break;
	case GT_FATE_PERHAPS:
		if (ended_by_itself(p) && !loss_explains)
			is_wrong(run, "PERHAPS is said where no loss explains it", p, entry->handle,
				 entry->time_ns);
		/* how it ended may be what is lost */
		if (!ended_by_itself(p) && !loss_explains && p->end != END_UNKNOWN &&
		    p->end != END_STOPPED)
			is_wrong(run, "PERHAPS is said of a process whose end is known", p,
				 entry->handle, entry->time_ns);
		break;
	case GT_FATE_KILLED:
		/* the end of a thread may be what is lost */
		if (p->end != END_SIGNAL &&
		    !(ended_by_itself(p) && (ended_at_work(p) || p->damage || ran_out(p))))
			is_wrong(run, "ALIVE WHEN KILLED is said of a process that was not", p,
				 entry->handle, entry->time_ns);
		break;
	case GT_FATE_ALIVE:
		if (p->end != END_RUNNING && p->end != END_DETACHED)
			is_wrong(run, "ALIVE is said of a process that ended", p, entry->handle,
				 entry->time_ns);
		break;
	case GT_FATE_COUNT: break;
	}
	if (is_complete(p) && (!o || !model_is_alive(p, o) || !has_right_origin(run, entry, o)))
		is_wrong(run, "a complete record shows what is not alive", p, entry->handle,
			 entry->time_ns);
	return !run->wrong;
}

/* Nothing that is alive may be missing in a complete record. */
static void check_alive(struct run *run, const struct model_process *p)
{
	uint64_t alive = 0;

	for (int i = 0; i < p->object_count; i++)
		alive += model_is_alive(p, &p->objects[i]);
	sum.leaks += ended_by_itself(p) ? alive : 0;
	if (is_complete(p) && run->found[p - run->program->processes] < alive)
		is_wrong(run, "something alive is missing", p, 0, 0);
}

static const struct model_call *mistake_at(const struct model_process *p,
					   const struct gt_redundant *r)
{
	for (int i = 0; i < p->call_count; i++)
		if (p->calls[i].event.time_ns == r->time_ns &&
		    p->calls[i].event.function == r->function &&
		    p->calls[i].event.handle == r->handle && p->calls[i].is_mistake)
			return &p->calls[i];
	return NULL;
}

static void check_mistakes(struct run *run, const struct gt_ledger *l)
{
	uint64_t told[MODEL_PROCESSES] = { 0 };

	for (size_t i = 0; i < l->redundant_count; i++) {
		const struct gt_redundant *r = &l->redundant[i];
		const struct model_process *p = run->of[r->process];

		told[p - run->program->processes] += r->count;
		sum.told_mistakes += r->count;
		if (!mistake_at(p, r) || r->count != 1)
			is_wrong(run, "a mistake that was none", p, r->handle, r->time_ns);
	}
	for (int i = 0; i < run->program->process_count; i++) {
		const struct model_process *p = &run->program->processes[i];
		uint64_t made = 0;

		for (int k = 0; k < p->call_count; k++)
			made += p->calls[k].is_mistake;
		sum.mistakes += made;
		if (is_complete(p) && told[i] != made)
			is_wrong(run, "a mistake was not told", p, 0, 0);
	}
}

static void check_verdict(struct run *run)
{
	struct gt_limits limits = { 0 };
	struct gt_verdict_options options = { .limits = &limits, .fails_on_leak = true };
	struct gt_verdict verdict;
	struct gt_error error;
	bool is_certain = true, is_damaged = false;

	assert_int_equal(gt_limits_parse(&limits, "any", &error), 0);
	gt_verdict_init(&verdict, &run->view, &options);
	sum.outcomes[verdict.outcome]++;
	for (int i = 0; i < run->program->process_count; i++) {
		const struct model_process *p = &run->program->processes[i];

		is_damaged |= p->damage || p->end == END_STOPPED;
		is_certain &= !p->damage && p->end != END_STOPPED && p->end != END_UNKNOWN &&
			      p->end != END_RUNNING;
	}
	for (int fate = GT_FATE_PERHAPS; fate < GT_FATE_COUNT; fate++)
		is_certain &= !run->fates[fate];
	switch (verdict.outcome) {
	case GT_OUTCOME_LEAKED:
		if (!run->fates[GT_FATE_LEAKED])
			is_wrong(run, "the verdict is leaked without a leak", NULL, 0, 0);
		break;
	case GT_OUTCOME_UNSURE:
		if (is_certain || run->fates[GT_FATE_LEAKED])
			is_wrong(run, "the verdict is unsure without a reason", NULL, 0, 0);
		break;
	case GT_OUTCOME_PASSED:
		if (!is_certain || run->fates[GT_FATE_LEAKED])
			is_wrong(run, "the verdict is passed in spite of doubt", NULL, 0, 0);
		break;
	case GT_OUTCOME_UNTRACKED:
		if (run->view.ledger->events || is_damaged)
			is_wrong(run, "the verdict is untracked in spite of events", NULL, 0, 0);
		break;
	case GT_OUTCOME_PEAK:
	case GT_OUTCOME_GROWING: is_wrong(run, "a limit that nobody set", NULL, 0, 0); break;
	}
	gt_verdict_fini(&verdict);
	gt_limits_fini(&limits);
}

static void match_processes(struct run *run)
{
	for (size_t i = 0; i < gt_recording_process_count(run->recording); i++)
		for (int k = 0; k < run->program->process_count; k++)
			if (run->program->processes[k].pid ==
			    gt_recording_process(run->recording, i)->pid)
				run->of[i] = &run->program->processes[k];
}

/* Frees by an address inside the block are told of as such, and only those. */
static void check_inside(struct run *run, const struct gt_ledger *l)
{
	uint64_t made = 0;
	bool is_whole = true;

	for (int i = 0; i < run->program->process_count; i++) {
		const struct model_process *p = &run->program->processes[i];

		is_whole &= is_complete(p);
		for (int k = 0; k < p->call_count; k++)
			made += p->calls[k].is_inside && !p->calls[k].event.failed;
	}
	if (is_whole ? l->interior_calls != made : l->interior_calls > made)
		is_wrong(run, "frees by an address inside a block are miscounted", NULL, 0, 0);
}

/* Where phases are known, no event takes the short way. */
static void know_phases(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	struct gt_ledger *ledger = (struct gt_ledger *)l;

	(void)context, (void)time_ns;
	GT_REACH(ledger->phases, ledger->phase_count, 0);
}

/* Births and ends as an observer is told of them: how many, and a hash of all in their order. */
struct seen {
	uint64_t count, hash;
};

static void see(struct seen *seen, const struct gt_entry *entry, uint32_t slot, uint64_t what)
{
	const uint64_t words[] = { seen->hash,   entry->handle, entry->size, entry->time_ns,
				   entry->stack, entry->tid,    slot,        what };

	seen->hash = gt_hash_bytes(words, sizeof words);
	seen->count++;
}

static void see_birth(void *context, const struct gt_entry *entry, uint32_t slot)
{
	see(context, entry, slot, UINT64_MAX);
}

static void see_end(void *context, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	see(context, entry, slot, by);
}

static struct gt_ledger *observed(struct run *run, bool is_long, struct seen *seen)
{
	const struct gt_live_observer observer = { .born = see_birth,
						   .ended = see_end,
						   .context = seen };

	return gt_replay_run(run->recording,
			     &(struct gt_replay){ .observer = &observer,
						  .before = is_long ? know_phases : NULL });
}

/* A ledger that never takes the short way must come to the same sums, its observer see the same. */
static void check_long_way(struct run *run, const struct gt_ledger *l)
{
	struct seen seen = { 0 }, seen_shortly = { 0 };
	struct gt_ledger *other = observed(run, true, &seen);

	gt_ledger_free(observed(run, false, &seen_shortly));
	if (seen.count != seen_shortly.count || seen.hash != seen_shortly.hash)
		is_wrong(run, "the short way shows its observer something else", NULL, 0, 0);
	if (memcmp(other->tally, l->tally, sizeof l->tally) || other->site_count != l->site_count ||
	    other->peak_bytes != l->peak_bytes || other->peak_ns != l->peak_ns ||
	    other->peak_live != l->peak_live || other->live.count != l->live.count ||
	    other->unknown_ends != l->unknown_ends || other->replaced != l->replaced ||
	    other->size_mismatches != l->size_mismatches || other->revived != l->revived ||
	    other->redundant_calls != l->redundant_calls ||
	    memcmp(other->breakdown.origins, l->breakdown.origins, sizeof l->breakdown.origins) ||
	    memcmp(other->breakdown.origins_at_peak, l->breakdown.origins_at_peak,
		   sizeof l->breakdown.origins_at_peak))
		is_wrong(run, "the short way counts otherwise", NULL, 0, 0);
	for (size_t i = 0; !run->wrong && i < l->site_count; i++)
		if (memcmp(&other->sites[i], &l->sites[i], sizeof *l->sites) != 0)
			is_wrong(run, "the short way counts otherwise at a call site", NULL, 0, 0);
	gt_ledger_free(other);
}

/* Replays the recording and compares all that is said with the model. */
static void check(struct run *run, struct gt_strictness strict)
{
	struct gt_frames_options options = { .no_symbols = true };
	struct gt_ledger *l = gt_replay_run(run->recording, &(struct gt_replay){ 0 });

	run->view = (struct gt_view){ .recording = run->recording, .ledger = l, .strict = strict };
	assert_int_equal(gt_frames_new(&run->view.frames, run->recording, &options), 0);
	memset(run->found, 0, sizeof run->found);
	memset(run->fates, 0, sizeof run->fates);
	gt_live_each(&l->live, check_entry, run);
	for (int i = 0; !run->wrong && i < run->program->process_count; i++)
		check_alive(run, &run->program->processes[i]);
	check_mistakes(run, l);
	check_inside(run, l);
	check_long_way(run, l);
	check_verdict(run);
	sum.events += l->events;
	sum.revived += l->revived;
	sum.inside += l->interior_calls;
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		sum.fates[fate] += run->fates[fate];
	gt_frames_free(run->view.frames);
	gt_ledger_free(l);
}

static void count_program(const struct model_program *program)
{
	sum.programs++;
	for (int i = 0; i < program->process_count; i++) {
		const struct model_process *p = &program->processes[i];

		sum.processes++;
		sum.objects += (uint64_t)p->object_count;
		sum.damaged += !!p->damage;
		sum.late += p->is_late;
		sum.ends[p->end]++;
		for (int k = 0; k < p->call_count; k++)
			sum.lost += p->calls[k].is_lost;
	}
}

static void show_calls(const struct model_process *p, uint64_t handle)
{
	for (int i = 0; i < p->call_count; i++) {
		const struct model_call *c = &p->calls[i];

		if (c->event.handle == handle || c->event.owner == handle)
			fprintf(stderr, "  %10" PRIu64 " lane %d block %u %s %" PRIx64 "%s%s%s\n",
				c->event.time_ns, c->lane, c->block,
				gt_function_names[c->event.function], c->event.handle,
				c->event.failed ? " failed" : "", c->is_lost ? " (lost)" : "",
				c->is_mistake ? " (a mistake)" : "");
	}
}

static void report(const struct run *run)
{
	const struct model_process *p = run->wrong_process;

	fprintf(stderr, "seed %" PRIu64 ": %s\n", run->seed, run->wrong);
	if (!p)
		return;
	fprintf(stderr,
		" pid %u, end %d%s, damage: %s (%" PRIu64 " to %" PRIu64 "), handle %" PRIx64
		" at %" PRIu64 "\n",
		p->pid, p->end, p->is_late ? ", late" : "", p->damage ? p->damage : "none",
		p->loss_first, p->loss_last, run->wrong_handle, run->wrong_time_ns);
	show_calls(p, run->wrong_handle);
	for (int i = 0; i < p->object_count; i++) {
		const struct model_object *o = &p->objects[i];

		if (o->handle != run->wrong_handle || o->time_ns != run->wrong_time_ns ||
		    o->owner < 0)
			continue;
		fprintf(stderr, " its owner:\n");
		show_calls(p, p->objects[o->owner].handle);
	}
}

static void remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *file;

	assert_non_null(dir);
	while ((file = readdir(dir)))
		unlinkat(dirfd(dir), file->d_name, 0);
	closedir(dir);
	assert_int_equal(rmdir(folder), 0);
}

/* Runs a program, and returns whether all that was said of it is true. */
static bool run_program(uint64_t seed, uint64_t most_steps, bool is_quiet)
{
	struct model_program *program = calloc(1, sizeof *program);
	struct run run = { .seed = seed, .program = program };
	struct gt_error error = { "" };
	struct sums before;
	char folder[128];

	assert_non_null(program);
	model_program_make(program, seed, most_steps);
	snprintf(folder, sizeof folder, "%s/%" PRIu64 ".gt", scratch, seed);
	model_recording_write(program, folder, seed % 4 != 0);
	count_program(program);
	if (gt_recording_open(&run.recording, folder, NULL, &error))
		fail_msg("seed %" PRIu64 ": %s", seed, error.text);
	match_processes(&run);
	check(&run, (struct gt_strictness){ .killed_is_leak = seed % 5 == 0,
					    .running_is_leak = seed % 7 == 0 });
	/* all is true of a second reading, too */
	before = sum;
	if (!run.wrong && seed % 8 == 1)
		check(&run, (struct gt_strictness){ 0 });
	sum = before;
	gt_recording_close(run.recording);
	if (run.wrong && !is_quiet)
		report(&run);
	remove_folder(folder);
	free(program);
	return !run.wrong;
}

/* Runs a program; of one that fails, shows the shortest beginning that fails, too. */
static bool try_program(uint64_t seed, uint64_t most_steps)
{
	uint64_t few = 1;

	if (run_program(seed, most_steps, true))
		return true;
	while ((!most_steps || few < most_steps) && few < MODEL_CALLS &&
	       run_program(seed, few, true))
		few++;
	run_program(seed, few < MODEL_CALLS ? few : most_steps, false);
	fprintf(stderr, "  again: test_model 1 %" PRIu64 " %" PRIu64 "\n", seed, few);
	return false;
}

static void what_is_said_of_random_programs_is_true(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < FEW; seed++)
		assert_true(try_program(seed, 0));
}

static void show_sum(void)
{
	static const char *const ends[MODEL_ENDS] = {
		[END_EXIT] = "exit",         [END_QUICK] = "_exit",     [END_EXEC] = "exec",
		[END_SIGNAL] = "signal",     [END_UNKNOWN] = "unknown", [END_RUNNING] = "running",
		[END_DETACHED] = "detached", [END_STOPPED] = "stopped",
	};
	static const char *const outcomes[] = {
		[GT_OUTCOME_PASSED] = "passed",
		[GT_OUTCOME_LEAKED] = "leaked",
		[GT_OUTCOME_UNTRACKED] = "untracked",
		[GT_OUTCOME_UNSURE] = "unsure",
	};

	printf("| programs, processes | %" PRIu64 ", %" PRIu64 " |\n", sum.programs, sum.processes);
	printf("| events read, lost | %" PRIu64 ", %" PRIu64 " |\n", sum.events, sum.lost);
	printf("| objects, of them leaked by processes that ended by themselves | %" PRIu64
	       ", %" PRIu64 " |\n",
	       sum.objects, sum.leaks);
	printf("| processes damaged, recorded late | %" PRIu64 ", %" PRIu64 " |\n", sum.damaged,
	       sum.late);
	printf("| freed by an address inside | %" PRIu64 " |\n", sum.inside);
	printf("| revived by a retain | %" PRIu64 " |\n", sum.revived);
	printf("| redundant releases, told | %" PRIu64 ", %" PRIu64 " |\n", sum.mistakes,
	       sum.told_mistakes);
	for (int i = 0; i < MODEL_ENDS; i++)
		printf("| processes: %s | %" PRIu64 " |\n", ends[i], sum.ends[i]);
	for (int i = 0; i < GT_FATE_COUNT; i++)
		printf("| said to be %s | %" PRIu64 " |\n", gt_fate_phrases[i], sum.fates[i]);
	for (int i = 0; i <= GT_OUTCOME_UNSURE; i++)
		printf("| verdict %s | %" PRIu64 " |\n", outcomes[i], sum.outcomes[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_of_random_programs_is_true),
	};
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t most_steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 0, wrong = 0;

	if (argc < 2)
		return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
	if (make_scratch(NULL))
		return 1;
	for (uint64_t i = 0; i < strtoull(argv[1], NULL, 10); i++)
		wrong += !try_program(first + i, most_steps);
	show_sum();
	printf("| wrong | %" PRIu64 " |\n", wrong);
	remove_scratch(NULL);
	return wrong != 0;
}
