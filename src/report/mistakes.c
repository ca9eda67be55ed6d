/* SPDX-License-Identifier: MIT */
/* mistakes.c - mistakes other than leaks: redundant releases, failed calls, death in a call. */
#include "report/mistakes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/call_text.h"
#include "replay/ending.h"
#include "replay/group_text.h"
#include "api/results.h"
#include "replay/place.h"
#include "replay/stack.h"

enum {
	REDUNDANT_SHOWN = 1,
	INTERIOR_SHOWN = 1,
	FAILURES_SHOWN = 2,
	LAST_SHOWN = 2,
	LAST_FRAMES = 2,
	LABEL = 20,
	CODE_SMALL = 10000
};

static const char *kind_name(uint16_t function)
{
	return gt_kinds[gt_functions[function].kind].name;
}

/* A fatal redundant release shows its call already. */
static bool has_other_last_call(const struct gt_ledger *l)
{
	size_t shown = 0;

	for (size_t i = 0; i < l->redundant_count; i++)
		shown += l->redundant[i].fatal;
	return l->last_call_count > shown;
}

unsigned gt_mistakes_count(const struct gt_ledger *l)
{
	return !!l->redundant_count + !!l->interior_count + !!l->failure_count +
	       has_other_last_call(l);
}

/* "CL_OUT_OF_RESOURCES", or the number if it has no name. */
static void put_result(struct gt_printer *p, uint16_t function, int32_t result)
{
	const char *name = gt_result_name((enum gt_api)gt_functions[function].api, result);

	if (name)
		gt_print_put(p, GT_PLAIN, " with %s", name);
	else if (result)
		gt_print_put(p, GT_PLAIN,
			     result < CODE_SMALL ? " with error %" PRId32 :
						   " with error 0x%08" PRIx32,
			     result);
}

static void put_labelled(struct gt_printer *p, const struct gt_view *v, const char *label,
			 uint32_t stack, size_t frames)
{
	gt_print_tab(p, 6);
	gt_print_put(p, GT_DIM, "%s", label);
	gt_stack_brief(p, v, gt_frames_whole(v->frames, stack), frames, 6 + LABEL);
}

static void put_more(struct gt_printer *p, size_t sites)
{
	gt_print_wrap(p, GT_DIM, 4, "and from %zu more %s: --format json lists them", sites,
		      gt_plural(sites, "call site", "call sites"));
}

/* gt_places_list for the stacks of all mistakes but failed calls, which have a list of their own.
 */
static void list_places(const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	size_t most = 3 * l->redundant_count + 2 * l->interior_count + l->last_call_count, used = 0;
	uint32_t *stacks = gt_alloc(most * sizeof *stacks);

	for (size_t i = 0; i < l->redundant_count; i++) {
		stacks[used++] = l->redundant[i].stack;
		stacks[used++] = l->redundant[i].ended_stack;
		stacks[used++] = gt_frames_whole(v->frames, l->redundant[i].created_stack);
	}
	for (size_t i = 0; i < l->interior_count; i++) {
		stacks[used++] = l->interior[i].stack;
		stacks[used++] = gt_frames_whole(v->frames, l->interior[i].created_stack);
	}
	for (size_t i = 0; i < l->last_call_count; i++)
		stacks[used++] = l->last_calls[i].event.stack;
	gt_places_list(v->frames, stacks, used);
	free(stacks);
}

static void put_redundant(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	char text[GT_FORMAT_MAX], handle[GT_FORMAT_MAX], words[GT_KIND_TEXT];
	size_t frames = gt_mistakes_count(l) > 1 ? 1 : 2;
	uint64_t calls = l->redundant_calls;

	gt_print_put(p, GT_RED, "REDUNDANT RELEASES");
	gt_print_line(p, GT_BOLD, "  %s %s on resources already released",
		      gt_format_count(text, calls), gt_plural(calls, "call", "calls"));
	for (size_t i = 0; i < l->redundant_count && i < REDUNDANT_SHOWN; i++) {
		const struct gt_redundant *r = &l->redundant[i];

		gt_print_tab(p, 4);
		gt_print_put(p, GT_PLAIN, "%s x %s on %s %s", gt_format_count(text, r->count),
			     gt_call_name(words, v, r->function, r->stack), kind_name(r->function),
			     gt_format_hex(handle, r->handle));
		gt_print_line(p, GT_RED, "%s", r->fatal ? ", during which the process died" : "");
		put_labelled(p, v, "released again at", r->stack, frames);
		put_labelled(p, v, "already released at", r->ended_stack, frames);
		put_labelled(p, v, "created at", r->created_stack, frames);
	}
	if (l->redundant_count > REDUNDANT_SHOWN)
		put_more(p, l->redundant_count - REDUNDANT_SHOWN);
	gt_print_end(p);
}

