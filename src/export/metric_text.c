/* SPDX-License-Identifier: MIT */
/* metric_text.c - the text of metrics as Prometheus reads it. */
#include "export/metric_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"

void gt_metric_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void gt_metric_one(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	gt_metric_head(out, name, type, help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

void gt_metric_label(FILE *out, const char *name, const char *value, const char *end)
{
	char *clean = gt_text_sanitize(value);

	fprintf(out, "%s=\"", name);
	for (const char *c = clean; *c; c++) {
		if (*c == '\n')
			fputs("\\n", out);
		else if (*c == '\\' || *c == '"')
			fprintf(out, "\\%c", *c);
		else
			putc(*c, out);
	}
	fprintf(out, "\"%s", end);
	free(clean);
}
