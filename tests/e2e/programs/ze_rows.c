/* SPDX-License-Identifier: MIT */
/*
 * ze_rows.c - calls every function that tests/fake/levelzero/rows.c makes from gputrack's table:
 * each row of the tools API and of the functions that are handed out by address.
 *
 * usage: ze_rows [--leak] LAYER.so DRIVER.so	through tables of version 1.18, and by address
 *        ze_rows [--leak] LOADER.so		functions that a loader exports, when a line has
 * been read
 *
 * Creations are followed by the ends of all that was created; --leak leaves out the ends. Prints a
 * line for each event: function, effect, and the handle.
 */
#include "ze_common.h"

#include "../../fake/levelzero/rows.h"

#define SLOT_MAX 96

enum { ARRAY = 2, KIND_ROOM = 16 };

/* One call: what its row needs, and what the call returns. */
struct turn {
	void *function;
	void *handle;             /* the resource that the call ends, or appends to */
	bool is_given;            /* argument `other` of IN_UNLESS */
	void *out, *array[ARRAY]; /* new handles */
	uint32_t count;
};

typedef ze_result_t getter_fn(ze_api_version_t version, void *table);

static void *layer, *driver_lib;
static bool leaks;

/* An address that stands for a device, a list or memory: nobody looks behind it. */
static char thing[64];

#define SET_IN(n)           n = (__typeof__(n))t->handle
#define SET_IN_UNLESS(n, u) (SET_IN(n), (u) = t->is_given ? (__typeof__(u))thing : NULL)
#define SET_OUT(n)          n = (__typeof__(n))&t->out
#define SET_OUTS_ALL(n, c)  (n = (__typeof__(n))t->array, t->count = ARRAY, (c) = &t->count)

#define ZEROES(...)    FOLD(ZERO_, _, __VA_ARGS__)
#define ZERO_(_, pair) ZERO__ pair
#define ZERO__(type, name)                                                                         \
	(type)                                                                                     \
	{                                                                                          \
		0                                                                                  \
	}

/* call_<function>: every argument is 0 but those that the handle column names. */
#define ROW(fn, effect, kind, handle_, ...)                                                        \
	static ze_result_t with_##fn(struct turn *t, PARAMS(__VA_ARGS__))                          \
	{                                                                                          \
		SET_##handle_;                                                                     \
		return ((ze_result_t(*)(PARAMS(__VA_ARGS__)))t->function)(NAMES(__VA_ARGS__));     \
	}                                                                                          \
	static ze_result_t call_##fn(struct turn *t)                                               \
	{                                                                                          \
		return with_##fn(t, ZEROES(__VA_ARGS__));                                          \
	}
#define FN(fn, ret, args, effect, kind, handle, size, owner)                                       \
	ROW_OF(fn, effect, kind, handle, UNWRAP args)
#define ALSO(...)
#include "api/levelzero_tools.def"
#include "api/levelzero_ext.def"
#undef ROW

enum effect { CREATE, DESTROY, APPEND };
enum how { IN, IN_UNLESS, OUT, OUTS_ALL };

#define HOW_IN(n)           IN
#define HOW_IN_UNLESS(n, u) IN_UNLESS
#define HOW_OUT(n)          OUT
#define HOW_OUTS_ALL(n, c)  OUTS_ALL

static const struct row {
	const char *name, *kind;
	enum effect effect;
	enum how how;
	ze_result_t (*call)(struct turn *t);
} rows[] = {
#define ROW(fn, effect, kind, handle, ...) { #fn, #kind, effect, HOW_##handle, call_##fn },
#include "api/levelzero_tools.def"
#include "api/levelzero_ext.def"
#undef ROW
};

static const struct {
	const char *table;
	int index;
	const char *function;
} slots[] = {
#define SLOT(table, index, minor, function) { #table, index, #function },
#include "capture/levelzero/slots.def"
#undef SLOT
};

/* What is alive, the latest last. */
static struct {
	const char *kind;
	void *handle;
} alive[64];
static unsigned alive_count;

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		fprintf(stderr, "%s: not exported\n", name);
	return found;
}

