/* SPDX-License-Identifier: MIT */
/* live_query.c - answers the program's questions about what is alive. */
#include "tracker/live_query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guest_file.h"
#include "base/process.h"
#include "guest/guest.h"
#include "guest/saved_state.h"
#include "tracker/live_table.h"
#include "tracker/live_totals.h"
#include "tracker/tool_child.h"

/* The spans that a resource may have been created in. */
struct selection {
	const gputrack_live_span *spans;
	size_t count;
};

int gt_live_query_now(gputrack_live_mark *mark)
{
	struct saved_state saved;

	if (!gt_settings_get()->recording)
		return 0;
	gt_guest_set_up_child();
	enter(&saved);
	gt_live_table_start_counting();
	mark->time_ns = gt_now_ns();
	/* a signal handler that interrupted the recorder gets a moment without a peak */
	if (!saved.in_recorder)
		gt_live_totals_mark(mark->time_ns);
	mark->resources = gt_live_totals_get(GT_LIVE_COUNT);
	mark->device_bytes = gt_live_totals_get(GT_LIVE_DEVICE);
	mark->block_bytes = gt_live_totals_get(GT_LIVE_BLOCKS);
	leave(&saved);
	return 1;
}

int gt_live_query_peak(uint64_t since_ns, gputrack_live_mark *peak)
{
	struct saved_state saved;

	gt_guest_set_up_child();
	enter(&saved);
	peak->time_ns = gt_now_ns();
	if (!saved.in_recorder) {
		peak->resources = gt_live_totals_peak(GT_LIVE_COUNT, since_ns);
		peak->device_bytes = gt_live_totals_peak(GT_LIVE_DEVICE, since_ns);
		peak->block_bytes = gt_live_totals_peak(GT_LIVE_BLOCKS, since_ns);
	}
	leave(&saved);
	return !saved.in_recorder;
}

/* Not what the API means to live as long as the process, nor what a driver has for itself. */
static bool is_selected(void *context, const struct gt_entry *entry)
{
	const struct selection *s = context;
	bool is_in = false;

	if (gt_kinds[gt_entry_kind(entry)].habits & GT_LASTING)
		return false;
	for (size_t i = 0; i < s->count && !is_in; i++)
		is_in = entry->time_ns >= s->spans[i].from_ns && entry->time_ns < s->spans[i].to_ns;
	return is_in;
}

static bool tell(const struct gt_entry *e, gputrack_live_resource_fn *each, void *context)
{
	gputrack_live_resource resource = {
		.struct_size = sizeof resource,
		.handle = e->handle,
		.bytes = gt_entry_bytes(e),
		.time_ns = e->time_ns,
		.api = gt_api_names[gt_functions[e->function].api],
		.kind = gt_kinds[gt_entry_kind(e)].name,
		.created_by = gt_function_names[e->function],
		.references = e->refs,
		.thread = e->tid,
		.owner = e->owner,
	};

	return each(context, &resource);
}

long gt_live_query_list(const gputrack_live_span *spans, size_t count,
			gputrack_live_resource_fn *each, void *context)
{
	struct selection s = { .spans = spans, .count = count };
	struct gt_entry *entries = NULL;
	struct saved_state saved;
	size_t found = 0;

	gt_guest_set_up_child();
	enter(&saved);
	if (!saved.in_recorder && !each)
		found = gt_live_table_count(is_selected, &s);
	else if (!saved.in_recorder)
		entries = gt_live_table_snapshot(&found, is_selected, &s);
	leave(&saved);
	for (size_t i = 0; entries && i < found && tell(&entries[i], each, context); i++)
		;
	enter(&saved);
	if (!saved.in_recorder)
		gt_live_table_free(entries);
	leave(&saved);
	return (long)found;
}

/* "FROM-TO,FROM-TO", as `gputrack since` takes it; the caller frees it. NULL: no memory. */
static char *spans_text(const gputrack_live_span *spans, size_t count)
{
	enum { SPAN_MAX = 48 };
	char *text = malloc(count * SPAN_MAX + 1);
	size_t used = 0;

	for (size_t i = 0; text && i < count; i++)
		used += (size_t)snprintf(text + used, SPAN_MAX, "%s%" PRIu64 "-%" PRIu64,
					 i ? "," : "", spans[i].from_ns, spans[i].to_ns);
	return text;
}

