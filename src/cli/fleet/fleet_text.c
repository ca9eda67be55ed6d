/* SPDX-License-Identifier: MIT */
/* fleet_text.c - the answers of `gputrack fleet` for people. */
#include "base/format.h"
#include "cli/fleet/fleet_show.h"

enum {
	WIDE_PAGE = 120,
	HOURS = 24,
	DATE = 10, /* columns of "2026-11-16" */
	PLACE_INDENT = 8,
};

/* "1.20 GiB", or "1,234" where there are no bytes. */
static const char *amount(char out[GT_FORMAT_MAX], double bytes, double objects)
{
	if (bytes >= 1 || objects < 0.5)
		return bytes < 0.5 ? "-" : gt_format_bytes(out, (uint64_t)(bytes + 0.5));
	return gt_format_count(out, (uint64_t)(objects + 0.5));
}

/* The same, "+…", for a day. */
static const char *rate(char out[GT_FORMAT_MAX], double bytes_an_hour, double objects_an_hour)
{
	char text[GT_FORMAT_MAX];

	if (bytes_an_hour <= 0 && objects_an_hour <= 0)
		return "-";
	/* of the slowest, too, something is to be seen */
	if (bytes_an_hour <= 0 && objects_an_hour * HOURS < 10) {
		snprintf(out, GT_FORMAT_MAX, "+%.2g", objects_an_hour * HOURS);
		return out;
	}
	snprintf(out, GT_FORMAT_MAX, "+%.40s",
		 amount(text,
			bytes_an_hour * HOURS < 1 && bytes_an_hour > 0 ? 1 : bytes_an_hour * HOURS,
			objects_an_hour * HOURS));
	return out;
}

/* A place on the rest of the line, or on one of its own where the page is narrow. */
static void put_place(struct gt_printer *p, const char *place, unsigned column)
{
	if (p->style.width < WIDE_PAGE) {
		gt_print_end(p);
		gt_print_tab(p, PLACE_INDENT);
	} else {
		gt_print_tab(p, column);
	}
	gt_print_name(p, GT_BOLD, place, gt_print_left(p));
	gt_print_end(p);
}

static void put_title(struct gt_printer *p, const char *const *titles, const unsigned *ends,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		gt_print_right(p, GT_DIM, titles[i], ends[i]);
}

static void put_days(struct gt_printer *p, const struct gt_fleet_answer *a)
{
	char hosts[GT_FORMAT_MAX];

	gt_print_put(p, GT_BOLD, "FLEET");
	gt_print_line(p, GT_PLAIN, "  %s to %s (UTC), %s %s", a->from, a->to,
		      gt_format_count(hosts, a->hosts), gt_plural(a->hosts, "host", "hosts"));
}

static void put_more(struct gt_printer *p, uint64_t more)
{
	char text[GT_FORMAT_MAX];

	if (more)
		gt_print_wrap(p, GT_DIM, 2, "and %s more: --top N shows them",
			      gt_format_count(text, more));
}

void gt_fleet_top_text(struct gt_printer *p, const struct gt_fleet_answer *a)
{
	static const char *const titles[] = { "grown", "a day", "held", "hosts", "since" };
	static const unsigned ends[] = { 11, 23, 34, 42, 54 };
	char text[GT_FORMAT_MAX];

	put_days(p, a);
	if (!a->count) {
		gt_print_line(p, GT_GREEN, "no place grows");
		return;
	}
	gt_print_line(p, GT_RED, "GROWING  %s %s", gt_format_count(text, a->total),
		      gt_plural(a->total, "place", "places"));
	put_title(p, titles, ends, 5);
	gt_print_tab(p, ends[4] + 2);
	gt_print_put(p, GT_DIM, "kind");
	if (p->style.width >= WIDE_PAGE) {
		gt_print_tab(p, ends[4] + 18);
		gt_print_put(p, GT_DIM, "where");
	}
	gt_print_end(p);
	for (size_t i = 0; i < a->count; i++) {
		const struct gt_fleet_place *f = &a->places[i];
		char since[DATE + 1];

		gt_print_right(p, GT_RED,
			       amount(text, (double)f->grown_bytes, (double)f->grown_objects),
			       ends[0]);
		gt_print_right(p, GT_PLAIN, rate(text, f->growth_bytes, f->growth_objects),
			       ends[1]);
		gt_print_right(p, GT_PLAIN,
			       amount(text, (double)f->held_bytes, (double)f->held_objects),
			       ends[2]);
		gt_print_right(p, GT_PLAIN, gt_format_count(text, f->hosts), ends[3]);
		snprintf(since, sizeof since, "%.*s", DATE, f->since);
		gt_print_right(p, GT_PLAIN, *since ? since : "-", ends[4]);
		gt_print_tab(p, ends[4] + 2);
		gt_print_put(p, GT_PLAIN, "%s", f->kind);
		put_place(p, f->place, ends[4] + 18);
	}
	put_more(p, a->total - a->count);
}

static const struct {
	const char *title, *what;
	enum gt_paint paint;
} changes[GT_FLEET_CHANGES] = {
	[GT_FLEET_NEW] = { "GROWING", " that did not grow before", GT_RED },
	[GT_FLEET_GROWS] = { "GROWING AS BEFORE", "", GT_YELLOW },
	[GT_FLEET_GONE] = { "GONE", " no longer growing", GT_GREEN },
	[GT_FLEET_MORE] = { "MORE", " of which a process holds more", GT_PLAIN },
	[GT_FLEET_LESS] = { "LESS", " of which a process holds less", GT_PLAIN },
};

