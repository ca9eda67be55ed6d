/* SPDX-License-Identifier: MIT */
/*
 * sarif.c - leaks as SARIF 2.1.0: one result for each call site that leaked, one for a peak that is
 * too high, and one for driver residue.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/held.h"
#include "replay/place.h"
#include "judge/merged.h"
#include "judge/verdict.h"

enum { WORD_SIZE = 96 };

/* A path as a URI: relative if it is below the current folder. */
static char *uri_of(const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	if (*path == '/')
		fputs("file://", out);
	gt_uri_put(out, path);
	gt_memstream_close(out);
	return text;
}

static void message(struct gt_json *j, const char *key, const char *text)
{
	gt_json_object(j, key);
	gt_json_text(j, "text", text);
	gt_json_end(j);
}

static void location(struct gt_json *j, const char *key, const struct gt_view *v,
		     const struct gt_frame *frame)
{
	char module[512];

	gt_json_object(j, key);
	if (frame->file) {
		char *file = gt_frame_file(v, frame), *uri = uri_of(file);

		gt_json_object(j, "physicalLocation");
		gt_json_line(j, "artifactLocation");
		gt_json_text(j, "uri", uri);
		if (*file != '/')
			gt_json_text(j, "uriBaseId", "%SRCROOT%");
		gt_json_end(j);
		if (frame->line) {
			gt_json_line(j, "region");
			gt_json_uint(j, "startLine", frame->line);
			gt_json_end(j);
		}
		gt_json_end(j);
		free(uri);
		free(file);
	}
	if (frame->function) {
		gt_json_array(j, "logicalLocations");
		gt_json_line(j, NULL);
		gt_json_text(j, "fullyQualifiedName", frame->function);
		gt_json_text(j, "kind", "function");
		gt_json_end(j);
		gt_json_end(j);
	} else if (!frame->file) {
		snprintf(module, sizeof module, "%s+0x%" PRIx64, frame->module ? frame->module : "",
			 frame->offset);
		message(j, "message", module);
	}
	gt_json_end(j);
}

static void put_stack(struct gt_json *j, const struct gt_view *v, uint32_t stack, const char *what)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(v->frames, stack, &frames);

	if (!count)
		return;
	gt_json_array(j, "stacks");
	gt_json_object(j, NULL);
	message(j, "message", what);
	gt_json_array(j, "frames");
	for (size_t i = 0; i < count; i++) {
		gt_json_object(j, NULL);
		location(j, "location", v, &frames[i]);
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_end(j);
	gt_json_end(j);
}

static const char *state_of(const struct gt_leak *leak)
{
	if (!leak->old_count)
		return "new";
	return leak->count == leak->old_count && leak->bytes == leak->old_bytes ? "unchanged" :
										  "updated";
}

/* `why` NULL: not suppressed. */
static void put_justification(struct gt_json *j, const char *why)
{
	gt_json_array(j, "suppressions");
	if (why) {
		gt_json_line(j, NULL);
		gt_json_text(j, "kind", "external");
		gt_json_text(j, "justification", why);
		gt_json_end(j);
	}
	gt_json_end(j);
}

static void put_excuse(struct gt_json *j, const struct gt_view *v, const struct gt_leak *leak)
{
	char *excuse = gt_leak_excuse(v, leak);

	put_justification(j, leak->suppressed ? excuse : NULL);
	free(excuse);
}

static void put_hash(struct gt_json *j, const char *key, const char *words)
{
	char hash[32];

	snprintf(hash, sizeof hash, "%016" PRIx64, gt_hash_bytes(words, strlen(words)));
	gt_json_text(j, key, hash);
}

/* Of a site, also as earlier versions had it: results that were known stay known. */
static void put_site(struct gt_json *j, const struct gt_view *v, const struct gt_site *site,
		     uint16_t function)
{
	char *words = gt_site_key_text(v, site, function, GT_BY_LINE);
	char *whole = gt_site_key_text(v, site, function, GT_BY_STACK);

	gt_json_line(j, "partialFingerprints");
	put_hash(j, "gputrackSite/v1", whole);
	put_hash(j, "gputrackSite/v2", words);
	gt_json_end(j);
	free(words);
	free(whole);
}

