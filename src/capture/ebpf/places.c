/* SPDX-License-Identifier: MIT */
/* places.c - where the resources of traced processes live, by name. */
#include "capture/ebpf/places.h"

#include <stdio.h>
#include <string.h>

uint16_t gt_places_number(struct gt_places *p, enum gt_api api, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].api == api && !strcmp(p->list[i].name, name))
			return (uint16_t)(i + 1);
	if (p->count == GT_PLACES_MAX)
		return 0;
	p->list[p->count].api = api;
	snprintf(p->list[p->count].name, sizeof p->list[p->count].name, "%s", name);
	return (uint16_t)++p->count;
}

uint16_t gt_places_device(struct gt_places *p, int device)
{
	char name[GT_PLACE_NAME];

	if (!p->has_looked && p->look)
		p->look(&p->gpus);
	p->has_looked = true;
	if (device == GT_CONTEXTS_ANY && p->gpus.count == 1)
		device = 0;
	if (device < 0)
		return 0;
	snprintf(name, sizeof name, "GPU %d: %.39s", device,
		 *p->gpus.name ? p->gpus.name : "CUDA device");
	return gt_places_number(p, GT_CUDA, name);
}

const struct gt_place_entry *gt_places_get(const struct gt_places *p, uint16_t place)
{
	return place && place <= p->count ? &p->list[place - 1] : NULL;
}
