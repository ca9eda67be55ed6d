/* fuzz_config.c - reads any bytes as a configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "fuzz.h"

/* main.c's, which is not linked here. */
int gt_fail(const char *format, ...)
{
	(void)format;
	return GT_EXIT_FAILED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_config c = { 0 };
	struct gt_error error = { "" };
	int e = gt_config_parse(&c, "input", (const char *)data, size, "\n", &error);

	FUZZ_CHECK(!e || *error.text);
	for (size_t i = 0; i < c.count; i++)
		FUZZ_CHECK(c.lines[i].key && c.lines[i].value && c.lines[i].line);
	gt_config_fini(&c);
	return 0;
}
