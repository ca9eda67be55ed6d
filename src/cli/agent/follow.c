/* SPDX-License-Identifier: MIT */
/* follow.c - from the calls of traced processes to the totals of their call sites. */
#include <stdlib.h>
#include <string.h>

#include "api/results.h"
#include "base/process.h"
#include "cli/agent/agent.h"
#include "cli/agent/restore.h"

/* Parts of --max-memory; the rest is for the program itself and what it knows of processes. */
enum { SITES_PART = 16, TOTALS_PART = 8, ENTRIES_PART = 4, ENTRY_BYTES = 72 };

static uint32_t number_of(const struct gt_agent *a, uint16_t process)
{
	return process < a->number_count ? a->numbers[process] : GT_AGENT_OTHERS;
}

static void began(void *context, struct gt_traced *process)
{
	struct gt_agent *a = context;
	struct gt_live_names names = gt_attach_live_names(&a->live);
	const struct gt_live_who *who;

	a->live.listener.began(a->live.listener.context, process);
	if (process->number == GT_BOARD_ALL)
		return;
	who = gt_live_who(&names, process->number);
	GT_REACH(a->numbers, a->number_count, process->number);
	gt_agent_gpus_began(a, process->number);
	a->numbers[process->number] = gt_agent_totals_process(
		a->totals, &(struct gt_agent_process){
				   .pid = process->pid,
				   .uid = process->who.uid,
				   .start_ns = process->start,
				   .start_real_s = gt_process_start_ns(process->pid) / 1000000000,
				   .comm = process->name,
				   .command = who ? who->command : "",
				   .user = process->who.user,
				   .runtime = process->who.runtime,
				   .container = process->who.container,
				   .pod = process->who.pod,
				   .pod_name = *process->who.pod ? process->who.host : "" });
	gt_agent_restore(a, process);
}

static void event(void *context, struct gt_traced *process, const struct gt_event *e)
{
	struct gt_agent *a = context;
	const struct gt_function *fn = &gt_functions[e->function];
	bool creates = fn->effect == GT_CREATE;
	size_t entries;

	if (e->failed && creates && gt_result_is_out_of_memory((enum gt_api)fn->api, e->result))
		a->out_of_memory++;
	gt_agent_record_event(a, process, e);
	if (creates && !e->failed) {
		gt_board_bytes(a->live.board, &entries);
		if (entries >= a->most_entries) {
			a->dropped++;
			return;
		}
	}
	a->live.listener.event(a->live.listener.context, process, e);
}

static void ended(void *context, struct gt_traced *process)
{
	struct gt_agent *a = context;

	/* its stacks are known for the last time; where processes end all the time, some get names
	 */
	if (process->number != GT_BOARD_ALL && gt_namer_is_free(&a->namer, gt_now_ns())) {
		gt_agent_feed(a, gt_now_ns());
		gt_namer_start(a, gt_now_ns());
	}
	gt_agent_record_ended(a, process);
	a->live.listener.ended(a->live.listener.context, process);
}

struct gt_listener gt_agent_listener(struct gt_agent *a)
{
	return (struct gt_listener){ .began = began, .event = event, .ended = ended, .context = a };
}

/* The site's key; memory of a pool's segments that no block uses is cached, whoever allocated it.
 */
static struct gt_agent_key key_of(struct gt_agent *a, const struct gt_board_site *s, uint16_t row)
{
	enum gt_api api = (enum gt_api)s->api;
	enum gt_kind kind = (enum gt_kind)(row ? gt_functions[row].kind : s->kind);

	return (struct gt_agent_key){ .process = number_of(a, s->process),
				      .stack = s->stack,
				      .api = api,
				      .kind = kind,
				      .gpu = gt_agent_gpu(a, s->process, api, kind, s->place) };
}

/* Blocks lie in what was seen as something else: it is that no more. */
static void change_kind(struct gt_agent *a, struct gt_board_site *s)
{
	struct gt_board_seen *seen = &s->seen;
	struct gt_agent_at at = { seen->number, seen->generation };
	struct gt_agent_key key = key_of(a, s, seen->segment_row);

	if (seen->live || seen->bytes)
		gt_agent_totals_add(
			a->totals, &at, &key,
			&(struct gt_agent_change){ .live_bytes = -(int64_t)seen->bytes,
						   .live_objects = -(int64_t)seen->live });
	*seen = (struct gt_board_seen){ .created = seen->created,
					.bytes_created = seen->bytes_created,
					.segment_row = s->segment_row };
}