/* What a process holds on average. */
static double share(const struct gt_fleet_place *p, bool objects)
{
	uint64_t held = !p ? 0 : objects ? p->held_objects : p->held_bytes;

	return p && p->processes ? (double)held / (double)p->processes : 0;
}

static void put_side(struct gt_printer *p, const struct gt_fleet_place *f, const unsigned *ends)
{
	char text[GT_FORMAT_MAX];

	gt_print_right(p, GT_PLAIN, f ? rate(text, f->growth_bytes, f->growth_objects) : "-",
		       ends[0]);
	gt_print_right(p, GT_PLAIN, amount(text, share(f, false), share(f, true)), ends[1]);
	gt_print_right(p, GT_PLAIN, f ? gt_format_count(text, f->hosts) : "-", ends[2]);
}

void gt_fleet_diff_text(struct gt_printer *p, const struct gt_fleet_comparison *d, uint64_t top)
{
	static const char *const titles[] = { "a day", "a process", "hosts",
					      "a day", "a process", "hosts" };
	static const unsigned ends[] = { 11, 22, 29, 41, 52, 59 };
	char hosts[GT_FORMAT_MAX];
	size_t i = 0;

	gt_print_put(p, GT_BOLD, "FLEET");
	gt_print_put(p, GT_PLAIN, "  before: %s, %s %s", d->before->to,
		     gt_format_count(hosts, d->before->hosts),
		     gt_plural(d->before->hosts, "host", "hosts"));
	gt_print_line(p, GT_PLAIN, "; after: %s, %s %s (UTC)", d->after->to,
		      gt_format_count(hosts, d->after->hosts),
		      gt_plural(d->after->hosts, "host", "hosts"));
	if (!d->count) {
		gt_print_line(p, GT_GREEN, "no place grows, and none has changed");
		return;
	}
	gt_print_right(p, GT_DIM, "before:", ends[0]);
	gt_print_right(p, GT_DIM, "after:", ends[3]);
	gt_print_end(p);
	put_title(p, titles, ends, 6);
	gt_print_tab(p, ends[5] + 2);
	gt_print_put(p, GT_DIM, "kind");
	gt_print_end(p);
	for (int change = 0; change < GT_FLEET_CHANGES; change++) {
		size_t count = d->counts[change], end = i + count;

		if (!count)
			continue;
		gt_print_line(p, changes[change].paint, "%s  %zu %s%s", changes[change].title,
			      count, gt_plural(count, "place", "places"), changes[change].what);
		for (size_t shown = 0; shown < count && shown < top; shown++, i++) {
			const struct gt_fleet_difference *one = &d->list[i];
			const struct gt_fleet_place *f = one->after ? one->after : one->before;

			put_side(p, one->before, ends);
			put_side(p, one->after, ends + 3);
			gt_print_tab(p, ends[5] + 2);
			gt_print_put(p, GT_PLAIN, "%s", f->kind);
			put_place(p, f->place, ends[5] + 18);
		}
		put_more(p, end - i);
		i = end;
	}
}

/* Who it is: on the rest of the line, or on one of its own where the page is narrow. */
static void put_process(struct gt_printer *p, const struct gt_fleet_process *f)
{
	if (p->style.width < WIDE_PAGE) {
		gt_print_line(p, GT_PLAIN, "%s", f->gpu);
		gt_print_tab(p, PLACE_INDENT);
	}
	gt_print_put(p, GT_BOLD, "%s%s%s", f->host, *f->pod ? " " : "", f->pod);
	gt_print_put(p, GT_PLAIN, ", %s %u: ", f->process, f->pid);
	gt_print_name(p, GT_PLAIN, f->place, gt_print_left(p));
	gt_print_end(p);
}

void gt_fleet_place_text(struct gt_printer *p, const struct gt_fleet_answer *a, const char *name)
{
	static const char *const titles[] = { "held", "a day", "first seen", "grows since" };
	static const unsigned ends[] = { 11, 23, 35, 53 };
	char text[GT_FORMAT_MAX];

	put_days(p, a);
	if (!a->count) {
		gt_print_line(p, GT_PLAIN, "no process has %s", name);
		return;
	}
	gt_print_line(p, GT_BOLD, "%s  %s %s", name, gt_format_count(text, a->total),
		      gt_plural(a->total, "process", "processes"));
	put_title(p, titles, ends, 4);
	gt_print_tab(p, ends[3] + 2);
	gt_print_put(p, GT_DIM, p->style.width >= WIDE_PAGE ? "host, process, where" : "GPU");
	gt_print_end(p);
	for (size_t i = 0; i < a->count; i++) {
		const struct gt_fleet_process *f = &a->processes[i];
		char since[17];

		gt_print_right(
			p, GT_PLAIN,
			f->runs ? amount(text, (double)f->held_bytes, (double)f->held_objects) :
				  "ended",
			ends[0]);
		gt_print_right(p, f->growth_bytes > 0 || f->growth_objects > 0 ? GT_RED : GT_PLAIN,
			       rate(text, f->growth_bytes, f->growth_objects), ends[1]);
		gt_print_right(p, GT_PLAIN, f->first, ends[2]);
		snprintf(since, sizeof since, "%.16s", f->since);
		gt_print_right(p, GT_PLAIN, *since ? since : "-", ends[3]);
		gt_print_tab(p, ends[3] + 2);
		put_process(p, f);
	}
	put_more(p, a->total - a->count);
}
