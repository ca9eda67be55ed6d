/* test_symbol.c - addresses become functions, files and lines, and only the right ones. */
#include "symbol/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>

#include "symbol/demangle.h"

/* Folder that fixtures/symbol/build.sh filled, and one for what a test makes itself. */
static const char *fixtures;
static char scratch[] = "/tmp/test_symbol.XXXXXX";

/* The string stays until the end. */
static const char *in_folder(const char *folder, const char *name)
{
	static char paths[64][4096];
	char path[sizeof(paths[0])];
	size_t i = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	while (i < 63 && paths[i][0] && strcmp(paths[i], path) != 0)
		i++;
	return strcpy(paths[i], path);
}

static const char *fixture(const char *name)
{
	return in_folder(fixtures, name);
}

static void copy_file(const char *to, const char *from, size_t at_most)
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

/* The address, within the library, of the place from which `function` calls back. */
static uint64_t call_site(const char *library, const char *function)
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

static uint32_t line_of(const char *library, const char *constant)
{
	void *handle = dlopen(fixture(library), RTLD_NOW | RTLD_LOCAL);

	assert_non_null(handle);
	return *(const int *)dlsym(handle, constant);
}

struct build_id {
	uint8_t bytes[64];
	size_t size;
};

static struct build_id build_id_of(const char *path)
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

static struct subject subject_with(const struct gt_symbol_module *module,
				   const struct gt_symbol_options *options)
{
	struct subject s;

	assert_int_equal(gt_symbolizer_new(&s.symbolizer, options), 0);
	s.module = gt_symbolizer_module(s.symbolizer, module);
	assert_true(s.module >= 0);
	return s;
}

static struct subject subject_at(const char *path)
{
	return subject_with(&(struct gt_symbol_module){ .path = path }, NULL);
}

static void resolve(struct subject *s, uint64_t address)
{
	s->count = gt_symbolizer_resolve(s->symbolizer, s->module, address, &s->frames);
	assert_true(s->count >= 1);
}

static enum gt_symbol_state state_of(struct subject *s)
{
	return gt_symbolizer_state(s->symbolizer, s->module);
}

