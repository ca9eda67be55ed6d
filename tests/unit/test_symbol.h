/* SPDX-License-Identifier: MIT */
/* test_symbol.h - for tests of symbols: the fixtures, and a symbolizer with one module of them. */
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>

#include "symbol/symbol.h"

/* The folder filled by fixtures/symbol/build.sh, and one for files made by tests. */
static const char *fixtures;
static char scratch[] = "/tmp/test_symbol.XXXXXX";

/* The string stays valid until the end. */
static inline const char *in_folder(const char *folder, const char *name)
{
	static char paths[64][4096];
	char path[sizeof(paths[0])];
	size_t i = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	while (i < 63 && paths[i][0] && strcmp(paths[i], path) != 0)
		i++;
	return strcpy(paths[i], path);
}

static inline const char *fixture(const char *name)
{
	return in_folder(fixtures, name);
}

static inline void copy_file(const char *to, const char *from, size_t at_most)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	int c;

	assert_non_null(in);
	assert_non_null(out);
	while (at_most-- && (c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	fclose(out);
}

static uintptr_t return_address;

static __attribute__((noinline)) void hit(void)
{
	return_address = (uintptr_t)__builtin_return_address(0);
}

/* The address within the library at which `function` calls back. */
static inline uint64_t call_site(const char *library, const char *function)
{
	void *handle = dlopen(fixture(library), RTLD_NOW | RTLD_LOCAL);
	void (*call)(void (*)(void));
	Dl_info info;

	assert_non_null(handle);
	*(void **)&call = dlsym(handle, function);
	assert_non_null(call);
	call(hit);
	assert_true(dladdr((void *)return_address, &info));
	return return_address - 1 - (uintptr_t)info.dli_fbase;
}

static inline uint32_t line_of(const char *library, const char *constant)
{
	void *handle = dlopen(fixture(library), RTLD_NOW | RTLD_LOCAL);

	assert_non_null(handle);
	return *(const int *)dlsym(handle, constant);
}

struct build_id {
	uint8_t bytes[64];
	size_t size;
};

static inline struct build_id build_id_of(const char *path)
{
	struct build_id id = { .size = 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const void *bytes;
	ssize_t size;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	size = dwelf_elf_gnu_build_id(elf, &bytes);
	if (size > 0) {
		memcpy(id.bytes, bytes, size);
		id.size = size;
	}
	elf_end(elf);
	close(fd);
	return id;
}

/* A symbolizer with one module, and the frames last asked for. */
struct subject {
	struct gt_symbolizer *symbolizer;
	int module;
	const struct gt_frame *frames;
	size_t count;
};

static inline struct subject subject_with(const struct gt_symbol_module *module,
					  const struct gt_symbol_options *options)
{
	struct subject s;

	assert_int_equal(gt_symbolizer_new(&s.symbolizer, options), 0);
	s.module = gt_symbolizer_module(s.symbolizer, module);
	assert_true(s.module >= 0);
	return s;
}

static inline struct subject subject_at(const char *path)
{
	return subject_with(&(struct gt_symbol_module){ .path = path }, NULL);
}

static inline void resolve(struct subject *s, uint64_t address)
{
	s->count = gt_symbolizer_resolve(s->symbolizer, s->module, address, &s->frames);
	assert_true(s->count >= 1);
}

static inline enum gt_symbol_state state_of(struct subject *s)
{
	return gt_symbolizer_state(s->symbolizer, s->module);
}

static inline void assert_ends_with(const char *text, const char *end)
{
	assert_non_null(text);
	assert_true(strlen(text) >= strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

static inline void assert_nothing_known(struct subject *s, uint64_t address)
{
	resolve(s, address);
	assert_int_equal(s->count, 1);
	assert_null(s->frames[0].function);
	assert_null(s->frames[0].file);
	assert_int_equal(s->frames[0].line, 0);
	assert_int_equal(s->frames[0].offset, address);
	assert_string_equal(s->frames[0].module, gt_symbolizer_path(s->symbolizer, s->module));
}

/* The frames of "outer" as inline.c has them; `library` is the one that can be loaded. */
static inline void assert_outer_is_known(struct subject *s, const char *library)
{
	static const char *const functions[] = { "innermost", "middle", "outer" };
	static const char *const lines[] = { "hit_line", "middle_line", "outer_line" };
	uint64_t address = call_site(library, "outer");

	resolve(s, address);
	assert_int_equal(s->count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(s->frames[i].function, functions[i]);
		assert_ends_with(s->frames[i].file, "/inline.c");
		assert_true(s->frames[i].file[0] == '/');
		assert_int_equal(s->frames[i].line, line_of(library, lines[i]));
		assert_int_equal(s->frames[i].inlined, i < 2);
		assert_int_equal(s->frames[i].offset, address);
	}
	assert_int_equal(state_of(s), GT_SYMBOL_FULL);
}

static inline int remove_scratch(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command);
}

static inline int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

/* False if their folder was not given. */
static inline bool find_fixtures(int argc, char **argv)
{
	fixtures = argc > 1 ? argv[1] : getenv("GT_SYMBOL_FIXTURES");
	if (fixtures && fixtures[0] == '/')
		return true;
	fprintf(stderr, "usage: %s FIXTURES (absolute path)\n", argv[0]);
	return false;
}
