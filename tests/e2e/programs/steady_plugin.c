/* SPDX-License-Identifier: MIT */
/* steady_plugin: a library that is loaded and unloaded by `steady`, with a stack of its own. */
__attribute__((visibility("default"))) void call(void (*function)(void));

void call(void (*function)(void))
{
	function();
	__asm__ volatile("");
}