static void put_interior(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	char text[GT_FORMAT_MAX], handle[GT_FORMAT_MAX], bytes[GT_FORMAT_MAX];
	uint64_t calls = l->interior_calls;

	gt_print_put(p, GT_YELLOW, "UNUSUAL FREES");
	gt_print_line(p, GT_BOLD, "  %s %s freed by an address inside the block",
		      gt_format_count(text, calls), gt_plural(calls, "block", "blocks"));
	for (size_t i = 0; i < l->interior_count && i < INTERIOR_SHOWN; i++) {
		const struct gt_interior *f = &l->interior[i];

		gt_print_tab(p, 4);
		gt_print_line(p, GT_PLAIN, "%s x %s of %s + %" PRIu64 ", in a block of %s",
			      gt_format_count(text, f->count), gt_function_names[f->function],
			      gt_format_hex(handle, f->handle), f->offset,
			      gt_format_bytes(bytes, f->bytes));
		put_labelled(p, v, "freed at", f->stack, 1);
		put_labelled(p, v, "created at", f->created_stack, 1);
	}
	if (l->interior_count > INTERIOR_SHOWN)
		put_more(p, l->interior_count - INTERIOR_SHOWN);
	gt_print_end(p);
}

/* A failure and its place. */
struct placed {
	uint64_t key;
	const struct gt_failure *failure;
};

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->failure->function != y->failure->function)
		return x->failure->function < y->failure->function ? -1 : 1;
	if (x->failure->result != y->failure->result)
		return x->failure->result < y->failure->result ? -1 : 1;
	return x->failure < y->failure ? -1 : x->failure > y->failure;
}

static bool is_one_place(const struct placed *a, const struct placed *b)
{
	return a->key && a->key == b->key && a->failure->function == b->failure->function &&
	       a->failure->result == b->failure->result;
}

