/* github.c - leaks as GitHub annotations: lines that a workflow's log turns into marks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/leak_text.h"

/* GitHub shows ten of a sort for each step; the tenth tells how many more there are. */
enum { SHOWN = 9 };

/* A command's data; a property has two more characters that end it. */
static void put(FILE *out, const char *text, bool property)
{
	char *clean = gt_text_tame(text);

	for (const char *c = clean; *c; c++) {
		if (*c == '%' || *c == '\n' ||
		    (property && (*c == ':' || *c == ',')))
			fprintf(out, "%%%02X", (uint8_t)*c);
		else
			putc(*c, out);
	}
	free(clean);
}

static void put_leak(FILE *out, const struct gt_view *v, const struct gt_leak *leak)
{
	const struct gt_frame *frame = gt_leak_frame(v, leak);
	char *title = gt_leak_title(leak), *text = gt_leak_text(v, leak), *file;

	fprintf(out, "::%s ", gt_verdict_fails(v->verdict, leak) ? "error" : "warning");
	if (frame) {
		file = gt_frame_file(v, frame);
		fputs("file=", out);
		put(out, file, true);
		fprintf(out, ",line=%" PRIu32 ",", frame->line);
		free(file);
	}
	fputs("title=", out);
	put(out, title, true);
	fputs("::", out);
	/* the last line end would be an empty line in the mark */
	text[strlen(text) - 1] = '\0';
	put(out, text, false);
	putc('\n', out);
	free(title);
	free(text);
}

void gt_leaks_github(const struct gt_view *v, FILE *out)
{
	const struct gt_leaks *leaks = &v->verdict->leaks;
	char *apart = gt_verdict_apart(v->verdict);
	size_t shown = 0, more = 0;
	char text[128];

	if (apart) {
		fputs("::error title=gputrack::", out);
		put(out, apart, false);
		putc('\n', out);
	}
	free(apart);
	if (v->verdict->over_peak)
		fprintf(out, "::error title=gputrack::%s\n", gt_verdict_peak(text, v->verdict));
	/* those that fail first: they must not be the ones left out */
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < leaks->count; i++) {
			const struct gt_leak *leak = &leaks->list[i];

			if (gt_verdict_fails(v->verdict, leak) != !round ||
			    (!leak->new_count && !leak->new_bytes))
				continue;
			if (shown < SHOWN)
				put_leak(out, v, leak);
			shown++;
		}
	more = shown > SHOWN ? shown - SHOWN : 0;
	if (more) {
		fputs("::warning title=gputrack::", out);
		fprintf(out, "%zu more %s; see `gputrack report ", more,
			gt_plural(more, "call site leaks", "call sites leak"));
		put(out, gt_recording_path(v->recording), false);
		fputs(" -a leakage`\n", out);
	}
}
