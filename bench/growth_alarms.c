/* SPDX-License-Identifier: MIT */
/*
 * growth_alarms.c - how often growth is reported of programs that are clean, and of ones that leak.
 *
 *	growth_alarms [PROGRAMS]
 *
 * For each shape of tests/unit/growth_workloads.h, that many programs (default: 100), each once
 * clean and once with a slow leak.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../tests/unit/growth_workloads.h"

int main(int argc, char **argv)
{
	unsigned programs = argc > 1 ? (unsigned)atoi(argv[1]) : 100, alarms = 0, found = 0;

	printf("%-30s %14s %14s\n", "of each program's shape", "false alarms", "leaks found");
	for (size_t shape = 0; shape < CLEAN_WORKLOADS; shape++) {
		unsigned clean = 0, leaky = 0;

		for (uint64_t seed = 0; seed < programs; seed++) {
			clean += clean_grows(shape, seed);
			leaky += leaky_grows(shape, seed);
		}
		printf("%-30s %14u %14u\n", clean_workloads[shape].name, clean, leaky);
		alarms += clean;
		found += leaky;
	}
	programs *= CLEAN_WORKLOADS;
	printf("%-30s %14u %14u\nper 100 %22s %14.2f %14.2f\n", "all", alarms, found, "",
	       100.0 * alarms / programs, 100.0 * found / programs);
	return 0;
}