static int first_failed(const void *a, const void *b)
{
	const struct gt_failure *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Failed calls with the same function, place and error code, in order of time. */
static struct gt_failure *failures_of(const struct gt_view *v, size_t *count)
{
	const struct gt_ledger *l = v->ledger;
	struct placed *list = gt_alloc(l->failure_count * sizeof *list);
	struct gt_failure *merged = gt_alloc(l->failure_count * sizeof *merged);
	uint32_t *stacks = gt_alloc(l->failure_count * sizeof *stacks);

	*count = 0;
	for (size_t i = 0; i < l->failure_count; i++)
		list[i] = (struct placed){ gt_place_key(v->frames, l->failures[i].stack),
					   &l->failures[i] };
	qsort(list, l->failure_count, sizeof *list, by_place);
	for (size_t i = 0; i < l->failure_count; i++) {
		const struct gt_failure *one = list[i].failure;
		struct gt_failure *last = i ? &merged[*count - 1] : NULL;

		if (!last || !is_one_place(&list[i - 1], &list[i])) {
			merged[(*count)++] = *one;
			continue;
		}
		last->count += one->count;
		if (one->bytes_most > last->bytes_most)
			last->bytes_most = one->bytes_most;
		if (one->time_ns < last->time_ns)
			last->time_ns = one->time_ns;
	}
	qsort(merged, *count, sizeof *merged, first_failed);
	for (size_t i = 0; i < *count; i++)
		stacks[i] = merged[i].stack;
	gt_places_list(v->frames, stacks, *count);
	free(stacks);
	free(list);
	return merged;
}

static void put_failures(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	char text[GT_FORMAT_MAX], name[GT_KIND_TEXT];
	size_t count;
	struct gt_failure *failures = failures_of(v, &count);

	gt_print_line(p, GT_BOLD, "FAILED CALLS  %s",
		      gt_format_count(text, gt_ledger_total(l).failed));
	for (size_t i = 0; i < count && i < FAILURES_SHOWN; i++) {
		const struct gt_failure *f = &failures[i];

		gt_print_tab(p, 4);
		gt_print_put(p, GT_PLAIN, "%s x %s", gt_format_count(text, f->count),
			     gt_call_name(name, v, f->function, f->stack));
		put_result(p, f->function, f->result);
		if (f->bytes_most)
			gt_print_put(p, GT_PLAIN, ", %s requested",
				     gt_format_bytes(text, f->bytes_most));
		gt_print_end(p);
		put_labelled(p, v, "at", f->stack, 1);
	}
	if (count > FAILURES_SHOWN)
		put_more(p, count - FAILURES_SHOWN);
	gt_print_end(p);
	free(failures);
}

static void put_last_calls(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;

	gt_print_line(p, GT_RED, "ENDED INSIDE A CALL");
	for (size_t i = 0; i < l->last_call_count && i < LAST_SHOWN; i++) {
		const struct gt_last_call *call = &l->last_calls[i];
		const struct gt_process *process =
			gt_recording_process(v->recording, call->process);
		bool is_known = process->end != GT_END_UNKNOWN;
		char *text = gt_call_text(v->recording, call), *end = gt_end_words(process);

		gt_print_wrap(p, GT_PLAIN, 4, "pid %" PRIu32 ", thread %" PRIu32 "%s%s: %s",
			      process->pid, call->event.tid, is_known ? ", " : "",
			      is_known ? end : "", text);
		put_labelled(p, v, "at", call->event.stack, LAST_FRAMES);
		free(text);
		free(end);
	}
	if (l->last_call_count > LAST_SHOWN)
		gt_print_wrap(p, GT_DIM, 4, "and %zu more: --format json lists them",
			      l->last_call_count - LAST_SHOWN);
	gt_print_end(p);
}

/* Rows the import found out of order: a fault of the export, not of the program. */
static uint64_t out_of_order(const struct gt_view *v)
{
	uint64_t rows = 0;

	gt_count_parse(gt_recording_info(v->recording, "out_of_order"), &rows);
	return rows;
}

static void put_unmatched(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	uint64_t unsorted = out_of_order(v);
	char text[GT_FORMAT_MAX];

	if (l->unknown_ends)
		gt_print_wrap(p, GT_PLAIN, 0, "%s %s of resources created before tracking began",
			      gt_format_count(text, l->unknown_ends),
			      gt_plural(l->unknown_ends, "release", "releases"));
	if (l->unsure_ends)
		gt_print_wrap(p, GT_PLAIN, 0,
			      "%s %s of resources already released, or created by calls that were "
			      "not recorded",
			      gt_format_count(text, l->unsure_ends),
			      gt_plural(l->unsure_ends, "release", "releases"));
	if (l->replaced)
		gt_print_wrap(p, GT_YELLOW, 0,
			      "%s %s created with a handle still in use: the previous release was "
			      "not recorded",
			      gt_format_count(text, l->replaced),
			      gt_plural(l->replaced, "resource was", "resources were"));
	if (l->size_mismatches)
		gt_print_wrap(p, GT_YELLOW, 0,
			      "%s %s freed with a size other than the allocated one",
			      gt_format_count(text, l->size_mismatches),
			      gt_plural(l->size_mismatches, "block was", "blocks were"));
	if (unsorted)
		gt_print_wrap(p, GT_PLAIN, 0, "%s %s out of order in the export (now sorted)",
			      gt_format_count(text, unsorted),
			      gt_plural(unsorted, "row was", "rows were"));
	if (l->unknown_ends || l->unsure_ends || l->replaced || l->size_mismatches || unsorted)
		gt_print_end(p);
}

void gt_mistakes_text(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;

	list_places(v);
	if (l->redundant_count)
		put_redundant(p, v);
	if (l->interior_count)
		put_interior(p, v);
	if (l->failure_count)
		put_failures(p, v);
	list_places(v);
	if (has_other_last_call(l))
		put_last_calls(p, v);
	put_unmatched(p, v);
}

static void redundant_json(struct gt_json *j, const struct gt_view *v, const struct gt_redundant *r)
{
	gt_json_object(j, NULL);
	gt_json_text(j, "function", gt_function_names[r->function]);
	gt_json_text(j, "kind", kind_name(r->function));
	gt_json_hex(j, "handle", r->handle);
	gt_json_uint(j, "pid", gt_recording_process(v->recording, r->process)->pid);
	gt_json_int(j, "time_ns", gt_view_time(v, r->time_ns));
	gt_json_uint(j, "count", r->count);
	gt_result_json(j, r->function, !r->fatal, r->result);
	gt_json_bool(j, "fatal", r->fatal);
	gt_place_and_stack_json(j, v->frames, r->stack);
	gt_stack_json(j, "ended", v->frames, r->ended_stack);
	gt_stack_json(j, "created", v->frames, r->created_stack);
	gt_json_end(j);
}

static void interior_json(struct gt_json *j, const struct gt_view *v, const struct gt_interior *f)
{
	gt_json_object(j, NULL);
	gt_json_text(j, "function", gt_function_names[f->function]);
	gt_json_text(j, "kind", kind_name(f->function));
	gt_json_hex(j, "handle", f->handle);
	gt_json_uint(j, "offset", f->offset);
	gt_json_uint(j, "bytes", f->bytes);
	gt_json_uint(j, "pid", gt_recording_process(v->recording, f->process)->pid);
	gt_json_int(j, "time_ns", gt_view_time(v, f->time_ns));
	gt_json_uint(j, "count", f->count);
	gt_place_and_stack_json(j, v->frames, f->stack);
	gt_stack_json(j, "created", v->frames, f->created_stack);
	gt_json_end(j);
}

static void failure_json(struct gt_json *j, const struct gt_view *v, const struct gt_failure *f)
{
	gt_json_object(j, NULL);
	gt_json_text(j, "function", gt_function_names[f->function]);
	gt_json_text(j, "kind", kind_name(f->function));
	gt_json_uint(j, "count", f->count);
	gt_json_uint(j, "bytes_most", f->bytes_most);
	gt_json_int(j, "time_ns", gt_view_time(v, f->time_ns));
	gt_result_json(j, f->function, f->result != 0, f->result);
	gt_place_and_stack_json(j, v->frames, f->stack);
	gt_json_end(j);
}

static void last_call_json(struct gt_json *j, const struct gt_view *v,
			   const struct gt_last_call *call)
{
	gt_json_object(j, NULL);
	gt_json_text(j, "function", gt_function_names[call->event.function]);
	gt_json_uint(j, "pid", gt_recording_process(v->recording, call->process)->pid);
	gt_json_uint(j, "tid", call->event.tid);
	gt_json_hex(j, "handle", call->event.handle);
	gt_json_int(j, "time_ns", gt_view_time(v, call->event.time_ns));
	gt_arguments_json(j, v->recording, call);
	gt_place_and_stack_json(j, v->frames, call->event.stack);
	gt_json_end(j);
}

void gt_mistakes_json(struct gt_json *j, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	struct gt_failure *failures;
	size_t count;

	list_places(v);
	gt_json_array(j, "redundant");
	for (size_t i = 0; i < l->redundant_count; i++)
		redundant_json(j, v, &l->redundant[i]);
	gt_json_end(j);
	gt_json_array(j, "interior");
	for (size_t i = 0; i < l->interior_count; i++)
		interior_json(j, v, &l->interior[i]);
	gt_json_end(j);
	gt_json_array(j, "failures");
	failures = failures_of(v, &count);
	for (size_t i = 0; i < count; i++)
		failure_json(j, v, &failures[i]);
	free(failures);
	gt_json_end(j);
	list_places(v);
	gt_json_array(j, "last_calls");
	for (size_t i = 0; i < l->last_call_count; i++)
		last_call_json(j, v, &l->last_calls[i]);
	gt_json_end(j);
	gt_json_uint(j, "unknown_ends", l->unknown_ends);
	gt_json_uint(j, "unsure_ends", l->unsure_ends);
	gt_json_uint(j, "replaced", l->replaced);
	gt_json_uint(j, "size_mismatches", l->size_mismatches);
	gt_json_uint(j, "out_of_order", out_of_order(v));
}
