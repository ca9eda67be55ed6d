/* SPDX-License-Identifier: MIT */
/* test_own.c - whose code a frame is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/jit_names.h"
#include "replay/own.h"

#define ROOT    "/home/me/project"
#define PROGRAM ROOT "/build/app"

struct row {
	struct gt_frame frame;
	bool own;
};

static void check(struct gt_own *o, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (gt_own_is(o, &rows[i].frame) != rows[i].own)
			fail_msg("row %zu: %s %s %s", i, rows[i].frame.function, rows[i].frame.file,
				 rows[i].frame.module);
	/* what is remembered is the same */
	for (size_t i = 0; i < count; i++)
		assert_int_equal(gt_own_is(o, &rows[i].frame), rows[i].own);
	gt_own_free(o);
}

static struct gt_own *own_of(const char *program, const char *folder)
{
	struct gt_own *o = gt_own_new(&(struct gt_own_rules){ 0 });

	gt_own_add_program(o, program, folder);
	return o;
}

static const char *file_of(struct gt_own *o, const char *file, const char *module)
{
	return gt_own_file(o,
			   &(struct gt_frame){ .function = "f", .file = file, .module = module });
}

#define CHECK(o, rows) check(o, rows, sizeof(rows) / sizeof *(rows))

static void code_below_the_folder_of_a_recording_is_own(void **state)
{
	static const struct row rows[] = {
		{ { "f", ROOT "/src/f.c", 1, PROGRAM, 0, false }, true },
		{ { "f", ROOT "/src/f.c", 1, "/usr/lib/libf.so", 0, false }, true },
		{ { "f", "/home/me/projects/f.c", 1, "/usr/lib/libf.so", 0, false }, false },
		{ { "f", NULL, 0, ROOT "/libf.so", 0, false }, true },
		{ { "f", NULL, 0, "/opt/vendor/lib/libf.so", 0, false }, false },
		{ { NULL, NULL, 0, PROGRAM, 16, false }, true },
		{ { NULL, NULL, 0, NULL, 16, false }, false },
		/* where it was built elsewhere, its module decides */
		{ { "f", "/build/app-1.0/f.c", 1, PROGRAM, 0, false }, true },
		{ { "f", "/usr/src/app-1.0/f.c", 1, PROGRAM, 0, false }, true },
		{ { "f", "src/f.c", 1, PROGRAM, 0, false }, true },
		{ { "f", "src/f.c", 1, "/usr/lib/libf.so", 0, false }, false },
	};

	CHECK(own_of(PROGRAM, ROOT), rows);
}

static void code_of_systems_packages_and_toolchains_is_a_librarys(void **state)
{
	static const struct row rows[] = {
		{ { "cl::Buffer::Buffer", "/usr/include/CL/opencl.hpp", 9, PROGRAM, 0, false },
		  false },
		{ { "f", "/opt/llvm/include/c++/v1/memory", 9, PROGRAM, 0, false }, false },
		{ { "std::vector<int>::push_back", NULL, 0, PROGRAM, 0, false }, false },
		{ { "f", "/rustc/abc/library/core/src/f.rs", 9, PROGRAM, 0, false }, false },
		{ { "f", "/home/me/.cargo/registry/src/x/f.rs", 9, PROGRAM, 0, false }, false },
		{ { "f", "/home/me/go/pkg/mod/x/f.go", 9, PROGRAM, 0, false }, false },
		{ { "f", "/usr/lib/go-1.19/src/runtime/f.go", 9, PROGRAM, 0, false }, false },
		{ { "main._Cfunc_f", "_cgo_gotypes.go", 9, PROGRAM, 0, false }, false },
		{ { "f", ROOT "/build/_deps/x-src/f.cpp", 9, PROGRAM, 0, false }, false },
		/* a distribution's static library, linked in */
		{ { "f", "/build/reproducible-path/gcc-12-12.2.0/f.d", 9, PROGRAM, 0, false },
		  false },
		{ { "f", "/build/ldc-aB3dE6/ldc-1.30.0/f.d", 9, PROGRAM, 0, false }, false },
		{ { "f", "/build/ldc-aB3dE6/other/f.d", 9, PROGRAM, 0, false }, true },
		{ { "f", ROOT "/.venv/x.so.c", 9, PROGRAM, 0, false }, false },
		{ { "f", NULL, 0, ROOT "/venv/lib/python3.11/site-packages/x.so", 0, false },
		  false },
	};

	CHECK(own_of(PROGRAM, ROOT), rows);
}

