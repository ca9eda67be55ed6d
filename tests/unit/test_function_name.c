/* SPDX-License-Identifier: MIT */
/* test_function_name.c - names of functions made short enough to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/function_name.h"

static void places_leave_out_what_differs_between_instances(void **state)
{
	static const struct {
		const char *name, *expected;
	} cases[] = {
		{ "main", "main" },
		{ "", "" },
		{ "store::Tile<3>::reserve", "store::Tile::reserve" },
		{ "gpu::Buffer<float, gpu::Place<gpu::device, 256> >::Buffer",
		  "gpu::Buffer::Buffer" },
		{ "make<int>", "make" },
		{ "render::operator<< <render::Pass<4>, int>", "render::operator<<" },
		{ "A::operator<<int>", "A::operator<<int>" },
		{ "A<int>::operator->", "A::operator->" },
		{ "A<int>::operator()<long>(long) const", "A::operator()" },
		{ "(anonymous namespace)::Pool<float>::take[abi:cxx11](int)", "Pool::take" },
		{ "a::(anonymous namespace)::f(int, char**)", "a::f" },
		{ "{anonymous}::f", "f" },
		{ "std::__cxx11::basic_string<char>::append", "std::basic_string::append" },
		{ "std::__1::vector<int>::push_back", "std::vector::push_back" },
		{ "f(int) [clone .isra.0]", "f" },
		{ "A::get(int) const&", "A::get" },
		/* lambdas and closures belong to their function */
		{ "main::{lambda(int)#1}::operator()(int) const", "main::{lambda}" },
		{ "main::{lambda()#2}::_FUN", "main::{lambda}::_FUN" },
		{ "main()::<lambda(int)>", "main::{lambda}" },
		{ "run(A<int>&)::$_0::operator()() const", "run::{lambda}" },
		{ "app::run::{{closure}}::h0123456789abcdef", "app::run::{{closure}}" },
		{ "app::run::{closure#0}", "app::run::{{closure}}" },
		{ "main::(anonymous class)::operator()", "main::{lambda}" },
		/* Python and Go */
		{ "main.<locals>.step.<locals>.<lambda>", "main.step.<lambda>" },
		{ "main.<listcomp>", "main.<listcomp>" },
		{ "main.(*Pool).take", "main.(*Pool).take" },
		{ "main.main.func1", "main.main.func1" },
		/* Fortran */
		{ "__solver_MOD_allocate_grid", "solver::allocate_grid" },
		/* Go, D */
		{ "main.(*Trainer).Step.func1", "main.(*Trainer).Step.func1" },
		{ "app.Pool!(float).Pool.take", "app.Pool.Pool.take" },
		/* Rust */
		{ "app::load::h0123456789abcdef", "app::load" },
		{ "app::head", "app::head" },
		{ "app::Tensor<T>::zeros::<f32>", "app::Tensor::zeros" },
		{ "<app::Pool<T> as app::Allocate>::take", "<app::Pool as app::Allocate>::take" },
		/* nothing is lost where brackets are not closed */
		{ "f<int", "f<int" },
		{ "f(int", "f(int" },
		{ "<module>", "<module>" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *brief = gt_function_short(cases[i].name);

		assert_string_equal(brief, cases[i].expected);
		free(brief);
	}
}

/* A quarter of a megabyte took minutes when every bracket was looked for to the end of the name. */
static void long_names_take_no_longer_than_their_length(void **state)
{
	static const char *const pieces[] = { "a<", "a(", "{lambda(", "<lambda(", "a<b>", "::h" };
	enum { BYTES = 1 << 18 };

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		size_t size = strlen(pieces[i]), count = BYTES / size;
		char *name = malloc(count * size + 1), *brief;

		for (size_t k = 0; k < count; k++)
			strcpy(name + k * size, pieces[i]);
		brief = gt_function_short(name);
		if (strchr(pieces[i], '>'))
			assert_int_equal(strlen(brief), count);
		else
			assert_string_equal(brief, name);
		free(brief);
		free(name);
	}
}

static void a_tail_is_the_function_and_its_class(void **state)
{
	assert_string_equal(gt_function_tail("main"), "main");
	assert_string_equal(gt_function_tail("A::f"), "A::f");
	assert_string_equal(gt_function_tail("c10::cuda::Cache::take"), "Cache::take");
	assert_string_equal(gt_function_tail("<a::B as c::D>::f"), "<a::B as c::D>::f");
	assert_string_equal(gt_function_tail("cv::Mat::copyTo"), "cv::Mat::copyTo");
	assert_string_equal(gt_function_tail("a::b::c::{lambda}"), "c::{lambda}");
	assert_string_equal(gt_function_tail("a::"), "a::");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_leave_out_what_differs_between_instances),
		cmocka_unit_test(long_names_take_no_longer_than_their_length),
		cmocka_unit_test(a_tail_is_the_function_and_its_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