/* A site's changes since it was last looked at. */
static void feed_site(void *context, struct gt_board_site *s)
{
	struct gt_agent *a = context;
	struct gt_board_seen *seen = &s->seen;
	bool over = gt_board_process(a->live.board, s->process)->end_ns;
	uint64_t live = over ? 0 : s->live, bytes = over ? 0 : s->bytes;
	bool has_bytes = gt_kind_has_bytes((enum gt_kind)s->kind);
	int64_t fell = over ? 0 : (int64_t)((has_bytes ? s->bytes : s->live) - s->low);
	struct gt_agent_key key = key_of(a, s, s->segment_row);
	struct gt_agent_at at;

	if (seen->segment_row != s->segment_row)
		change_kind(a, s);
	at = (struct gt_agent_at){ seen->number, seen->generation };
	if (seen->live == live && seen->bytes == bytes && seen->created == s->created && !fell)
		return;
	gt_agent_totals_add(a->totals, &at, &key,
			    &(struct gt_agent_change){
				    .live_bytes = (int64_t)(bytes - seen->bytes),
				    .live_objects = (int64_t)(live - seen->live),
				    .allocated_bytes = s->bytes_created - seen->bytes_created,
				    .allocated_objects = s->created - seen->created,
				    .fell_bytes = has_bytes ? fell : 0,
				    .fell_objects = has_bytes ? 0 : fell });
	*seen = (struct gt_board_seen){ .live = live,
					.bytes = bytes,
					.created = s->created,
					.bytes_created = s->bytes_created,
					.number = at.number,
					.generation = at.generation,
					.segment_row = s->segment_row };
}

static void name_gpus(struct gt_agent *a)
{
	const struct gt_places *places = gt_tracer_places(a->tracer);

	for (uint16_t i = 1; i <= places->count; i++)
		gt_agent_totals_name_gpu(a->totals, i, gt_places_get(places, i)->name);
}

void gt_agent_feed(struct gt_agent *a, uint64_t now_ns)
{
	struct gt_board *b = a->live.board;

	gt_agent_gpus_decide(a);
	gt_board_each_site(b, feed_site, a);
	for (size_t i = 0; i < gt_board_process_count(b) && i < a->number_count; i++)
		if (gt_board_process(b, (uint16_t)i)->end_ns)
			gt_agent_totals_end(a->totals, a->numbers[i], now_ns);
	name_gpus(a);
	gt_agent_totals_advance(a->totals, now_ns);
	/* what was lowest counts from here on */
	gt_attach_live_tick(&a->live);
}

void gt_agent_forget(struct gt_agent *a)
{
	const struct gt_board *b = a->live.board;

	for (size_t i = 0; i < gt_board_process_count(b) && i < a->number_count; i++)
		if (gt_board_process(b, (uint16_t)i)->end_ns)
			a->numbers[i] = GT_AGENT_OTHERS;
	/* first: sites that are dropped have nothing left to say */
	gt_agent_totals_forget(a->totals);
	gt_attach_live_forget(&a->live);
}

void gt_agent_limit(struct gt_agent *a)
{
	a->most_entries = a->settings.max_memory / ENTRIES_PART / ENTRY_BYTES;
	if (a->totals)
		gt_agent_totals_limit(a->totals, a->settings.max_memory / TOTALS_PART);
}

void gt_agent_follow_init(struct gt_agent *a)
{
	gt_attach_live_init(&a->live, &(struct gt_attach_live_options){
					      .max_site_bytes = a->settings.max_memory / SITES_PART,
					      .own = gt_own_options_rules(&a->settings.own),
					      .splits_places = true });
	a->totals = gt_agent_totals_new(&(struct gt_agent_totals_options){
		.max_bytes = a->settings.max_memory / TOTALS_PART,
		.step_ns = (uint64_t)(a->settings.growth_step_s * 1e9) });
	gt_board_on_drop(a->live.board, feed_site, a);
	gt_agent_limit(a);
}

void gt_agent_follow_fini(struct gt_agent *a)
{
	/* sites that go with the board have nothing more to say */
	gt_board_on_drop(a->live.board, NULL, NULL);
	gt_attach_live_fini(&a->live);
	gt_agent_totals_free(a->totals);
	free(a->numbers);
}
