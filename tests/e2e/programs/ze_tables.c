/* SPDX-License-Identifier: MIT */
/*
 * ze_tables.c - asks a layer for its tables as loaders of versions 1.0 to 1.18 would, and prints
 * which slots it replaced.
 *
 * usage: ze_tables LAYER.so GETTER...
 *
 * Every word, far beyond the largest table, holds a value of its own, so that a slot that a version
 * does not have shows as written too. Lines:
 *   missing GETTER
 *   GETTER 1.MINOR: SLOT SLOT…		slots that are changed
 *   GETTER 1.MINOR again: SLOT…	slots that a second call with the same table changed
 *   GETTER empty: SLOT…		slots written into a table of NULLs
 *   GETTER wrong: 0x… 0x…		answers to a NULL table, and to version 2.0
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <level_zero/ze_api.h>

#define SLOT_MAX 96
#define NEWEST   18

typedef ze_result_t getter_fn(ze_api_version_t version, void *table);

static void *value_of(int slot)
{
	return (void *)(uintptr_t)(0x5a5a0000 + slot);
}

static void print_changed(void **table, void **before)
{
	for (int i = 0; i < SLOT_MAX; i++)
		if (table[i] != before[i])
			printf(" %d", i);
	printf("\n");
}

static void ask(getter_fn *get, const char *name, int minor)
{
	ze_api_version_t version = (ze_api_version_t)ZE_MAKE_VERSION(1, minor);
	void *table[SLOT_MAX], *before[SLOT_MAX];

	for (int i = 0; i < SLOT_MAX; i++)
		table[i] = before[i] = value_of(i);
	if (get(version, table) != ZE_RESULT_SUCCESS)
		printf("%s 1.%d failed\n", name, minor);
	printf("%s 1.%d:", name, minor);
	print_changed(table, before);
	memcpy(before, table, sizeof(table));
	get(version, table);
	printf("%s 1.%d again:", name, minor);
	print_changed(table, before);
}

static void ask_wrongly(getter_fn *get, const char *name)
{
	void *table[SLOT_MAX] = { NULL }, *before[SLOT_MAX] = { NULL };

	get((ze_api_version_t)ZE_MAKE_VERSION(1, NEWEST), table);
	printf("%s empty:", name);
	print_changed(table, before);
	for (int i = 0; i < SLOT_MAX; i++)
		table[i] = before[i] = value_of(i);
	printf("%s wrong: 0x%x 0x%x", name,
	       (unsigned int)get((ze_api_version_t)ZE_MAKE_VERSION(1, NEWEST), NULL),
	       (unsigned int)get((ze_api_version_t)ZE_MAKE_VERSION(2, 0), table));
	print_changed(table, before);
}

int main(int argc, char **argv)
{
	void *layer = argc > 1 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;

	if (!layer) {
		fprintf(stderr, "usage: %s LAYER.so GETTER... (%s)\n", argv[0],
			argc > 1 ? dlerror() : "");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		getter_fn *get = (getter_fn *)dlsym(layer, argv[i]);

		if (!get) {
			printf("missing %s\n", argv[i]);
			continue;
		}
		for (int minor = 0; minor <= NEWEST; minor++)
			ask(get, argv[i], minor);
		ask_wrongly(get, argv[i]);
	}
	return 0;
}
