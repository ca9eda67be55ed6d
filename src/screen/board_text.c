/* SPDX-License-Identifier: MIT */
/* board_text.c - the board as text: what processes hold now, their busiest call sites, the oldest.
 */
#include "screen/board_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/place.h"

enum { WHERE_COLUMN = 36, ENDED_SHOWN = 4, RUNNING_SHOWN = 16, COMMAND_LEAST = 12 };

/* "GPU 0", "GPU 0,1", "GPU unknown", or the names of what is no GPU. */
static const char *on_device(const struct gt_board_view *v, uint64_t places, char *text,
			     size_t size)
{
	char devices[112];

	gt_live_devices(&v->names, places, devices, sizeof devices);
	if (!strcmp(devices, "?"))
		snprintf(text, size, "GPU unknown");
	else
		snprintf(text, size, "%s%s", strchr("0123456789", *devices) ? "GPU " : "", devices);
	return text;
}

static bool has_several(uint64_t places)
{
	return places & (places - 1);
}

static void put_totals(struct gt_printer *p, const struct gt_board_process *t)
{
	char bytes[GT_FORMAT_MAX], live[GT_FORMAT_MAX];

	gt_print_put(p, GT_BOLD, "%s", gt_format_bytes(bytes, t->bytes));
	gt_print_put(p, GT_PLAIN, " in %s %s, +%.0f -%.0f per second",
		     gt_format_count(live, t->live), gt_plural(t->live, "resource", "resources"),
		     t->created_rate, t->ended_rate);
}

static void put_process(struct gt_printer *p, const struct gt_board_process *process)
{
	char text[GT_FORMAT_MAX];

	gt_print_put(p, GT_PLAIN, "  pid %" PRIu32 " ", process->pid);
	gt_print_name(p, GT_BOLD, process->name, 24);
	gt_print_put(p, GT_PLAIN, ": ");
	put_totals(p, process);
	gt_print_end(p);
	if (process->failed)
		gt_print_wrap(p, GT_YELLOW, 4, "%s %s", gt_format_count(text, process->failed),
			      gt_plural(process->failed, "call failed", "calls failed"));
	if (process->before)
		gt_print_wrap(p, GT_DIM, 4, "%s %s of resources allocated before gputrack attached",
			      gt_format_count(text, process->before),
			      gt_plural(process->before, "release", "releases"));
	if (process->lost)
		gt_print_wrap(p, GT_RED, 4, "%s %s LOST: these figures are incomplete",
			      gt_format_count(text, process->lost),
			      gt_plural(process->lost, "event was", "events were"));
}

static void put_where(struct gt_printer *p, struct gt_frames *frames, uint32_t number)
{
	gt_print_tab(p, p->column + 2 > WHERE_COLUMN ? p->column + 2 : WHERE_COLUMN);
	if (frames)
		gt_place_put(p, &(struct gt_view){ .frames = frames }, number, gt_print_left(p));
	gt_print_end(p);
}

/* Limited: memory is allocated for so many rows. */
static size_t top_of(const struct gt_board_view *v)
{
	return v->top < GT_BOARD_TOP_MAX ? v->top : GT_BOARD_TOP_MAX;
}

/* Settles how many callers tell these places apart; they are of one process. */
static void list_places(const struct gt_live_site *sites, size_t count)
{
	uint32_t *stacks = gt_alloc((count + 1) * sizeof *stacks);
	struct gt_frames *frames = NULL;
	size_t named = 0;

	for (size_t i = 0; i < count; i++)
		if (sites[i].frames) {
			frames = sites[i].frames;
			stacks[named++] = sites[i].number;
		}
	if (frames)
		gt_places_list(frames, stacks, named);
	free(stacks);
}

