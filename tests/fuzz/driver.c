/* SPDX-License-Identifier: MIT */
/*
 * driver.c - runs a fuzz target without libFuzzer: given inputs, then random changes of them.
 *
 *	fuzz_trace [--runs N] [--seed S] FILE|FOLDER…
 *
 * The same seed makes the same changes, so a failure is reproduced by its seed and number.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { INPUT_MAX = 64 << 10 };

#pragma weak LLVMFuzzerCustomMutator

struct input {
	uint8_t *data;
	size_t size;
};

static struct input *inputs;
static size_t input_count;
static uint64_t state = 1;

static uint32_t random_below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return limit ? (uint32_t)(state >> 16) % limit : 0;
}

static void put_interesting(uint8_t *data, size_t size)
{
	static const uint64_t values[] = { 0,          1,         0x7f,       0x80,
					   0xff,       0x3fff,    0xffff,     INT32_MAX,
					   UINT32_MAX, INT64_MAX, UINT64_MAX, 0x8080808080808080u };
	uint64_t value = values[random_below(sizeof values / sizeof *values)];
	size_t width = (size_t)1 << random_below(4);

	if (size >= width)
		memcpy(data + random_below((uint32_t)(size - width + 1)), &value, width);
}

static size_t remove_some(uint8_t *data, size_t size)
{
	size_t from = random_below((uint32_t)size), some = 1 + random_below(8);

	if (some > size - from)
		some = size - from;
	memmove(data + from, data + from + some, size - from - some);
	return size - some;
}

static size_t insert_some(uint8_t *data, size_t size, size_t max_size)
{
	size_t at = random_below((uint32_t)size + 1), some = 1 + random_below(8);

	if (size + some > max_size)
		return size;
	memmove(data + at + some, data + at, size - at);
	for (size_t i = 0; i < some; i++)
		data[at + i] = (uint8_t)random_below(256);
	return size + some;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	if (!size)
		return insert_some(data, size, max_size);
	switch (random_below(6)) {
	case 0: data[random_below((uint32_t)size)] ^= (uint8_t)(1u << random_below(8)); break;
	case 1: data[random_below((uint32_t)size)] = (uint8_t)random_below(256); break;
	case 2: put_interesting(data, size); break;
	case 3: return remove_some(data, size);
	case 4: return insert_some(data, size, max_size);
	default: {
		size_t from = random_below((uint32_t)size), to = random_below((uint32_t)size);
		size_t most = size - (from > to ? from : to);

		memmove(data + to, data + from, random_below((uint32_t)most + 1));
	}
	}
	return size;
}

static bool add_file(const char *path)
{
	struct input in = { .data = malloc(INPUT_MAX) };
	FILE *file = fopen(path, "re");

	FUZZ_CHECK(in.data);
	if (!file) {
		perror(path);
		free(in.data);
		return false;
	}
	in.size = fread(in.data, 1, INPUT_MAX, file);
	fclose(file);
	inputs = realloc(inputs, (input_count + 1) * sizeof *inputs);
	FUZZ_CHECK(inputs);
	inputs[input_count++] = in;
	return true;
}

static int is_plain(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool add(const char *path)
{
	struct dirent **entries;
	struct stat st;
	int count;
	bool good = true;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return add_file(path);
	count = scandir(path, &entries, is_plain, alphasort);
	for (int i = 0; i < count; i++) {
		char *inside = NULL;

		FUZZ_CHECK(asprintf(&inside, "%s/%s", path, entries[i]->d_name) > 0);
		good = add_file(inside) && good;
		free(inside);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return good && count > 0;
}

static void run_changed(void)
{
	const struct input *from = &inputs[random_below((uint32_t)input_count)];
	uint8_t *data = malloc(INPUT_MAX), *exact;
	size_t size = from->size;

	FUZZ_CHECK(data);
	memcpy(data, from->data, size);
	for (uint32_t i = 1 + random_below(4); i; i--)
		size = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(data, size, INPUT_MAX,
									 random_below(UINT32_MAX)) :
						 LLVMFuzzerMutate(data, size, INPUT_MAX);
	/* exactly as much as there is, so that a byte too far is seen */
	exact = malloc(size ? size : 1);
	FUZZ_CHECK(exact);
	memcpy(exact, data, size);
	free(data);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

int main(int argc, char **argv)
{
	unsigned long runs = 0, seed = 1;
	bool good = true;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--runs") && i + 1 < argc)
			runs = strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			seed = strtoul(argv[++i], NULL, 10);
		else
			good = add(argv[i]) && good;
	}
	if (!good || !input_count) {
		fprintf(stderr, "usage: %s [--runs N] [--seed S] FILE|FOLDER...\n", argv[0]);
		return 2;
	}
	state = seed * 0x9e3779b97f4a7c15u + 1;
	for (size_t i = 0; i < input_count; i++)
		LLVMFuzzerTestOneInput(inputs[i].data, inputs[i].size);
	for (unsigned long i = 0; i < runs; i++)
		run_changed();
	printf("%zu inputs and %lu changes of them\n", input_count, runs);
	for (size_t i = 0; i < input_count; i++)
		free(inputs[i].data);
	free(inputs);
	return 0;
}
