/* SPDX-License-Identifier: MIT */
/*
 * nvtx_tool.c - another tool of NVTX: prints every range that it is told of when the process ends,
 * and has handles and ids of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/nvtx/nvtx_types.h"

/* what NVTX looks for */
__attribute__((visibility("default"))) gt_nvtx_init_fn InitializeInjectionNvtx2;
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
	struct gt_nvtx_extension *module);

static char told[4096];
static int instances, extensions;

static void tell(const char *what, const char *text)
{
	size_t used = strlen(told);

	snprintf(told + used, sizeof told - used, "%s(%s) ", what, text);
}

__attribute__((destructor)) static void ends(void)
{
	FILE *out = fopen("tool.txt", "w");

	if (out) {
		fprintf(out, "%d %d %s\n", instances, extensions, told);
		fclose(out);
	}
}

static int push_a(const char *message)
{
	tell("push", message);
	return 70;
}

static int pop(void)
{
	tell("pop", "");
	return 71;
}

static uint64_t start_a(const char *message)
{
	tell("start", message);
	return 0x7777;
}

static void end(uint64_t id)
{
	tell("end", id == 0x7777 ? "mine" : "wrong");
}

static const char domain_name[] = "a handle", string_name[] = "another";

static const void *create_a(const char *name)
{
	tell("domain", name);
	return domain_name;
}

static const void *register_a(const void *domain, const char *text)
{
	tell("register", domain == domain_name ? text : "wrong");
	return string_name;
}

static int domain_push(const void *domain, const struct gt_nvtx_attributes *a)
{
	tell("domain push",
	     domain == domain_name && a->message.registered == string_name ? "mine" : "wrong");
	return 72;
}

static int domain_pop(const void *domain)
{
	tell("domain pop", domain == domain_name ? "mine" : "wrong");
	return 73;
}

static void put(gt_nvtx_fn ***table, int id, void *fn)
{
	*table[id] = (gt_nvtx_fn *)fn;
}

int InitializeInjectionNvtx2(gt_nvtx_export_fn *get)
{
	const struct gt_nvtx_callbacks *c = get(GT_NVTX_CALLBACKS);
	gt_nvtx_fn ***table;
	unsigned size;

	instances++;
	if (getenv("NVTX_TOOL_REFUSES"))
		return 0;
	c->get_table(GT_NVTX_CORE, &table, &size);
	put(table, GT_NVTX_RangePushA, push_a);
	put(table, GT_NVTX_RangePop, pop);
	put(table, GT_NVTX_RangeStartA, start_a);
	put(table, GT_NVTX_RangeEnd, end);
	c->get_table(GT_NVTX_CORE2, &table, &size);
	put(table, GT_NVTX_DomainCreateA, create_a);
	put(table, GT_NVTX_DomainRegisterStringA, register_a);
	put(table, GT_NVTX_DomainRangePushEx, domain_push);
	put(table, GT_NVTX_DomainRangePop, domain_pop);
	return 1;
}

/* Has handles of its own for regions and heaps. */
static void *heap_register(const void *domain, const struct gt_nvtx_heap *heap)
{
	tell("heap", heap->message.ascii);
	return (char *)(uintptr_t)0x100000 + strlen(heap->message.ascii);
}

static void regions_register(const void *domain, const struct gt_nvtx_regions *r)
{
	char text[32];

	snprintf(text, sizeof text, "%zu", r->count);
	tell("regions", text);
	for (size_t i = 0; r->handles && i < r->count; i++)
		r->handles[i] = (char *)(uintptr_t)0x200000 + i;
}

static void regions_unregister(const void *domain, const struct gt_nvtx_refs *r)
{
	uint64_t ref = *(const uint64_t *)r->elements;

	tell("unregister", ref == 0x200001 ? "mine" : ref < 0x300000 ? "wrong" : "address");
}

int InitializeInjectionNvtxExtension(struct gt_nvtx_extension *module)
{
	extensions++;
	if (module->id == GT_NVTX_MEMORY) {
		gt_nvtx_fn **slots = module->segments->slots;

		slots[GT_NVTX_MemHeapRegister] = (gt_nvtx_fn *)(void *)heap_register;
		slots[GT_NVTX_MemRegionsRegister] = (gt_nvtx_fn *)(void *)regions_register;
		slots[GT_NVTX_MemRegionsUnregister] = (gt_nvtx_fn *)(void *)regions_unregister;
	}
	return 1;
}