static void put_sites(struct gt_printer *p, const struct gt_board *b, const struct gt_board_view *v,
		      uint16_t process)
{
	bool is_all = process == GT_BOARD_ALL;
	size_t top = top_of(v), count = 0;
	struct gt_live_site *sites =
		top ? gt_live_sites(b, process, GT_BOARD_BY_BYTES,
				    is_all ? GT_LIVE_MERGE_ACROSS : GT_LIVE_MERGE_WITHIN, &v->names,
				    &count) :
		      NULL;
	char bytes[GT_FORMAT_MAX], live[GT_FORMAT_MAX], devices[128];
	uint64_t places = 0;

	if (count > top)
		count = top;
	for (size_t i = 0; i < count; i++)
		places |= sites[i].sum.places;
	for (size_t i = 0; is_all && i < count; i++)
		list_places(&sites[i], 1);
	if (!is_all)
		list_places(sites, count);
	for (size_t i = 0; i < count; i++) {
		const struct gt_board_site *site = &sites[i].sum;
		const struct gt_kind_info *kind = &gt_kinds[site->kind];

		gt_print_right(p, GT_PLAIN, gt_format_bytes(bytes, site->bytes), 12);
		gt_print_tab(p, 14);
		gt_print_put(p, GT_PLAIN, "%s %s", gt_format_count(live, site->live),
			     gt_plural(site->live, kind->name, kind->plural));
		if (sites[i].processes > 1)
			gt_print_put(p, GT_PLAIN, " of %u processes", sites[i].processes);
		/* with one device, the process's own line says it */
		if (site->places && has_several(places))
			gt_print_put(p, GT_PLAIN, " on %s",
				     on_device(v, site->places, devices, sizeof devices));
		put_where(p, sites[i].frames, sites[i].number);
	}
	free(sites);
}

static void put_entry(struct gt_printer *p, const struct gt_board_view *v, const char *what,
		      const struct gt_entry *e)
{
	uint64_t age = v->now_ns > e->time_ns ? v->now_ns - e->time_ns : 0;
	char text[GT_FORMAT_MAX], hex[GT_FORMAT_MAX], devices[128];
	bool has_bytes = gt_kind_has_bytes(gt_entry_kind(e));
	struct gt_frames *frames = NULL;
	uint32_t number = 0;

	gt_print_right(p, GT_PLAIN, has_bytes ? gt_format_bytes(text, e->size) : "", 12);
	gt_print_tab(p, 14);
	gt_print_put(p, GT_PLAIN, "%s %s, %s old", what, gt_format_hex(hex, e->handle),
		     gt_format_span(text, age));
	if (e->place)
		gt_print_put(p, GT_PLAIN, ", %s",
			     on_device(v, gt_board_place_bit(e->place, gt_entry_kind(e)), devices,
				       sizeof devices));
	gt_print_put(p, GT_PLAIN, ", thread %" PRIu32, e->tid);
	if (v->names.find)
		frames = v->names.find(v->names.context, e->process, e->stack, &number);
	put_where(p, frames, number);
}

static void put_entries(struct gt_printer *p, const struct gt_board *b,
			const struct gt_board_view *v, uint16_t process)
{
	size_t top = top_of(v);
	const struct gt_entry **biggest = gt_alloc(top * sizeof(const struct gt_entry *));
	size_t count = gt_board_biggest(b, process, biggest, top);
	const struct gt_entry *oldest = gt_board_oldest(b, process);

	for (size_t i = 0; i < count; i++)
		put_entry(p, v, "at", biggest[i]);
	if (oldest)
		put_entry(p, v, "oldest", oldest);
	free(biggest);
}

static void put_ended(struct gt_printer *p, const struct gt_board *b)
{
	char bytes[GT_FORMAT_MAX], live[GT_FORMAT_MAX];
	size_t shown = 0, more = 0;

	for (size_t i = gt_board_process_count(b); i-- > 0;) {
		const struct gt_board_process *process = gt_board_process(b, (uint16_t)i);

		if (!process->end_ns || !process->live)
			continue;
		if (shown == ENDED_SHOWN) {
			more++;
			continue;
		}
		shown++;
		gt_print_put(p, GT_PLAIN, "  pid %" PRIu32 " ", process->pid);
		gt_print_name(p, GT_PLAIN, process->name, 24);
		gt_print_line(p, GT_PLAIN, " has ended with %s in %s %s still alive",
			      gt_format_bytes(bytes, process->bytes),
			      gt_format_count(live, process->live),
			      gt_plural(process->live, "resource", "resources"));
	}
	if (more)
		gt_print_wrap(p, GT_DIM, 2, "and %zu more that ended with live resources", more);
}