/* The function in a slot of a table, wrapped by the layer. */
static void *in_slot(const char *table, int index)
{
	const ze_api_version_t version = (ze_api_version_t)ZE_MAKE_VERSION(1, 18);
	void *found[SLOT_MAX] = { NULL };
	size_t prefix = table[2] == 't' ? 3 : 2;
	getter_fn *fill, *wrap;
	char getter[64];

	snprintf(getter, sizeof(getter), "%.*sGet%sProcAddrTable", (int)prefix, table,
		 table + prefix);
	fill = (getter_fn *)symbol(driver_lib, getter);
	wrap = (getter_fn *)symbol(layer, getter);
	if (!fill || !wrap || fill(version, found) || wrap(version, found))
		exit(1);
	return found[index];
}

static void *by_address(const char *name)
{
	__typeof__(zeDriverGetExtensionFunctionAddress) *get = in_slot("zeDriver", 5);
	__typeof__(zeDriverGet) *get_drivers = in_slot("zeDriver", 0);
	ze_driver_handle_t driver = NULL;
	uint32_t count = 1;
	void *function = NULL;

	ze_check(get_drivers(&count, &driver), "zeDriverGet", __FILE__, __LINE__);
	ze_check(get(driver, name, &function), name, __FILE__, __LINE__);
	return function;
}

static void *find(const char *name)
{
	if (!driver_lib)
		return symbol(layer, name);
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		if (!strcmp(slots[i].function, name))
			return in_slot(slots[i].table, slots[i].index);
	return by_address(name);
}

static void print(const struct row *row, const char *effect, void *handle)
{
	printf("%s %s 0x%llx\n", row->name, effect, (unsigned long long)(uintptr_t)handle);
}

static void add(const struct row *row, void *handle)
{
	print(row, "create", handle);
	alive[alive_count].kind = row->kind;
	alive[alive_count++].handle = handle;
}

static void create(const struct row *row, struct turn *t)
{
	t->handle = thing;
	ze_check(row->call(t), row->name, __FILE__, __LINE__);
	for (uint32_t i = 0; i < t->count; i++)
		add(row, t->array[i]);
	if (!t->count)
		add(row, row->how == OUT ? t->out : thing);
}

/* Ends everything of the row's kind. */
static void destroy(const struct row *row, struct turn *t)
{
	for (unsigned i = 0; i < alive_count; i++) {
		if (strcmp(alive[i].kind, row->kind) || !alive[i].handle)
			continue;
		t->handle = alive[i].handle;
		ze_check(row->call(t), row->name, __FILE__, __LINE__);
		print(row, "destroy", t->handle);
		alive[i].handle = NULL;
	}
}

static void use(const struct row *row)
{
	struct turn t = { .function = find(row->name) };

	if (!t.function)
		exit(1);
	if (row->effect == APPEND) {
		t.handle = thing;
		ze_check(row->call(&t), row->name, __FILE__, __LINE__);
	} else if (row->effect == CREATE || row->how == IN_UNLESS) {
		t.is_given = true;
		create(row, &t);
		t.is_given = false;
	}
	if (row->effect == DESTROY && !leaks)
		destroy(row, &t);
}

int main(int argc, char **argv)
{
	int first = 1;

	if (argc > 1 && !strcmp(argv[1], "--leak")) {
		leaks = true;
		first = 2;
	}
	if (argc - first != 1 && argc - first != 2)
		return ze_usage(argv[0], "[--leak] LAYER.so DRIVER.so | LOADER.so");
	layer = dlopen(argv[first], RTLD_LAZY | RTLD_LOCAL);
	driver_lib = argc - first == 2 ? dlopen(argv[first + 1], RTLD_LAZY | RTLD_LOCAL) : NULL;
	if (!layer || (argc - first == 2 && !driver_lib)) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	if (!driver_lib) {
		printf("ready\n");
		fflush(stdout);
		getchar();
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		use(&rows[i]);
	/* handed out, and not followed: each is told once; a query is not told at all */
	if (driver_lib)
		for (int i = 0; i < 2; i++) {
			by_address("zexTestCreate");
			by_address("ZE_extension_test");
			by_address("zexKernelGetBaseAddress");
		}
	return 0;
}
