/* SPDX-License-Identifier: MIT */
/* demangle.c - C++ (Itanium), Rust (legacy and v0) and D names by way of libiberty; Fortran, Swift.
 */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/mem.h"
#include "symbol/swift_name.h"

/* A few mangled bytes can expand to gigabytes, which nobody would read. */
#define MAX_BYTES (256 * 1024)

enum { D_NAME_MAX = 4096, D_REFERENCES_MAX = 12 };

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

/* Without parameter lists: "app.Pool!(float).take(int)" is app.Pool!(float).take. */
static void append_without_parameters(struct output *out, const char *text)
{
	int depth = 0, hidden = 0;

	for (size_t i = 0; text[i]; i++) {
		if (text[i] == '(' && !depth++)
			hidden = !i || text[i - 1] != '!';
		if (!depth || !hidden)
			append(text + i, 1, out);
		if (text[i] == ')' && depth)
			depth--;
	}
}

static bool demangle_d(struct output *out, const char *name)
{
	size_t references = 0;
	char *text;

	/* each reference to an earlier part may double the text, which libiberty does not bound */
	for (const char *at = strchr(name, 'Q'); at; at = strchr(at + 1, 'Q'))
		references++;
	if (references > D_REFERENCES_MAX || strlen(name) > D_NAME_MAX)
		return false;
	text = dlang_demangle(name, 0);
	if (!text || strlen(text) >= MAX_BYTES) {
		free(text);
		return false;
	}
	append_without_parameters(out, text);
	free(text);
	return out->used > 0;
}

static size_t fortran_name_size(const char *name)
{
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

/* GNU's "__solver_MOD_advance", LLVM's "_QMsolverFadvancePstep": solver::advance::step. */
static bool demangle_fortran(struct output *out, const char *name)
{
	const char *procedure = strstr(name, "_MOD_");

	if (name[1] == '_' && procedure && procedure > name + 2 && procedure[5]) {
		append(name + 2, procedure - name - 2, out);
		append("::", 2, out);
		append(procedure + 5, strlen(procedure + 5), out);
		return true;
	}
	if (name[1] != 'Q')
		return false;
	for (name += 2; *name && strchr("MSFP", *name); name += 1 + fortran_name_size(name + 1)) {
		if (out->used)
			append("::", 2, out);
		append(name + 1, fortran_name_size(name + 1), out);
	}
	return !*name && out->used;
}

static bool demangle(struct output *out, const char *name)
{
	/* what the demanglers hold when append() jumps out of them lies on the stack */
	if (setjmp(out->too_long))
		return false;
	if (name[0] != '_')
		return false;
	if (name[1] == 'D')
		return demangle_d(out, name);
	if (name[1] == 'Q' || (name[1] == '_' && strstr(name, "_MOD_")))
		return demangle_fortran(out, name);
	if (name[1] != 'Z' && name[1] != 'R' && name[1] != '_')
		return false;
	/* Rust first: its legacy names are C++ names with a hash at the end */
	if (rust_demangle_callback(name, 0, append, out))
		return true;
	out->used = 0;
	return demangle_cxx(out, name);
}

/* The size of ".0", which GCC appends to nested functions: C names have no other dot. */
static size_t nested_suffix(const char *name, size_t length)
{
	const char *dot = memchr(name, '.', length);
	size_t digits = dot ? strspn(dot + 1, "0123456789") : 0;

	return digits && dot > name && dot + 1 + digits == name + length ? digits + 1 : 0;
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
	return length - nested_suffix(name, length);
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
	out.text = gt_swift_name(plain);
	if (!out.text)
		return plain;
	free(plain);
	return out.text;
}