/* "; user alice (1000), pod trainer-0, GPU 0": what the name of a process does not say. */
static size_t describe(const struct gt_board_view *v, const struct gt_live_who *who,
		       uint64_t places, char *text, size_t size)
{
	char number[16] = "", devices[128] = "";
	int used = 0;

	if (who && who->uid != GT_UID_UNKNOWN)
		snprintf(number, sizeof number, "%" PRIu32, who->uid);
	if (*number)
		used = snprintf(text, size, "user %s%s%s%s", who->user,
				strcmp(who->user, number) ? " (" : "",
				strcmp(who->user, number) ? number : "",
				strcmp(who->user, number) ? ")" : "");
	if (who && *who->container)
		used += snprintf(text + used, size - (size_t)used, "%s%s", used ? ", " : "",
				 who->container);
	if (places)
		used += snprintf(text + used, size - (size_t)used, "%s%s", used ? ", " : "",
				 on_device(v, places, devices, sizeof devices));
	return (size_t)used;
}

/* Who a process is, where its name does not say, and on which devices. */
static void put_description(struct gt_printer *p, const struct gt_board_view *v, uint16_t process,
			    uint64_t places)
{
	const struct gt_live_who *who = gt_live_who(&v->names, process);
	char text[384] = "";
	size_t size = describe(v, who, places, text, sizeof text), left;

	if (!size)
		return;
	gt_print_put(p, GT_PLAIN, "    ");
	left = gt_print_left(p);
	if (who && *who->command && left > size + 2 + COMMAND_LEAST) {
		gt_print_name(p, GT_DIM, who->command, left - size - 2);
		gt_print_put(p, GT_DIM, "; ");
	}
	gt_print_name(p, GT_DIM, text, gt_print_left(p));
	gt_print_end(p);
}

static int biggest_first(const void *a, const void *b, void *board)
{
	const struct gt_board_process *x = gt_board_process(board, *(const uint16_t *)a);
	const struct gt_board_process *y = gt_board_process(board, *(const uint16_t *)b);

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->live != y->live ? (x->live > y->live ? -1 : 1) :
				    *(const uint16_t *)a - *(const uint16_t *)b;
}

static void put_running(struct gt_printer *p, const struct gt_board *b,
			const struct gt_board_view *v, size_t running)
{
	uint16_t *order = gt_alloc((running + 1) * sizeof *order);
	uint64_t bytes = 0;
	char text[GT_FORMAT_MAX];
	size_t count = 0;

	for (size_t i = 0; i < gt_board_process_count(b); i++)
		if (!gt_board_process(b, (uint16_t)i)->end_ns)
			order[count++] = (uint16_t)i;
	qsort_r(order, count, sizeof *order, biggest_first, (void *)(uintptr_t)b);
	for (size_t i = 0; i < count; i++) {
		const struct gt_board_process *process = gt_board_process(b, order[i]);

		if (i >= RUNNING_SHOWN) {
			bytes += process->bytes;
			continue;
		}
		put_process(p, process);
		put_description(p, v, order[i], process->places);
		if (v->top) {
			put_sites(p, b, v, order[i]);
			put_entries(p, b, v, order[i]);
		}
	}
	if (count > RUNNING_SHOWN)
		gt_print_wrap(p, GT_DIM, 2, "and %zu smaller processes, which hold %s together",
			      count - RUNNING_SHOWN, gt_format_bytes(text, bytes));
	free(order);
}

void gt_board_text(struct gt_printer *p, const struct gt_board *b, const struct gt_board_view *v)
{
	struct gt_board_process total = gt_board_total(b);
	size_t running = 0;
	char text[GT_FORMAT_MAX];

	for (size_t i = 0; i < gt_board_process_count(b); i++)
		running += !gt_board_process(b, (uint16_t)i)->end_ns;

	gt_print_put(p, GT_BOLD, "%s",
		     gt_format_span(text, v->now_ns > v->since_ns ? v->now_ns - v->since_ns : 0));
	/* with one process its own line has the same totals */
	if (running != 1) {
		gt_print_put(p, GT_PLAIN, "  %zu %s, ", running,
			     gt_plural(running, "process", "processes"));
		put_totals(p, &total);
	}
	gt_print_end(p);
	if (v->lost)
		gt_print_wrap(p, GT_RED, 2, "%s %s LOST: try a larger --ring-size",
			      gt_format_count(text, v->lost),
			      gt_plural(v->lost, "call was", "calls were"));
	if (v->top && running > 1)
		put_sites(p, b, v, GT_BOARD_ALL);
	put_running(p, b, v, running);
	put_ended(p, b);
	gt_print_end(p);
}
