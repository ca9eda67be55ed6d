#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""names.py - writes C for names.sh: unit FUNCTIONS [PREFIX], or main UNITS FUNCTIONS

`unit` is a source whose functions have inlined ones and types of their own; their names begin with PREFIX. `main`
creates an event in the first functions of each unit, whose prefixes are c0_, c1_, …
"""
import sys

UNIT = """static inline __attribute__((always_inline)) int inner{n}(struct s{s} *p, int n)
{{
	int sum{n} = 0;
	for (int i{n} = 0; i{n} < n; i{n}++)
		sum{n} += p ? p->a{s} : i{n};
	return sum{n};
}}
int {prefix}f{n}(void (*call)(void), struct s{s} *p)
{{
	int a = inner{n}(p, 3), b = inner{n}(p, a);
	if (call)
		call();
	return a + b;
}}"""
MAIN = """#include <dlfcn.h>
#include <stdlib.h>
static int (*create)(void **, unsigned);
static void make(void)
{{
	void *event;

	if (create(&event, 0))
		exit(1);
}}
{declarations}
int main(void)
{{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
	int sum = 0;

	*(void **)&create = dlsym(driver, "cuEventCreate");
	((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
	((int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0);
	((int (*)(void *))dlsym(driver, "cuCtxSetCurrent"))(context);
{calls}
	return sum == 1;
}}"""
TYPES = 200


def main():
    if sys.argv[1] == "unit":
        for s in range(TYPES):
            print(f"struct s{s} {{ int a{s}; char *name{s}; struct s{s} *next; double values[{s + 1}]; }};")
        for n in range(int(sys.argv[2])):
            print(UNIT.format(n=n, s=n % TYPES, prefix=(sys.argv + [""])[3]))
        return
    names = [f"c{unit}_f{n}" for unit in range(int(sys.argv[2])) for n in range(int(sys.argv[3]))]
    print(MAIN.format(declarations="\n".join(f"int {name}(void (*)(void), void *);" for name in names),
                      calls="\n".join(f"\tsum += {name}(make, 0);" for name in names)))


main()