static void assert_ends_with(const char *text, const char *end)
{
	assert_non_null(text);
	assert_true(strlen(text) >= strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

static void assert_nothing_known(struct subject *s, uint64_t address)
{
	resolve(s, address);
	assert_int_equal(s->count, 1);
	assert_null(s->frames[0].function);
	assert_null(s->frames[0].file);
	assert_int_equal(s->frames[0].line, 0);
	assert_int_equal(s->frames[0].offset, address);
	assert_string_equal(s->frames[0].module,
			    gt_symbolizer_path(s->symbolizer, s->module));
}

/* The frames of "outer" as inline.c has them; `library` is the one that can be loaded. */
static void assert_outer_is_known(struct subject *s, const char *library)
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

static void inlined_frames_come_innermost_first(void **state)
{
	static const char *const libraries[] = {
		"libinline.so", "libinline4.so", "libcompressed.so", "libdwo.so",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct subject s = subject_at(fixture(libraries[i]));

		assert_outer_is_known(&s, libraries[i]);
		gt_symbolizer_free(s.symbolizer);
	}
}

static void static_functions_have_file_and_line(void **state)
{
	struct subject s = subject_at(fixture("libinline.so"));

	(void)state;
	resolve(&s, call_site("libinline.so", "reveal"));
	assert_int_equal(s.count, 1);
	assert_string_equal(s.frames[0].function, "hidden");
	assert_int_equal(s.frames[0].line, line_of("libinline.so", "hidden_line"));
	assert_false(s.frames[0].inlined);
	gt_symbolizer_free(s.symbolizer);
}

static void cxx_names_keep_scopes_and_lose_parameters(void **state)
{
	static const struct {
		const char *call, *name;
	} cases[] = {
		{ .call = "call_constructor", .name = "shapes::box<char, 7>::box" },
		{ .call = "call_template", .name = "shapes::box<double, 3>::store" },
		{ .call = "call_helper", .name = "shapes::(anonymous namespace)::helper" },
		{ .call = "call_draw", .name = "shapes::(anonymous namespace)::merged" },
	};
	struct subject s = subject_at(fixture("libshapes.so"));

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		resolve(&s, call_site("libshapes.so", cases[i].call));
		assert_string_equal(s.frames[0].function, cases[i].name);
		assert_ends_with(s.frames[0].file, "/shapes.cc");
	}
	assert_int_equal(s.count, 2);
	assert_true(s.frames[0].inlined);
	assert_string_equal(s.frames[1].function, "shapes::draw");
	gt_symbolizer_free(s.symbolizer);
}

static void cxx_names_come_from_the_symbol_table_too(void **state)
{
	struct subject s = subject_at(fixture("libshapesnames.so"));

	(void)state;
	resolve(&s, call_site("libshapes.so", "call_template"));
	assert_string_equal(s.frames[0].function, "shapes::box<double, 3>::store");
	resolve(&s, call_site("libshapes.so", "call_helper"));
	assert_string_equal(s.frames[0].function, "shapes::(anonymous namespace)::helper");
	gt_symbolizer_free(s.symbolizer);
}

static void a_symbol_table_gives_names_without_lines(void **state)
{
	struct subject s = subject_at(fixture("libnames.so"));

	(void)state;
	assert_int_equal(state_of(&s), GT_SYMBOL_NAMES);
	resolve(&s, call_site("libinline.so", "reveal"));
	assert_string_equal(s.frames[0].function, "hidden");
	assert_null(s.frames[0].file);
	resolve(&s, call_site("libinline.so", "outer"));
	assert_int_equal(s.count, 1);
	assert_string_equal(s.frames[0].function, "outer");
	gt_symbolizer_free(s.symbolizer);
}

static void a_stripped_library_still_names_what_it_exports(void **state)
{
	struct subject s = subject_at(fixture("libstripped.so"));

	(void)state;
	assert_int_equal(state_of(&s), GT_SYMBOL_NAMES);
	resolve(&s, call_site("libinline.so", "outer"));
	assert_string_equal(s.frames[0].function, "outer");
	assert_nothing_known(&s, call_site("libinline.so", "reveal"));
	gt_symbolizer_free(s.symbolizer);
}

/* The value of a symbol, as an ELF virtual address. */
static uint64_t symbol_value(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *section = NULL;
	uint64_t value = 0;
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_getdata(section, NULL);

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(data, i, &symbol); i++)
			if (!strcmp(elf_strptr(elf, header.sh_link, symbol.st_name), name))
				value = symbol.st_value;
	}
	elf_end(elf);
	close(fd);
	assert_true(value != 0);
	return value;
}

static void a_program_at_a_fixed_address_resolves(void **state)
{
	struct subject s = subject_at(fixture("program"));

	(void)state;
	resolve(&s, symbol_value(fixture("program"), "landmark"));
	assert_string_equal(s.frames[0].function, "landmark");
	assert_ends_with(s.frames[0].file, "/program.c");
	assert_true(s.frames[0].line > 0);
	gt_symbolizer_free(s.symbolizer);
}

static void a_stripped_program_leaves_module_and_offset(void **state)
{
	struct subject s = subject_at(fixture("programstripped"));

	(void)state;
	assert_int_equal(state_of(&s), GT_SYMBOL_NONE);
	assert_nothing_known(&s, symbol_value(fixture("program"), "landmark"));
	gt_symbolizer_free(s.symbolizer);
}

static void a_debug_file_beside_is_found_by_its_link(void **state)
{
	struct subject s = subject_at(fixture("libsplit.so"));

	(void)state;
	assert_outer_is_known(&s, "libinline.so");
	gt_symbolizer_free(s.symbolizer);
}