static void put_result(struct gt_json *j, const struct gt_view *v, const struct gt_leak *leak)
{
	struct gt_site site = { .api = leak->api, .kind = leak->kind, .stack = leak->stack };
	char word[WORD_SIZE], *title = gt_leak_title(v, leak);
	struct gt_frame frame;

	gt_select_word(word, sizeof word, (enum gt_api)leak->api, (enum gt_kind)leak->kind);
	gt_json_object(j, NULL);
	gt_json_text(j, "ruleId", word);
	gt_json_text(j, "level", gt_verdict_fails(v->verdict, leak) ? "error" : "note");
	if (v->verdict->options.baseline)
		gt_json_text(j, "baselineState", state_of(leak));
	message(j, "message", title);
	gt_json_array(j, "locations");
	if (gt_place_frame(v->frames, leak->stack, &frame))
		location(j, NULL, v, &frame);
	gt_json_end(j);
	put_site(j, v, &site, leak->function);
	put_stack(j, v, leak->stack, "the call site that created most of them");
	put_excuse(j, v, leak);
	gt_json_line(j, "properties");
	gt_json_uint(j, "count", leak->count);
	gt_json_uint(j, "bytes", leak->bytes);
	gt_json_text(j, "function", gt_function_names[leak->function]);
	gt_json_end(j);
	gt_json_end(j);
	free(title);
}

static void put_growing(struct gt_json *j, const struct gt_view *v, const struct gt_growing *one)
{
	struct gt_frame frame;
	char *title = gt_growing_title(v, one);
	char *excuse = gt_growing_excuse(one, v->verdict->options.baseline_path);

	gt_json_object(j, NULL);
	gt_json_text(j, "ruleId", "growth");
	gt_json_text(j, "level", one->fails ? "error" : "note");
	if (v->verdict->options.baseline)
		gt_json_text(j, "baselineState", one->is_known ? "unchanged" : "new");
	message(j, "message", title);
	gt_json_array(j, "locations");
	if (gt_place_frame(v->frames, one->site->stack, &frame))
		location(j, NULL, v, &frame);
	gt_json_end(j);
	put_site(j, v, one->site, GT_FN_NONE);
	put_stack(j, v, one->site->stack, "the call site that keeps growing");
	put_justification(j, one->suppressed ? excuse : NULL);
	gt_json_line(j, "properties");
	gt_json_text(j, "unit", one->rise->bytes ? "bytes" : "resources");
	gt_json_real(j, "per_second", one->rise->per_second);
	gt_json_uint(j, "since_ns", gt_view_elapsed(v, one->rise->since_ns));
	gt_json_end(j);
	gt_json_end(j);
	free(title);
	free(excuse);
}

/* What put_whole writes to. */
struct results {
	struct gt_json *j;
	const struct gt_views *views;
};

/* Of several recordings, it names the test. An unknown result is no result: put_invocation. */
static void put_whole(void *context, const struct gt_view *v, const struct gt_whole *whole)
{
	const struct results *results = context;
	struct gt_json *j = results->j;
	char *named = NULL, *words = NULL;

	if (!strcmp(whole->rule, "unknown"))
		return;
	if (results->views->count > 1 &&
	    (asprintf(&named, "%s: %s", whole->test, whole->text) < 0 ||
	     asprintf(&words, "%s %s", whole->rule, whole->test) < 0))
		named = words = NULL;
	gt_json_object(j, NULL);
	gt_json_text(j, "ruleId", whole->rule);
	gt_json_text(j, "level", "error");
	if (v->verdict->options.baseline)
		gt_json_text(j, "baselineState", "new"); /* a baseline has no limits */
	message(j, "message", named ? named : whole->text);
	gt_json_array(j, "locations");
	if (whole->frame)
		location(j, NULL, v, whole->frame);
	gt_json_end(j);
	gt_json_line(j, "partialFingerprints");
	put_hash(j, "gputrackSite/v1", words ? words : whole->rule);
	gt_json_end(j);
	gt_json_array(j, "suppressions");
	gt_json_end(j);
	gt_json_end(j);
	free(words);
	free(named);
}

/* What is said of one recording, not of a call site that several may have. */
static void put_recording(struct gt_json *j, const struct gt_views *views, size_t view)
{
	const struct gt_view *v = views->list[view];
	const struct gt_growing_sites *growing = &v->verdict->growing;

	for (size_t i = 0; i < growing->count; i++)
		if (!gt_views_grew_before(views, view, growing->list[i].key))
			put_growing(j, v, &growing->list[i]);
	gt_views_wholes(views, view, put_whole, &(struct results){ j, views });
}

