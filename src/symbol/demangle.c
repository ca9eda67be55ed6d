/* SPDX-License-Identifier: MIT */
/* demangle.c - C++ (Itanium) and Rust (legacy and v0) names by way of libiberty. */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/mem.h"

/* A few mangled bytes can expand to gigabytes, which nobody would read. */
#define MAX_BYTES (256 * 1024)

struct output {
	char *text;
	size_t used, capacity;
	jmp_buf too_long;
};

static void append(const char *piece, size_t size, void *opaque)
{
	struct output *out = opaque;

	if (size > MAX_BYTES - out->used)
		longjmp(out->too_long, 1);
	if (out->capacity - out->used <= size) {
		out->capacity = 2 * (out->used + size) + 64;
		out->text = gt_realloc(out->text, out->capacity);
	}
	memcpy(out->text + out->used, piece, size);
	out->used += size;
	out->text[out->used] = '\0';
}

static void ignore(const char *piece, size_t size, void *opaque)
{
	struct output *out = opaque;

	(void)piece;
	if (size > MAX_BYTES - out->used)
		longjmp(out->too_long, 1);
	out->used += size;
}

static bool demangle_cxx(struct output *out, const char *name)
{
	/*
	 * Without DMGL_PARAMS the demangler stops where the parameters begin and accepts any
	 * tail; the first pass sees that all of the name is a mangled one.
	 */
	if (!cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, ignore, out))
		return false;
	out->used = 0;
	return cplus_demangle_v3_callback(name, DMGL_ANSI, append, out) != 0;
}

static bool demangle(struct output *out, const char *name)
{
	/* the demanglers work on the stack, so jumping out of them costs nothing */
	if (setjmp(out->too_long))
		return false;
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R' && name[1] != '_'))
		return false;
	/* Rust first: its legacy names are C++ names with a hash at the end */
	if (rust_demangle_callback(name, 0, append, out))
		return true;
	out->used = 0;
	return demangle_cxx(out, name);
}

/* The length of the name without what the compiler or the linker appended. */
static size_t plain_length(const char *name)
{
	static const char *const suffixes[] = {
		".cold", ".constprop.", ".isra.", ".llvm.", ".lto_priv.", ".part.", "@",
	};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const char *at = strstr(name, suffixes[i]);

		if (at && at != name && (size_t)(at - name) < length)
			length = at - name;
	}
	return length;
}

char *gt_name_demangle(const char *name)
{
	struct output out = { .text = NULL };
	char *plain = gt_strndup(name, plain_length(name));

	if (demangle(&out, plain) && out.text) {
		free(plain);
		return out.text;
	}
	free(out.text);
	return plain;
}
