/* SPDX-License-Identifier: MIT */
/* call_text.c - a call's function, and the arguments of a call during which a process ended. */
#include "replay/call_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/frame_facts.h"
#include "replay/group_text.h"

/* "device allocation in Nsight": what an import has instead of a call. */
static const char *function_words(char *out, unsigned function)
{
	const char *name = gt_function_names[function];
	size_t used = 0;

	if (!gt_text_begins(name, "nsys"))
		return name;
	for (name += strlen("nsys"); *name && used + 2 < GT_KIND_TEXT; name++) {
		if (used && isupper((unsigned char)*name))
			out[used++] = ' ';
		out[used++] = (char)tolower((unsigned char)*name);
	}
	snprintf(out + used, GT_KIND_TEXT - used, " in Nsight");
	return out;
}

const char *gt_call_name(char *out, const struct gt_view *v, uint16_t function, uint32_t stack)
{
	const struct gt_frame *frames;

	if (!*gt_recording_info(v->recording, "imported") ||
	    !gt_frames_get(v->frames, stack, &frames) ||
	    !(gt_frame_plumbing(frames) & GT_FRAME_CALL))
		return function_words(out, function);
	snprintf(out, GT_KIND_TEXT, "%s", frames->function);
	return out;
}

char *gt_call_text(const struct gt_recording *recording, const struct gt_last_call *call)
{
	uint16_t function = call->event.function;
	const uint64_t *words;
	size_t size, count = gt_recording_arguments(recording, call->process, &call->event, &words);
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return gt_strdup(gt_function_names[function]);
	fputs(gt_function_names[function], out);
	for (size_t i = 0; i < count; i++) {
		struct gt_argument a = gt_argument_of(function, i);

		fprintf(out, "%s%.*s=", i ? ", " : "(", (int)a.name_size, a.name);
		fprintf(out, a.is_number ? "%" PRIu64 : "0x%" PRIx64, words[i]);
	}
	if (count)
		fputc(')', out);
	if (fclose(out)) {
		free(text);
		return gt_strdup(gt_function_names[function]);
	}
	return text;
}

void gt_arguments_json(struct gt_json *j, const struct gt_recording *recording,
		       const struct gt_last_call *call)
{
	const uint64_t *words;
	size_t count = gt_recording_arguments(recording, call->process, &call->event, &words);

	if (!count) {
		gt_json_null(j, "arguments");
		return;
	}
	gt_json_array(j, "arguments");
	for (size_t i = 0; i < count; i++) {
		struct gt_argument a = gt_argument_of(call->event.function, i);
		char *name = gt_strndup(a.name, a.name_size);

		gt_json_object(j, NULL);
		gt_json_text(j, "name", name);
		gt_json_hex(j, "value", words[i]);
		gt_json_end(j);
		free(name);
	}
	gt_json_end(j);
}