static void a_debug_file_without_build_id_is_found_by_its_checksum(void **state)
{
	const char *wrong = in_folder(scratch, "libnoidsplit.so");
	struct subject s = subject_at(fixture("libnoidsplit.so"));

	(void)state;
	assert_outer_is_known(&s, "libnoid.so");
	gt_symbolizer_free(s.symbolizer);

	copy_file(wrong, fixture("libnoidsplit.so"), SIZE_MAX);
	copy_file(in_folder(scratch, "libnoidsplit.debug"), fixture("libnoid.so"), SIZE_MAX);
	s = subject_at(wrong);
	assert_int_equal(state_of(&s), GT_SYMBOL_NAMES);
	gt_symbolizer_free(s.symbolizer);
}

/* FOLDER/.build-id/xx/yyyySUFFIX becomes a copy of `from`. */
static void copy_by_build_id(const char *folder, const char *from, const char *suffix)
{
	struct build_id id = build_id_of(from);
	char path[4096];
	int length;

	length = snprintf(path, sizeof(path), "%s/.build-id", folder);
	mkdir(path, 0700);
	length += sprintf(path + length, "/%02x", id.bytes[0]);
	mkdir(path, 0700);
	path[length++] = '/';
	for (size_t i = 1; i < id.size; i++)
		length += sprintf(path + length, "%02x", id.bytes[i]);
	strcpy(path + length, suffix);
	copy_file(path, from, SIZE_MAX);
}

static void a_debug_file_in_a_search_folder_is_found_by_build_id(void **state)
{
	const char *folder = in_folder(scratch, "search");
	const char *search[] = { folder, NULL };
	struct subject s;

	(void)state;
	mkdir(folder, 0700);
	copy_by_build_id(folder, fixture("libsplit.debug"), ".debug");
	s = subject_with(&(struct gt_symbol_module){ .path = fixture("libstripped.so") },
			 &(struct gt_symbol_options){ .search = search });
	assert_outer_is_known(&s, "libinline.so");
	gt_symbolizer_free(s.symbolizer);
}

static void a_moved_binary_is_found_in_a_search_folder(void **state)
{
	const char *search[] = { scratch, fixtures, NULL };
	struct build_id id = build_id_of(fixture("libinline.so"));
	struct gt_symbol_module module = {
		.path = "/nowhere/at/all/libinline.so",
		.build_id = id.bytes,
		.build_id_size = id.size,
	};
	struct subject s = subject_with(&module, &(struct gt_symbol_options){ .search = search });

	(void)state;
	assert_outer_is_known(&s, "libinline.so");
	gt_symbolizer_free(s.symbolizer);
}

static void a_rebuilt_binary_gives_no_names(void **state)
{
	struct build_id id = build_id_of(fixture("libinline.so"));
	struct gt_symbol_module module = {
		.path = fixture("librebuilt.so"),
		.build_id = id.bytes,
		.build_id_size = id.size,
	};
	struct subject s = subject_with(&module, NULL);

	(void)state;
	assert_int_equal(state_of(&s), GT_SYMBOL_CHANGED);
	assert_nothing_known(&s, call_site("librebuilt.so", "outer"));
	gt_symbolizer_free(s.symbolizer);
}

static void the_right_file_is_used_in_place_of_a_rebuilt_one(void **state)
{
	static const char *const suffixes[] = { "", ".debug" };
	struct build_id id = build_id_of(fixture("libinline.so"));
	struct gt_symbol_module module = {
		.path = fixture("librebuilt.so"),
		.build_id = id.bytes,
		.build_id_size = id.size,
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *folder = in_folder(scratch, i ? "as-debug" : "as-binary");
		const char *search[] = { folder, NULL };
		struct subject s;

		mkdir(folder, 0700);
		copy_by_build_id(folder, fixture(i ? "libsplit.debug" : "libinline.so"),
				 suffixes[i]);
		s = subject_with(&module, &(struct gt_symbol_options){ .search = search });
		assert_outer_is_known(&s, "libinline.so");
		gt_symbolizer_free(s.symbolizer);
	}
}

