/* SPDX-License-Identifier: MIT */
/*
 * nvtx_stand_in.h - NVTX's part of its protocol with tools, for machines without its header: as
 * much of the API as the tests use, through tables of function pointers that a tool may fill.
 */
#pragma once

#include <dlfcn.h>
#include <stdlib.h>
#include <wchar.h>

#include "capture/nvtx/nvtx_types.h"

typedef const void *nvtxDomainHandle_t, *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;
typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	union {
		uint64_t ullValue;
		int64_t llValue;
	} payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		nvtxStringHandle_t registered;
	} message;
} nvtxEventAttributes_t;

enum { NVTX_VERSION = 3, NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t) };
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED };
enum { NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1 };

/* An entry that no tool fills stays what it was: this. */
static void stand_in_nothing(void)
{
}

static struct {
	gt_nvtx_fn *functions[2][16], **entries[2][17];
	int is_ready;
} stand_in;

static int stand_in_table(enum gt_nvtx_module module, gt_nvtx_fn ****table, unsigned *size)
{
	int which = module == GT_NVTX_CORE2;

	if (module != GT_NVTX_CORE && module != GT_NVTX_CORE2)
		return 0;
	for (int i = 0; i < 16; i++)
		stand_in.entries[which][i] = i ? &stand_in.functions[which][i] : NULL;
	*table = stand_in.entries[which];
	*size = 16;
	return 1;
}

static const void *stand_in_export(uint32_t id)
{
	static const struct gt_nvtx_callbacks callbacks = { sizeof callbacks, stand_in_table };

	return id == GT_NVTX_CALLBACKS ? &callbacks : NULL;
}

static gt_nvtx_fn *stand_in_get(int which, int id)
{
	if (!stand_in.is_ready) {
		const char *path = getenv("NVTX_INJECTION64_PATH");
		void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
		gt_nvtx_init_fn *init = NULL;

		stand_in.is_ready = 1;
		for (int i = 0; i < 32; i++)
			stand_in.functions[i / 16][i % 16] = stand_in_nothing;
		if (library)
			*(void **)&init = dlsym(library, "InitializeInjectionNvtx2");
		if (init)
			init(stand_in_export);
	}
	return stand_in.functions[which][id] == stand_in_nothing ? NULL :
								   stand_in.functions[which][id];
}

#define STAND_IN(module, id, result, none, parameters, arguments)                                  \
	__attribute__((unused)) static result nvtx##id parameters                                  \
	{                                                                                          \
		result(*fn) parameters =                                                           \
			(result(*) parameters)(void *)stand_in_get(module, GT_NVTX_##id);          \
                                                                                                   \
		return fn ? fn arguments : none;                                                   \
	}

STAND_IN(0, RangePushA, int, -2, (const char *m), (m))
STAND_IN(0, RangePushW, int, -2, (const wchar_t *m), (m))
STAND_IN(0, RangePushEx, int, -2, (const nvtxEventAttributes_t *a), (a))
STAND_IN(0, RangePop, int, -2, (void), ())
STAND_IN(0, RangeStartA, nvtxRangeId_t, 0, (const char *m), (m))
STAND_IN(0, RangeEnd, void, (void)0, (nvtxRangeId_t id), (id))
STAND_IN(0, NameCategoryA, void, (void)0, (uint32_t c, const char *m), (c, m))
STAND_IN(1, DomainCreateA, nvtxDomainHandle_t, NULL, (const char *m), (m))
STAND_IN(1, DomainRegisterStringA, nvtxStringHandle_t, NULL, (nvtxDomainHandle_t d, const char *m),
	 (d, m))
STAND_IN(1, DomainRangePushEx, int, -2, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a),
	 (d, a))
STAND_IN(1, DomainRangePop, int, -2, (nvtxDomainHandle_t d), (d))
STAND_IN(1, DomainRangeStartEx, nvtxRangeId_t, 0,
	 (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a), (d, a))
STAND_IN(1, DomainRangeEnd, void, (void)0, (nvtxDomainHandle_t d, nvtxRangeId_t id), (d, id))
STAND_IN(1, DomainNameCategoryA, void, (void)0, (nvtxDomainHandle_t d, uint32_t c, const char *m),
	 (d, c, m))
