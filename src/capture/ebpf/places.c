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

/* The entry of a driver; -1 if there are too many. */
static int driver_at(struct gt_platforms *f, uint64_t driver)
{
	size_t at = 0;

	while (at < f->count && f->list[at].driver != driver)
		at++;
	if (at == GT_PROBE_PLATFORMS)
		return -1;
	if (at == f->count) {
		f->list[at].driver = driver;
		f->list[at].place = f->list[at].count = 0;
		f->count++;
	}
	return (int)at;
}

static void take_list(struct gt_platforms *f, const struct gt_probe_call *c,
		      const uint64_t *drivers)
{
	const uint64_t *count_at = &c->words[2], *room = &c->words[0];

	/* without a pointer for their number, a list of one says nothing about others */
	f->is_listed = c->array == c->array_count && c->array <= GT_PROBE_PLATFORMS &&
		       c->array <= (uint32_t)*room && (*count_at || c->array > 1);
	for (size_t i = 0; i < f->count; i++)
		f->list[i].count = 0;
	for (size_t i = 0; i < c->array && i < GT_PROBE_PLATFORMS; i++) {
		int at = drivers[i] ? driver_at(f, drivers[i]) : -1;

		if (at >= 0)
			f->list[at].count++;
	}
}

static void take_name(struct gt_platforms *f, struct gt_places *p, const struct gt_probe_call *c)
{
	enum { CL_PLATFORM_NAME = 0x0902 };
	char name[sizeof c->copies + 1] = "";
	int at;

	if ((uint32_t)c->words[1] != CL_PLATFORM_NAME || !c->words[2] || !c->current)
		return;
	memcpy(name, c->copies, sizeof c->copies);
	/* no longer than the program's own room for it */
	if (c->words[2] < sizeof name)
		name[c->words[2]] = '\0';
	at = driver_at(f, c->current);
	if (at >= 0 && *name)
		f->list[at].place = gt_places_number(p, GT_OPENCL, name);
}

void gt_platforms_take(struct gt_platforms *f, struct gt_places *p, const struct gt_probe_call *c,
		       const uint64_t *array)
{
	if ((uint32_t)c->ret)
		return;
	if (c->row == GT_PROBE_ASKED + GT_ASKED_PLATFORMS)
		take_list(f, c, array);
	else if (c->row == GT_PROBE_ASKED + GT_ASKED_PLATFORM_NAME)
		take_name(f, p, c);
}

uint16_t gt_platforms_place(const struct gt_platforms *f, uint64_t driver)
{
	for (size_t i = 0; i < f->count && f->is_listed && driver; i++)
		if (f->list[i].driver == driver)
			return f->list[i].count == 1 ? f->list[i].place : 0;
	return 0;
}