/* What has been read of an answer. */
struct answer {
	char *line; /* of a site: the fields lie in it */
	size_t room;
	char *stack; /* its frames so far, a line each */
	size_t stack_used;
	char *why; /* what the tool said instead */
	gputrack_live_site site;
	bool has_site, is_whole, is_stopped;
	long count;
};

static bool append(char **text, size_t *used, const char *more)
{
	size_t size = strlen(more);
	char *larger = realloc(*text, *used + size + 1);

	if (!larger)
		return false;
	memcpy(larger + *used, more, size + 1);
	*text = larger;
	*used += size;
	return true;
}

static void tell_site(struct answer *a, gputrack_live_site_fn *each, void *context)
{
	if (!a->has_site)
		return;
	a->has_site = false;
	a->count++;
	a->site.stack = a->stack ? a->stack : "";
	if (!a->is_stopped && each)
		a->is_stopped = !each(context, &a->site);
	a->stack_used = 0;
	if (a->stack)
		*a->stack = '\0';
}

/* The tool's fields of a site, each up to a tab. */
static void take_site(struct answer *a, char *fields)
{
	enum { COUNT, BYTES, WHAT, API, KIND, BY, PLACE, FILE_NAME, LINE, EXCUSED, FIELDS };
	const char *field[FIELDS];

	for (int i = 0; i < FIELDS; i++) {
		const char *one = strsep(&fields, "\t");

		field[i] = one ? one : "";
	}
	a->has_site = true;
	a->site = (gputrack_live_site){
		.struct_size = sizeof a->site,
		.count = strtoull(field[COUNT], NULL, 10),
		.bytes = strtoull(field[BYTES], NULL, 10),
		.what = field[WHAT],
		.api = field[API],
		.kind = field[KIND],
		.created_by = field[BY],
		.place = field[PLACE],
		.file = field[FILE_NAME],
		.line = (unsigned)strtoul(field[LINE], NULL, 10),
		.excused = field[EXCUSED],
	};
}

/* Lines "site TAB …", each followed by its "frame TAB …"; "end" is the last. */
static void read_answer(struct answer *a, FILE *from, gputrack_live_site_fn *each, void *context)
{
	char *line = NULL;
	size_t room = 0, why_used = 0;

	while (!a->is_whole && getline(&line, &room, from) > 0) {
		size_t length = strcspn(line, "\n");

		if (!strncmp(line, "frame\t", 6)) {
			append(&a->stack, &a->stack_used, line + 6);
			continue;
		}
		line[length] = '\0';
		a->is_whole = !strcmp(line, "end");
		if (!strncmp(line, "site\t", 5)) {
			tell_site(a, each, context);
			free(a->line);
			a->line = line;
			take_site(a, line + 5);
			line = NULL;
			room = 0;
		} else if (!a->is_whole) {
			append(&a->why, &why_used, line);
		}
	}
	tell_site(a, each, context);
	free(line);
}

static void tell_why_not(const struct answer *a, gputrack_live_site_fn *each, void *context)
{
	const char *why = a->why ? a->why : "gputrack could not be started";
	gputrack_live_site none = { .struct_size = sizeof none,
				    .what = "",
				    .api = "",
				    .kind = "",
				    .created_by = "",
				    .place = "",
				    .file = "",
				    .stack = "",
				    .excused = why };

	if (!strncmp(why, "gputrack: ", 10))
		none.excused += 10;
	if (each)
		each(context, &none);
}

long gt_live_query_sites(const gputrack_live_span *spans, size_t count, gputrack_live_site_fn *each,
			 void *context)
{
	char pid[24], *text = spans_text(spans, count);
	struct gt_tool_call call = { .argv = { "since", gt_settings_get()->recording, "--pid", pid,
					       "--spans", text },
				     .is_configured = true,
				     .with_errors = true };
	struct gt_tool_child tool = { 0 };
	struct answer a = { 0 };
	struct saved_state saved;

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	gt_guest_set_up_child();
	/* cancelled while it waits, the thread would leave the child and its pipes behind */
	enter(&saved);
	gt_in_recorder = saved.in_recorder;
	if (text && call.argv[1] && gt_tool_start(&tool, &call))
		read_answer(&a, tool.from, each, context);
	gt_tool_stop(&tool);
	if (!a.is_whole)
		tell_why_not(&a, each, context);
	leave(&saved);
	free(text);
	free(a.line);
	free(a.stack);
	free(a.why);
	return a.is_whole ? a.count : -1;
}
