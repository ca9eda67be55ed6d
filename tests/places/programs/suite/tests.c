/* SPDX-License-Identifier: MIT */
/* tests.c - three tests that leak a buffer each through the same helper. */
#include "helper.h"

static void test_copy(void)
{
	helper_buffer(4096);
}

static void test_fill(void)
{
	helper_buffer(8192);
}

static void test_map(void)
{
	helper_buffer(16384);
}

int main(void)
{
	test_copy();
	test_fill();
	test_map();
	return 0;
}
