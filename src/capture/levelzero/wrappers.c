/* wrappers.c - one wrapper per row of levelzero.def, and the slots they go into. */
#include <string.h>

#include "capture/levelzero/levelzero.h"

#define TYPE_STATUS(type) type
#define TYPE_STATUS_ANY(type) type
#define FN(fn, ret, args, ...) FN_(fn, ret, UNWRAP args)
#define FN_(...) FN__(__VA_ARGS__)
#define FN__(fn, ret, ...)                                            \
	static TYPE_##ret (*next_##fn)(PARAMS(__VA_ARGS__));          \
	GT_WRAP(&gt_ze_door, ret, fn, next_##fn, __VA_ARGS__)
#define ALSO(...)
#include "api/levelzero.def"
#undef FN
#undef ALSO

_Static_assert(offsetof(ze_physical_mem_desc_t, size) == 24, "levelzero.def: zePhysicalMemCreate");

static const struct slot {
	const char *table;
	uint32_t index, minor;
	void *wrapper, *next; /* next: a pointer to the function pointer below */
} slots[] = {
#define SLOT(table, index, minor, fn) \
	{ #table, index, minor, (void *)wrap_##fn, (void *)&next_##fn },
#include "capture/levelzero/slots.def"
#undef SLOT
};

void gt_ze_wrap_table(const char *table, ze_api_version_t version, void **functions)
{
	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
		const struct slot *s = &slots[i];
		void **function = &functions[s->index];

		/* a table may be shown to us again, with our wrappers in it */
		if (strcmp(s->table, table) || (uint32_t)version < ZE_MAKE_VERSION(1, s->minor) ||
		    !*function || *function == s->wrapper)
			continue;
		memcpy(s->next, function, sizeof *function);
		*function = s->wrapper;
	}
}
