/* SPDX-License-Identifier: MIT */
/* html_tests.h - gputrack html of several recordings: their tests, each leak once, their pages. */
#pragma once

#include "cli/fail_options.h"
#include "cli/recordings.h"

struct gt_html_tests {
	const struct gt_recordings *found;
	const struct gt_input *input;
	struct gt_fail_options *fail; /* opened; none of them fails the page */
	/* Writes the data of the page of one recording. 0, or -errno and the error. */
	int (*write_page)(void *context, const char *path, FILE *out, struct gt_error *error);
	void *context;
};

/*
 * The data of their page: an object "all" as `gputrack report` has it in JSON, and "pages", the
 * data of each recording's page by its index. Recordings that fail come first; once 32 MiB are
 * exceeded, the other pages are left out. 0, or -errno and the error.
 */
int gt_html_tests_data(const struct gt_html_tests *how, FILE *out, struct gt_error *error);
