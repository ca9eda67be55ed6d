/* SPDX-License-Identifier: MIT */
/* plain.c - a program without a GPU and, linked statically, without a dynamic loader. */
#include <stdio.h>

int main(int argc, char **argv)
{
	(void)argv;
	printf("plain, %d arguments\n", argc - 1);
	return 17;
}