static void what_a_distribution_has_built_is_own_where_it_is_installed(void **state)
{
	static const struct row rows[] = {
		{ { "f", "/build/reproducible-path/app-1.0/f.c", 9, "/usr/bin/app", 0, false },
		  true },
		{ { "f", "/build/app-aB3dE6/app-1.0/f.c", 9, "/usr/bin/app", 0, false }, true },
	};

	CHECK(own_of("/usr/bin/app", "/home/me"), rows);
}

static void python_is_own_unless_it_was_installed(void **state)
{
	static const struct row rows[] = {
		{ { "step", ROOT "/loop.py", 1, GT_PYTHON, 0, false }, true },
		{ { "step", "/elsewhere/loop.py", 1, GT_PYTHON, 0, false }, true },
		{ { "run", "/usr/lib/python3.11/threading.py", 1, GT_PYTHON, 0, false }, false },
		{ { "run", "/opt/lib64/python3.12/x.py", 1, GT_PYTHON, 0, false }, false },
		{ { "run", "/usr/lib/python311.zip/x.py", 1, GT_PYTHON, 0, false }, false },
		{ { "run", "/x/site-packages/y/z.py", 1, GT_PYTHON, 0, false }, false },
		{ { "run", "/usr/lib/python3/dist-packages/z.py", 1, GT_PYTHON, 0, false }, false },
		{ { "run", ROOT "/venv/lib/python3.11/site-packages/z.py", 1, GT_PYTHON, 0, false },
		  false },
		{ { "run", ROOT "/python3/z.py", 1, GT_PYTHON, 0, false }, true },
		{ { "_find", "<frozen importlib._bootstrap>", 1, GT_PYTHON, 0, false }, false },
		{ { "<module>", "<string>", 1, GT_PYTHON, 0, false }, true },
		{ { "__create_fn__.<locals>.__init__", "<string>", 1, GT_PYTHON, 0, false },
		  false },
		{ { "step", NULL, 0, GT_PYTHON, 0, false }, true },
		/* the interpreter is nobody's own program */
		{ { "_PyEval", NULL, 0, "/usr/bin/python3.11", 0, false }, false },
		{ { "_PyEval", NULL, 0, "/usr/lib/libpython3.11.so.1.0", 0, false }, false },
	};

	CHECK(own_of("/usr/bin/python3.11", ROOT), rows);
}

static void compiled_code_is_own_unless_the_machine_brought_it(void **state)
{
	static const struct row rows[] = {
		{ { "step", "/elsewhere/main.js", 6, GT_JIT_MODULE, 1, false }, true },
		{ { "step", ROOT "/node_modules/x/x.js", 6, GT_JIT_MODULE, 1, false }, false },
		{ { "Module.load", "node:internal/loader", 6, GT_JIT_MODULE, 1, false }, false },
		{ { "julia_step_12", NULL, 0, GT_JIT_MODULE, 1, false }, true },
		{ { "java.util.List::of", NULL, 0, GT_JIT_MODULE, 1, false }, false },
		{ { NULL, NULL, 0, GT_JIT_MODULE, 1, false }, false },
	};

	CHECK(own_of("/usr/bin/node", ROOT), rows);
}

static void an_installed_program_is_own_and_its_neighbours_are_not(void **state)
{
	static const struct row rows[] = {
		{ { "main", NULL, 0, "/usr/bin/clinfo", 0, false }, true },
		{ { "f", NULL, 0, "/usr/bin/libf.so", 0, false }, false },
		{ { "f", NULL, 0, "/usr/lib/libf.so", 0, false }, false },
		{ { "f", "/usr/include/f.h", 3, "/usr/bin/clinfo", 0, false }, false },
	};

	CHECK(own_of("/usr/bin/clinfo", "/"), rows);
}

