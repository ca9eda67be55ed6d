/* SPDX-License-Identifier: MIT */
/* main.c - runs the stages. */
#include <stddef.h>

void stage_open(void);
void stage_macro(size_t bytes);
void stage_inline(size_t bytes);
void stage_nested(size_t bytes);

int main(void)
{
	stage_open();
	stage_macro(1 << 10);
	stage_inline(2 << 10);
	stage_nested(3 << 10);
	return 0;
}