static void without_build_id_size_and_time_tell_files_apart(void **state)
{
	struct gt_symbol_module module = { .path = fixture("libnoid.so") };
	struct stat status;
	struct subject s;

	(void)state;
	assert_int_equal(stat(module.path, &status), 0);
	module.size_bytes = status.st_size;
	module.mtime_ns = status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec;
	s = subject_with(&module, NULL);
	assert_int_equal(state_of(&s), GT_SYMBOL_FULL);
	gt_symbolizer_free(s.symbolizer);

	module.mtime_ns++;
	s = subject_with(&module, NULL);
	assert_int_equal(state_of(&s), GT_SYMBOL_CHANGED);
	gt_symbolizer_free(s.symbolizer);

	module.mtime_ns = 0;
	module.size_bytes++;
	s = subject_with(&module, NULL);
	assert_int_equal(state_of(&s), GT_SYMBOL_CHANGED);
	gt_symbolizer_free(s.symbolizer);
}

static void paths_that_are_no_files_are_missing(void **state)
{
	const char *fifo = in_folder(scratch, "fifo");
	const char *paths[] = {
		"", "[vdso]", "[heap]", "//anon", "libinline.so", "./x", "/", "/dev/zero",
		"/dev/tty", "/nowhere/at/all", "/tmp", "/proc/self/fd/0/x", fifo,
	};

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct subject s = subject_at(paths[i]);

		assert_int_equal(state_of(&s), GT_SYMBOL_MISSING);
		assert_nothing_known(&s, 0x1234);
		gt_symbolizer_free(s.symbolizer);
	}
}

static void a_fifo_in_place_of_a_debug_file_is_passed_over(void **state)
{
	const char *library = in_folder(scratch, "libsplit.so");
	struct subject s;

	(void)state;
	copy_file(library, fixture("libsplit.so"), SIZE_MAX);
	assert_int_equal(mkfifo(in_folder(scratch, "libsplit.debug"), 0600), 0);
	s = subject_at(library);
	assert_int_equal(state_of(&s), GT_SYMBOL_NAMES);
	gt_symbolizer_free(s.symbolizer);
}

static void damaged_files_are_bad_and_give_no_names(void **state)
{
	const char *damaged = in_folder(scratch, "damaged.so");
	struct stat status;

	(void)state;
	assert_int_equal(stat(fixture("libinline.so"), &status), 0);
	for (off_t size = 0; size < status.st_size; size += size < 256 ? 1 : 509) {
		struct subject s;

		copy_file(damaged, fixture("libinline.so"), size);
		s = subject_at(damaged);
		assert_int_equal(state_of(&s), GT_SYMBOL_BAD);
		assert_nothing_known(&s, 0x1119);
		gt_symbolizer_free(s.symbolizer);
	}
}

static void text_is_no_elf_file(void **state)
{
	const char *path = in_folder(scratch, "text");
	FILE *out = fopen(path, "we");
	struct subject s;

	(void)state;
	fputs("#!/bin/sh\necho no library at all, though it is long enough for one\n", out);
	fclose(out);
	s = subject_at(path);
	assert_int_equal(state_of(&s), GT_SYMBOL_BAD);
	gt_symbolizer_free(s.symbolizer);
}

static void flipped_bytes_never_crash(void **state)
{
	const char *damaged = in_folder(scratch, "flipped.so");
	uint64_t address = call_site("libinline.so", "outer");
	struct stat status;
	unsigned int seed = 1;

	(void)state;
	assert_int_equal(stat(fixture("libinline.so"), &status), 0);
	for (int round = 0; round < 200; round++) {
		struct subject s;
		FILE *file;

		copy_file(damaged, fixture("libinline.so"), SIZE_MAX);
		file = fopen(damaged, "r+e");
		for (int i = 0; i < 24; i++) {
			fseek(file, rand_r(&seed) % status.st_size, SEEK_SET);
			putc(rand_r(&seed), file);
		}
		fclose(file);
		s = subject_at(damaged);
		for (int i = -64; i < 64; i++)
			resolve(&s, address + i);
		gt_symbolizer_free(s.symbolizer);
	}
}

