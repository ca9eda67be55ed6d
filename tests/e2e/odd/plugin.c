/* SPDX-License-Identifier: MIT */
/* plugin.c - a library that makes calls through a function it is given. */
void odd_plugin(void (*calls)(int));

void odd_plugin(void (*calls)(int))
{
	calls(3);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}
