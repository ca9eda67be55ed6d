/* SPDX-License-Identifier: MIT */
/* html_tests.c - gputrack html of several recordings: their tests, each leak once, their pages. */
#include "cli/html_tests.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/judged.h"

enum { LEAKS_MAX = 1000, PAGES_MAX_BYTES = 32 << 20 };

/* What is written of the recordings' own pages. */
struct pages {
	const struct gt_html_tests *how;
	FILE *out;
	size_t bytes, count;
	bool is_full;
};

static bool fails(const struct gt_verdict *verdict)
{
	return verdict->outcome != GT_OUTCOME_PASSED && verdict->outcome != GT_OUTCOME_UNTRACKED;
}

static int put_page(struct pages *pages, size_t index, struct gt_error *error)
{
	char *data = NULL;
	size_t size;
	FILE *made = gt_memstream(&data, &size);
	int e = pages->how->write_page(pages->how->context, pages->how->found->paths[index], made,
				       error);

	gt_memstream_close(made);
	pages->is_full = pages->bytes + size > PAGES_MAX_BYTES;
	if (!e && !pages->is_full) {
		fprintf(pages->out, "%s\"%zu\":", pages->count++ ? "," : "", index);
		fwrite(data, 1, size, pages->out);
		pages->bytes += size;
	}
	free(data);
	return e;
}

/* `failing`: by recording. */
static int put_pages(struct pages *pages, const bool *failing, struct gt_error *error)
{
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < pages->how->found->count && !pages->is_full; i++) {
			int e = failing[i] == !round ? put_page(pages, i, error) : 0;

			if (e)
				return e;
		}
	return 0;
}

/* The tests and leaks, and by recording whether it fails. All is closed before the pages are read.
 */
static int put_tests(const struct gt_html_tests *how, FILE *out, bool *failing,
		     struct gt_error *error)
{
	struct gt_loaded *loaded;
	struct gt_judged all;
	int e = gt_recordings_load(&loaded, how->found, how->input, error);

	if (e)
		return e;
	gt_judged_init(&all, loaded, how->found->count,
		       &(struct gt_judge_how){ .input = how->input, .fail = how->fail });
	for (size_t i = 0; i < how->found->count; i++)
		failing[i] = fails(&all.verdicts[i]);
	gt_tests_page_json(&all.tests, &all.views, LEAKS_MAX, out);
	gt_judged_fini(&all);
	return 0;
}

int gt_html_tests_data(const struct gt_html_tests *how, FILE *out, struct gt_error *error)
{
	struct pages pages = { .how = how, .out = out };
	bool *failing = gt_alloc(how->found->count * sizeof *failing);
	int e;

	fprintf(out, "{\"made_by\":\"%s\",\"all\":", GT_VERSION);
	e = put_tests(how, out, failing, error);
	fputs(",\"pages\":{", out);
	if (!e)
		e = put_pages(&pages, failing, error);
	fputs("}}", out);
	free(failing);
	return e;
}