static void put_results(struct gt_json *j, const struct gt_views *views, const struct gt_merged *m)
{
	gt_merged_list_places(m, views);
	gt_json_array(j, "results");
	for (size_t i = 0; i < m->leaks.count; i++)
		put_result(j, views->list[m->from[i]], &m->leaks.list[i]);
	for (size_t i = 0; i < views->count; i++)
		put_recording(j, views, i);
	gt_json_end(j);
}

static void put_rule(struct gt_json *j, const char *id, const char *text)
{
	gt_json_object(j, NULL);
	gt_json_text(j, "id", id);
	message(j, "shortDescription", text);
	gt_json_end(j);
}

/* One rule for each API and kind that leaked, and for the limits that were set. */
static void put_rules(struct gt_json *j, const struct gt_views *views, const struct gt_leaks *leaks)
{
	const struct gt_verdict *verdict = views->list[0]->verdict; /* all have the same limits */
	struct gt_select listed = { 0 };
	bool grows = verdict->options.growth;

	for (size_t i = 0; i < views->count; i++)
		grows |= views->list[i]->verdict->growing.count > 0;
	gt_json_array(j, "rules");
	if (verdict->options.max_peak)
		put_rule(j, "peak", "peak device memory exceeds --max-peak");
	if (grows)
		put_rule(j, "growth", "a call site holds more and more while the program runs");
	if (gt_limits_of_residue(verdict->options.limits))
		put_rule(j, "residue", "memory the driver kept after resources were destroyed");
	for (size_t i = 0; i < leaks->count; i++) {
		const struct gt_leak *leak = &leaks->list[i];
		char word[WORD_SIZE], text[256];

		if (listed.has[leak->api][leak->kind])
			continue;
		listed.has[leak->api][leak->kind] = true;
		gt_select_word(word, sizeof word, (enum gt_api)leak->api, (enum gt_kind)leak->kind);
		snprintf(text, sizeof text, "%s %s alive when the process ended",
			 gt_api_names[leak->api], gt_kinds[leak->kind].plural);
		put_rule(j, word, text);
	}
	gt_json_end(j);
}

static void put_notification(struct gt_json *j, const char *level, const char *text)
{
	gt_json_object(j, NULL);
	gt_json_text(j, "level", level);
	message(j, "message", text);
	gt_json_end(j);
}

/* Whether gputrack succeeded: an unknown result is a notification, not a result. */
static void put_invocation(struct gt_json *j, const struct gt_view *v)
{
	const char *doubt = v->verdict->doubt;
	char *held = gt_held_line(v->ledger);

	gt_json_object(j, NULL);
	gt_json_bool(j, "executionSuccessful", !doubt);
	gt_json_text(j, "commandLine", gt_recording_info(v->recording, "command"));
	if (doubt || held)
		gt_json_array(j, "toolExecutionNotifications");
	if (doubt)
		put_notification(j, "error", doubt);
	if (held)
		put_notification(j, "note", held);
	if (doubt || held)
		gt_json_end(j);
	free(held);
	gt_json_end(j);
}

void gt_leaks_sarif(const struct gt_views *views, FILE *out)
{
	struct gt_merged m;
	struct gt_json j;

	gt_merged_init(&m, views);
	gt_json_begin(&j, out);
	gt_json_text(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	gt_json_text(&j, "version", "2.1.0");
	gt_json_array(&j, "runs");
	gt_json_object(&j, NULL);
	gt_json_object(&j, "tool");
	gt_json_object(&j, "driver");
	gt_json_text(&j, "name", "gputrack");
	gt_json_text(&j, "version", GT_VERSION);
	put_rules(&j, views, &m.leaks);
	gt_json_end(&j);
	gt_json_end(&j);
	gt_json_array(&j, "invocations");
	for (size_t i = 0; i < views->count; i++)
		put_invocation(&j, views->list[i]);
	gt_json_end(&j);
	gt_json_text(&j, "columnKind", "unicodeCodePoints");
	put_results(&j, views, &m);
	gt_json_end(&j);
	gt_json_end(&j);
	gt_json_finish(&j);
	gt_merged_fini(&m);
}