static void roots_and_patterns_overrule(void **state)
{
	static const char *const roots[] = { "/srv/mine", "/usr/lib/python3/dist-packages/mine",
					     NULL };
	static const char *const own[] = { "^vendor_*_mine$", NULL };
	static const char *const library[] = { "vendor", "/third_party/", NULL };
	static const struct row rows[] = {
		{ { "f", "/srv/mine/f.c", 1, "/usr/lib/libf.so", 0, false }, true },
		/* given roots replace the folder of the recording, not the program */
		{ { "f", ROOT "/f.c", 1, "/usr/lib/libf.so", 0, false }, false },
		{ { "f", ROOT "/f.c", 1, PROGRAM, 0, false }, true },
		{ { "f", "/usr/lib/python3/dist-packages/mine/x.py", 1, GT_PYTHON, 0, false },
		  true },
		{ { "f", "/srv/mine/third_party/f.c", 1, PROGRAM, 0, false }, false },
		{ { "vendor_f", "/srv/mine/f.c", 1, PROGRAM, 0, false }, false },
		{ { "vendor_f_mine", "/usr/include/f.h", 1, PROGRAM, 0, false }, true },
	};
	struct gt_own *o = gt_own_new(
		&(struct gt_own_rules){ .roots = roots, .own = own, .library = library });

	gt_own_add_program(o, PROGRAM, ROOT);
	assert_string_equal(file_of(o, "/srv/mine/a/f.c", PROGRAM), "a/f.c");
	assert_string_equal(file_of(o, ROOT "/f.c", PROGRAM), ROOT "/f.c");
	CHECK(o, rows);
}

static void a_program_that_is_known_changes_nothing(void **state)
{
	struct gt_own *o = own_of(PROGRAM, ROOT);
	const struct gt_frame frame = { "f", "/else/f.c", 1, "/else/app", 0, false };

	(void)state;
	assert_false(gt_own_add_program(o, PROGRAM, ROOT));
	assert_false(gt_own_is(o, &frame));
	assert_true(gt_own_add_program(o, "/else/app", ROOT));
	assert_true(gt_own_is(o, &frame));
	assert_false(gt_own_add_program(o, "/else/app", ROOT));
	assert_true(gt_own_add_program(o, PROGRAM, "/else"));
	gt_own_free(o);
}

static void paths_are_relative_to_the_root_or_to_where_a_build_moved_them(void **state)
{
	struct gt_own *o = own_of(PROGRAM, ROOT "/data");

	assert_string_equal(file_of(o, ROOT "/data/f.c", PROGRAM), "f.c");
	assert_string_equal(file_of(o, ROOT "/build/f.c", PROGRAM), "f.c");
	assert_string_equal(file_of(o, "/usr/src/app-1.0/a/f.c", PROGRAM), "a/f.c");
	assert_string_equal(file_of(o, "/builds/group/app/a/f.c", PROGRAM), "a/f.c");
	assert_string_equal(file_of(o, "./a/f.c", PROGRAM), "a/f.c");
	assert_string_equal(file_of(o, "/usr/src/f.c", PROGRAM), "/usr/src/f.c");
	assert_string_equal(file_of(o, "/else/f.c", PROGRAM), "/else/f.c");
	/* not those of a library */
	assert_string_equal(file_of(o, "/usr/src/x-1.0/f.c", "/usr/lib/x.so"),
			    "/usr/src/x-1.0/f.c");
	assert_null(file_of(o, NULL, PROGRAM));
	gt_own_free(o);
}

static void sources_lie_around_the_folder_that_they_are_built_in(void **state)
{
	static const struct {
		const char *program, *file, *relative;
	} cases[] = {
		{ PROGRAM, ROOT "/src/f.c", "src/f.c" },
		{ "/app/cmake-build-debug/bin/app", "/app/src/f.c", "src/f.c" },
		{ "/app/rebuild/app", "/app/src/f.c", "/app/src/f.c" },
		{ "/home/me/build/app", "/home/me/else/f.c", "/home/me/else/f.c" },
		{ "/build/app", "/else/f.c", "/else/f.c" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_own *o = own_of(cases[i].program, "");

		assert_string_equal(file_of(o, cases[i].file, cases[i].program), cases[i].relative);
		gt_own_free(o);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_below_the_folder_of_a_recording_is_own),
		cmocka_unit_test(code_of_systems_packages_and_toolchains_is_a_librarys),
		cmocka_unit_test(what_a_distribution_has_built_is_own_where_it_is_installed),
		cmocka_unit_test(python_is_own_unless_it_was_installed),
		cmocka_unit_test(compiled_code_is_own_unless_the_machine_brought_it),
		cmocka_unit_test(an_installed_program_is_own_and_its_neighbours_are_not),
		cmocka_unit_test(roots_and_patterns_overrule),
		cmocka_unit_test(a_program_that_is_known_changes_nothing),
		cmocka_unit_test(paths_are_relative_to_the_root_or_to_where_a_build_moved_them),
		cmocka_unit_test(sources_lie_around_the_folder_that_they_are_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
