/* SPDX-License-Identifier: MIT */
/* test_demangle.c - names as written in the source. */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
		/* D, as gdc 12 writes them */
		{ "_D3app4main5innerFiZv", "app.main.inner" },
		{ "_D3app4main__T5ModelTfZQj4stepMFiZv", "app.main.Model!(float).Model.step" },
		{ "_D3app4main__T5ModelTfZQj4stepMFiZ9__lambda2FiZv",
		  "app.main.Model!(float).Model.step.__lambda2" },
		{ "_Dmain", "D main" },
		{ "_D", "_D" },
		{ "_DYNAMIC", "_DYNAMIC" },
		/* Swift: module, types and function */
		{ "$s4main3runyyF", "main.run" },
		{ "$s4main4PoolC4take5countySi_tF", "main.Pool.take" },
		{ "$s4main4PoolC4sizeSivg", "main.Pool.size" },
		{ "_$s4main4PoolV5InnerO4takeyyF", "main.Pool.Inner.take" },
		{ "$s4main4PoolC4takeyyFyycfU_", "main.Pool.take" },
		{ "$s4main4PoolC4size5countACSi_SitcfC", "main.Pool.init" },
		{ "$s4main4PoolCfD", "main.Pool.deinit" },
		{ "$s4main4take33_0123456789ABCDEF0123456789ABCDEFLLyyF", "main.take" },
		{ "$s9GpuMemory0aB4PoolC4makeyyF", "GpuMemory.GpuMemoryPool.make" },
		{ "$s9GpuMemory4PoolC0B7LeakingyyF", "GpuMemory.Pool.MemoryLeaking" },
		{ "$s4main4PoolC5otherE4growyyF", "main.Pool.grow" },
		{ "$ss5print_9separatoryypd_SStF", "Swift.print" },
		{ "$s", "$s" },
		{ "$s99main", "$s99main" },
		{ "$s4main0Z", "$s4main0Z" },
		{ "$sSo8NSObjectC", "$sSo8NSObjectC" },
		{ "$scratch", "$scratch" },
		/* Fortran, of GNU's and LLVM's compiler */
		{ "__solver_MOD_allocate_grid", "solver::allocate_grid" },
		{ "__solver_MOD_allocate_grid.constprop.0", "solver::allocate_grid" },
		{ "one_step.0", "one_step" },
		{ "__MOD_x", "__MOD_x" },
		{ "__a_MOD_", "__a_MOD_" },
		{ "_QMsolverFadvancePone_step", "solver::advance::one_step" },
		{ "_QPsolve", "solve" },
		{ "_QMsolverX", "_QMsolverX" },
		{ "_QQmain", "_QQmain" },
		/* Go: as it is in the symbol table */
		{ "main.(*Trainer).Step", "main.(*Trainer).Step" },
		{ "main.main.func1.2", "main.main.func1.2" },
		{ "main.2", "main" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *readable = gt_name_demangle(cases[i].mangled);

		assert_string_equal(readable, cases[i].readable);
		free(readable);
	}
}

static void a_name_that_demangles_to_a_huge_text_stays_mangled(void **state)
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

/* A function of D whose parameters are each an array of two of the one before. */
static void d_name(char *mangled, int doublings)
{
	strcpy(mangled, "_D1fFHiiHQeQg");
	for (int i = 1; i < doublings; i++)
		strcat(mangled, "HQgQi");
	strcat(mangled, "Zv");
}

static void a_name_of_d_that_may_become_huge_stays_mangled(void **state)
{
	char mangled[256], *readable;

	(void)state;
	d_name(mangled, 6);
	readable = gt_name_demangle(mangled);
	assert_string_equal(readable, "f");
	free(readable);
	d_name(mangled, 13);
	readable = gt_name_demangle(mangled);
	assert_string_equal(readable, mangled);
	free(readable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(a_name_that_demangles_to_a_huge_text_stays_mangled),
		cmocka_unit_test(a_name_of_d_that_may_become_huge_stays_mangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
