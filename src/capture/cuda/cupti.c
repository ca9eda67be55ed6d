/* SPDX-License-Identifier: MIT */
/* cupti.c - loads CUPTI's functions from the first library that has them. */
#include "capture/cuda/subscriber.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "capture/cuda/find_cupti.h"

static bool take_functions(struct gt_cupti *cupti, void *library)
{
	static const struct {
		const char *name;
		size_t at;
	} functions[] = {
		{ "cuptiSubscribe", offsetof(struct gt_cupti, subscribe) },
		{ "cuptiEnableCallback", offsetof(struct gt_cupti, enable) },
		{ "cuptiGetDeviceId", offsetof(struct gt_cupti, device_of) },
		{ "cuptiGetResultString", offsetof(struct gt_cupti, text_of) },
	};
	struct link_map *map;

	*(void **)&cupti->subscribe_v2 = dlsym(library, "cuptiSubscribe_v2");
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found)
			return false;
		memcpy((char *)cupti + functions[i].at, &found, sizeof found);
	}
	cupti->path[0] = '\0';
	if (!dlinfo(library, RTLD_DI_LINKMAP, &map))
		snprintf(cupti->path, sizeof cupti->path, "%s", map->l_name);
	return true;
}

bool gt_cupti_load(struct gt_cupti *cupti, unsigned *next)
{
	void *library;

	while ((library = gt_cupti_find(next)))
		if (take_functions(cupti, library))
			return true;
	return false;
}
