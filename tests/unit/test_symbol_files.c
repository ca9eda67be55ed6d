/* SPDX-License-Identifier: MIT */
/* test_symbol_files.c - names come from the recorded file or not at all. */
#include "test_symbol.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

static void a_debug_file_beside_the_binary_is_found_by_its_link(void **state)
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

static void a_file_under_any_name_is_found_by_its_build_id(void **state)
{
	const char *folder = in_folder(scratch, "anywhere"), *deep = in_folder(folder, "a");
	const char *search[] = { folder, NULL };
	struct build_id id = build_id_of(fixture("libinline.so"));
	struct gt_symbol_module module = {
		.path = "/nowhere/at/all/libinline.so",
		.build_id = id.bytes,
		.build_id_size = id.size,
	};
	struct gt_symbol_options options = { .search = search };
	struct subject s;

	(void)state;
	mkdir(folder, 0700);
	mkdir(deep, 0700);
	/* neither a file that says nothing, nor a pipe, nor a link that leads back, is in the way
	 */
	copy_file(in_folder(deep, "0"), fixture("libnames.so"), SIZE_MAX);
	copy_file(in_folder(deep, "1"), fixture("libstripped.so"), SIZE_MAX);
	copy_file(in_folder(deep, "2"), fixture("librebuilt.so"), SIZE_MAX);
	copy_file(in_folder(deep, "3"), fixture("libinline.so"), 1000);
	assert_int_equal(mkfifo(in_folder(deep, "4"), 0600), 0);
	assert_int_equal(symlink(folder, in_folder(deep, "5")), 0);
	s = subject_with(&module, &options);
	assert_int_equal(state_of(&s), GT_SYMBOL_NAMES);
	gt_symbolizer_free(s.symbolizer);

	/* the program under one name, its debug file under another */
	copy_file(in_folder(deep, "x86.dbg"), fixture("libsplit.debug"), SIZE_MAX);
	s = subject_with(&module, &options);
	assert_outer_is_known(&s, "libinline.so");
	gt_symbolizer_free(s.symbolizer);
}

static void a_rebuilt_binary_provides_no_names(void **state)
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

static void the_original_file_is_used_instead_of_a_rebuilt_one(void **state)
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

static void without_build_id_size_and_time_identify_a_file(void **state)
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

static void paths_that_are_not_regular_files_are_missing(void **state)
{
	const char *fifo = in_folder(scratch, "fifo");
	/* clang-format off */
	const char *paths[] = {
		"", "[vdso]", "[heap]", "//anon", "libinline.so", "./x", "/", "/dev/zero",
		"/dev/tty", "/nowhere/at/all", "/tmp", "/proc/self/fd/0/x", fifo,
	};
	/* clang-format on */

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct subject s = subject_at(paths[i]);

		assert_int_equal(state_of(&s), GT_SYMBOL_MISSING);
		assert_nothing_known(&s, 0x1234);
		gt_symbolizer_free(s.symbolizer);
	}
}

static void a_fifo_in_place_of_a_debug_file_is_skipped(void **state)
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

static void damaged_files_are_bad_and_provide_no_names(void **state)
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

static void a_text_file_is_not_an_elf_file(void **state)
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

/* Listens at the address that DEBUGINFOD_URLS is set to. */
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_debug_file_beside_the_binary_is_found_by_its_link),
		cmocka_unit_test(a_debug_file_without_build_id_is_found_by_its_checksum),
		cmocka_unit_test(a_debug_file_in_a_search_folder_is_found_by_build_id),
		cmocka_unit_test(a_moved_binary_is_found_in_a_search_folder),
		cmocka_unit_test(a_file_under_any_name_is_found_by_its_build_id),
		cmocka_unit_test(a_rebuilt_binary_provides_no_names),
		cmocka_unit_test(the_original_file_is_used_instead_of_a_rebuilt_one),
		cmocka_unit_test(without_build_id_size_and_time_identify_a_file),
		cmocka_unit_test(paths_that_are_not_regular_files_are_missing),
		cmocka_unit_test(a_fifo_in_place_of_a_debug_file_is_skipped),
		cmocka_unit_test(damaged_files_are_bad_and_provide_no_names),
		cmocka_unit_test(a_text_file_is_not_an_elf_file),
		cmocka_unit_test(flipped_bytes_never_crash),
		cmocka_unit_test(no_server_is_asked_unless_allowed),
	};

	if (!find_fixtures(argc, argv))
		return 99;
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