/* A few kilobytes that stand for 2^40 functions and 16 million ranges (circles.s). */
static void debug_information_in_circles_is_walked_once(void **state)
{
	struct subject s = subject_at(fixture("libcircles.so"));

	(void)state;
	resolve(&s, 0x1010);
	assert_int_equal(s.count, 1);
	assert_string_equal(s.frames[0].function, "landmark");
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < 64 << 20);
	gt_symbolizer_free(s.symbolizer);
}

static void addresses_outside_the_module_are_unknown(void **state)
{
	struct subject s = subject_at(fixture("libinline.so"));

	(void)state;
	assert_nothing_known(&s, 0);
	assert_nothing_known(&s, UINT64_MAX);
	assert_nothing_known(&s, UINT64_C(1) << 47);
	gt_symbolizer_free(s.symbolizer);
}

static void a_second_query_gives_the_same_frames(void **state)
{
	struct subject s = subject_at(fixture("libinline.so"));
	uint64_t address = call_site("libinline.so", "outer");
	const struct gt_frame *first;

	(void)state;
	resolve(&s, address);
	first = s.frames;
	for (uint64_t i = 0; i < 100000; i++)
		resolve(&s, i);
	resolve(&s, address);
	assert_ptr_equal(s.frames, first);
	assert_string_equal(first[2].function, "outer");
	gt_symbolizer_free(s.symbolizer);
}

static void one_module_has_one_index(void **state)
{
	static const uint8_t ids[2][4] = { { 1, 2, 3, 4 }, { 1, 2, 3, 5 } };
	struct gt_symbol_module module = { .path = "/a", .build_id = ids[0], .build_id_size = 4 };
	struct gt_symbolizer *s;
	int first, other;

	(void)state;
	assert_int_equal(gt_symbolizer_new(&s, NULL), 0);
	first = gt_symbolizer_module(s, &module);
	assert_int_equal(gt_symbolizer_module(s, &module), first);
	module.build_id = ids[1];
	other = gt_symbolizer_module(s, &module);
	assert_int_not_equal(other, first);
	module.path = "/b";
	assert_int_not_equal(gt_symbolizer_module(s, &module), other);
	module.build_id_size = 1 << 20;
	assert_int_equal(gt_symbolizer_module(s, &module), -EINVAL);
	assert_string_equal(gt_symbolizer_path(s, other), "/a");
	gt_symbolizer_free(s);
}

/* Listens where DEBUGINFOD_URLS then points to. */
static int start_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	char url[64];
	int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(server, 8), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", scratch, 1);
	return server;
}

