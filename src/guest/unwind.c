/* unwind.c - the calling thread's stack as return addresses, through libunwind. */
#define UNW_LOCAL_ONLY
#include "guest/unwind.h"

#include <libunwind.h>

#include "trace/layout.h"

/* Frames of ours between the program and here: the door's wrapper and the recorder's functions. */
enum { OWN_MAX = 8 };

size_t gt_unwind(uint64_t *frames, size_t most, const void *caller)
{
	void *raw[GT_STACK_FRAMES_MAX + OWN_MAX];
	int count = unw_backtrace(raw, (int)most + OWN_MAX), first = 0;
	size_t kept = 0;

	while (first < count && first < OWN_MAX && raw[first] != caller)
		first++;
	/* without a way back to the caller no frames of ours can be told apart: keep the caller */
	if (first == count || first == OWN_MAX) {
		frames[0] = (uint64_t)(uintptr_t)caller;
		return 1;
	}
	for (int i = first; i < count && kept < most; i++)
		frames[kept++] = (uint64_t)(uintptr_t)raw[i];
	return kept;
}

void gt_unwind_forget(void)
{
	unw_flush_cache(unw_local_addr_space, 0, 0);
}
