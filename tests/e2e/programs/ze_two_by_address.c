/* SPDX-License-Identifier: MIT */
/*
 * ze_two_by_address.c - gets the same extension functions from each of two drivers, and calls both;
 * then calls the first one's in a child.
 */
#include "ze_common.h"

#include <sys/wait.h>

static void use(ze_driver_handle_t driver)
{
	ze_result_t (*create)(void *context, void **graph, void *next) = NULL;
	ze_result_t (*destroy)(void *graph) = NULL;
	void *graph = NULL;

	CHECK(zeDriverGetExtensionFunctionAddress, driver, "zeGraphCreateExp", (void **)&create);
	CHECK(zeDriverGetExtensionFunctionAddress, driver, "zeGraphDestroyExp", (void **)&destroy);
	CHECK(create, NULL, &graph, NULL);
	CHECK(destroy, graph);
}

int main(void)
{
	ze_driver_handle_t drivers[2];
	uint32_t count = 2;

	CHECK(zeInit, 0);
	CHECK(zeDriverGet, &count, drivers);
	for (uint32_t i = 0; i < count; i++)
		use(drivers[i]);
	if (!fork()) {
		use(drivers[0]);
		exit(0);
	}
	wait(NULL);
	printf("%u drivers\n", count);
	return 0;
}