static void no_server_is_asked_unless_allowed(void **state)
{
	static const char *const paths[] = { "libstripped.so", "librebuilt.so", "no-such-file" };
	struct build_id id = build_id_of(fixture("libstripped.so"));
	int server = start_server();

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct gt_symbol_module module = {
			.path = fixture(paths[i]),
			.build_id = id.bytes,
			.build_id_size = id.size,
		};
		struct subject s = subject_with(&module, NULL);

		resolve(&s, 0x1119);
		gt_symbolizer_free(s.symbolizer);
	}
	assert_int_equal(accept(server, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	close(server);
	unsetenv("DEBUGINFOD_URLS");
}

static void names_are_demangled(void **state)
{
	static const struct {
		const char *mangled, *readable;
	} cases[] = {
		{ "main", "main" },
		{ "", "" },
		{ "_", "_" },
		{ "_Z", "_Z" },
		{ "_Z3foo_bar", "_Z3foo_bar" },
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "parse.part.0.cold", "parse" },
		{ ".hidden", ".hidden" },
		{ "_ZN2ns3fooEi", "ns::foo" },
		{ "_ZN2ns3fooEi.cold", "ns::foo" },
		{ "_ZNK2ns3foo3barEv", "ns::foo::bar" },
		{ "_ZN2ns3fooIiEEvT_", "ns::foo<int>" },
		{ "_ZN12_GLOBAL__N_16helperEv", "(anonymous namespace)::helper" },
		{ "_ZZN2ns3fooEiENKUliE_clEi", "ns::foo(int)::{lambda(int)#1}::operator()" },
		/* Rust, legacy: the hash goes */
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		  "3bar17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		/* Rust, v0 */
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_RNvMs0_NtCs5QSdWC790r4_7mycrate3fooNtB5_3Bar3baz.llvm.123",
		  "<mycrate::foo::Bar>::baz" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *readable = gt_name_demangle(cases[i].mangled);

		assert_string_equal(readable, cases[i].readable);
		free(readable);
	}
}

static void a_name_that_explodes_stays_mangled(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char mangled[512] = "_Z1f1bIiiE";
	char *readable = gt_name_demangle(mangled);

	(void)state;
	assert_string_equal(readable, "f");
	free(readable);
	/* each parameter is a pair of the one before: the last would be gigabytes */
	for (int i = 0; i < 32; i++)
		sprintf(mangled + strlen(mangled), "S_IS%c_S%c_E", digits[i], digits[i]);
	readable = gt_name_demangle(mangled);
	assert_string_equal(readable, mangled);
	free(readable);
}

static int remove_scratch(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command);
}

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_frames_come_innermost_first),
		cmocka_unit_test(static_functions_have_file_and_line),
		cmocka_unit_test(cxx_names_keep_scopes_and_lose_parameters),
		cmocka_unit_test(cxx_names_come_from_the_symbol_table_too),
		cmocka_unit_test(a_symbol_table_gives_names_without_lines),
		cmocka_unit_test(a_stripped_library_still_names_what_it_exports),
		cmocka_unit_test(a_program_at_a_fixed_address_resolves),
		cmocka_unit_test(a_stripped_program_leaves_module_and_offset),
		cmocka_unit_test(a_debug_file_beside_is_found_by_its_link),
		cmocka_unit_test(a_debug_file_without_build_id_is_found_by_its_checksum),
		cmocka_unit_test(a_debug_file_in_a_search_folder_is_found_by_build_id),
		cmocka_unit_test(a_moved_binary_is_found_in_a_search_folder),
		cmocka_unit_test(a_rebuilt_binary_gives_no_names),
		cmocka_unit_test(the_right_file_is_used_in_place_of_a_rebuilt_one),
		cmocka_unit_test(without_build_id_size_and_time_tell_files_apart),
		cmocka_unit_test(paths_that_are_no_files_are_missing),
		cmocka_unit_test(a_fifo_in_place_of_a_debug_file_is_passed_over),
		cmocka_unit_test(damaged_files_are_bad_and_give_no_names),
		cmocka_unit_test(text_is_no_elf_file),
		cmocka_unit_test(flipped_bytes_never_crash),
		cmocka_unit_test(debug_information_in_circles_is_walked_once),
		cmocka_unit_test(addresses_outside_the_module_are_unknown),
		cmocka_unit_test(a_second_query_gives_the_same_frames),
		cmocka_unit_test(one_module_has_one_index),
		cmocka_unit_test(no_server_is_asked_unless_allowed),
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(a_name_that_explodes_stays_mangled),
	};

	fixtures = argc > 1 ? argv[1] : getenv("GT_SYMBOL_FIXTURES");
	if (!fixtures || fixtures[0] != '/') {
		fprintf(stderr, "usage: test_symbol FIXTURES (absolute path)\n");
		return 99;
	}
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
