/* SPDX-License-Identifier: MIT */
/* nvtx_check.c - compares our declarations with NVTX's header; empty where there is none. */
#include "capture/nvtx/nvtx_types.h"

#ifdef GT_HAVE_NVTX_H
#include <nvtx3/nvToolsExt.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
#define FIELD(ours, theirs)                                                                        \
	SAME(offsetof(struct gt_nvtx_attributes, ours), offsetof(nvtxEventAttributes_t, theirs))

SAME(GT_NVTX_CORE, NVTX_CB_MODULE_CORE);
SAME(GT_NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(GT_NVTX_RangeStartEx, NVTX_CBID_CORE_RangeStartEx);
SAME(GT_NVTX_RangeStartA, NVTX_CBID_CORE_RangeStartA);
SAME(GT_NVTX_RangeStartW, NVTX_CBID_CORE_RangeStartW);
SAME(GT_NVTX_RangeEnd, NVTX_CBID_CORE_RangeEnd);
SAME(GT_NVTX_RangePushEx, NVTX_CBID_CORE_RangePushEx);
SAME(GT_NVTX_RangePushA, NVTX_CBID_CORE_RangePushA);
SAME(GT_NVTX_RangePushW, NVTX_CBID_CORE_RangePushW);
SAME(GT_NVTX_RangePop, NVTX_CBID_CORE_RangePop);
SAME(GT_NVTX_NameCategoryA, NVTX_CBID_CORE_NameCategoryA);
SAME(GT_NVTX_NameCategoryW, NVTX_CBID_CORE_NameCategoryW);
SAME(GT_NVTX_DomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(GT_NVTX_DomainRangeEnd, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(GT_NVTX_DomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(GT_NVTX_DomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
SAME(GT_NVTX_DomainNameCategoryA, NVTX_CBID_CORE2_DomainNameCategoryA);
SAME(GT_NVTX_DomainNameCategoryW, NVTX_CBID_CORE2_DomainNameCategoryW);
SAME(GT_NVTX_DomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(GT_NVTX_DomainRegisterStringW, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(GT_NVTX_DomainCreateA, NVTX_CBID_CORE2_DomainCreateA);
SAME(GT_NVTX_DomainCreateW, NVTX_CBID_CORE2_DomainCreateW);
SAME(GT_NVTX_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
SAME(GT_NVTX_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(sizeof(struct gt_nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct gt_nvtx_callbacks, get_table),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(GT_NVTX_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(GT_NVTX_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(GT_NVTX_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(GT_NVTX_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(GT_NVTX_INT64, NVTX_PAYLOAD_TYPE_INT64);
SAME(GT_NVTX_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(GT_NVTX_UINT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(GT_NVTX_INT32, NVTX_PAYLOAD_TYPE_INT32);
SAME(GT_NVTX_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(sizeof(struct gt_nvtx_attributes), sizeof(nvtxEventAttributes_t));
FIELD(version, version);
FIELD(size, size);
FIELD(category, category);
FIELD(payload_type, payloadType);
FIELD(payload, payload);
FIELD(message_type, messageType);
FIELD(message, message);

#if __has_include(<nvtx3/nvToolsExtMem.h>)
#include <nvtx3/nvToolsExtMem.h>

#define OF(ours, ours_field, theirs, theirs_field)                                                 \
	SAME(offsetof(struct gt_nvtx_##ours, ours_field), offsetof(theirs, theirs_field))

SAME(GT_NVTX_MEMORY, NVTX_EXT_MODULEID_MEM);
SAME(GT_NVTX_MemHeapRegister, NVTX3EXT_CBID_nvtxMemHeapRegister);
SAME(GT_NVTX_MemHeapUnregister, NVTX3EXT_CBID_nvtxMemHeapUnregister);
SAME(GT_NVTX_MemHeapReset, NVTX3EXT_CBID_nvtxMemHeapReset);
SAME(GT_NVTX_MemRegionsRegister, NVTX3EXT_CBID_nvtxMemRegionsRegister);
SAME(GT_NVTX_MemRegionsResize, NVTX3EXT_CBID_nvtxMemRegionsResize);
SAME(GT_NVTX_MemRegionsUnregister, NVTX3EXT_CBID_nvtxMemRegionsUnregister);
SAME(GT_NVTX_SUB_ALLOCATOR, NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR);
SAME(GT_NVTX_VIRTUAL_ADDRESS, NVTX_MEM_TYPE_VIRTUAL_ADDRESS);
SAME(sizeof(struct gt_nvtx_extension), sizeof(nvtxExtModuleInfo_t));
SAME(sizeof(struct gt_nvtx_segment), sizeof(nvtxExtModuleSegment_t));
OF(extension, id, nvtxExtModuleInfo_t, moduleId);
OF(extension, segments, nvtxExtModuleInfo_t, segments);
OF(segment, count, nvtxExtModuleSegment_t, slotCount);
OF(segment, slots, nvtxExtModuleSegment_t, functionSlots);
SAME(sizeof(struct gt_nvtx_span), sizeof(nvtxMemVirtualRangeDesc_t));
OF(span, bytes, nvtxMemVirtualRangeDesc_t, size);
SAME(sizeof(struct gt_nvtx_heap), sizeof(nvtxMemHeapDesc_t));
OF(heap, size, nvtxMemHeapDesc_t, structSize);
OF(heap, usage, nvtxMemHeapDesc_t, usage);
OF(heap, type, nvtxMemHeapDesc_t, type);
OF(heap, span_size, nvtxMemHeapDesc_t, typeSpecificDescSize);
OF(heap, span, nvtxMemHeapDesc_t, typeSpecificDesc);
OF(heap, message_type, nvtxMemHeapDesc_t, messageType);
OF(heap, message, nvtxMemHeapDesc_t, message);
SAME(sizeof(struct gt_nvtx_regions), sizeof(nvtxMemRegionsRegisterBatch_t));
OF(regions, type, nvtxMemRegionsRegisterBatch_t, regionType);
OF(regions, heap, nvtxMemRegionsRegisterBatch_t, heap);
OF(regions, count, nvtxMemRegionsRegisterBatch_t, regionCount);
OF(regions, element_size, nvtxMemRegionsRegisterBatch_t, regionDescElementSize);
OF(regions, elements, nvtxMemRegionsRegisterBatch_t, regionDescElements);
OF(regions, handles, nvtxMemRegionsRegisterBatch_t, regionHandleElementsOut);
SAME(sizeof(struct gt_nvtx_resize), sizeof(nvtxMemRegionsResizeBatch_t));
OF(resize, count, nvtxMemRegionsResizeBatch_t, regionDescCount);
OF(resize, elements, nvtxMemRegionsResizeBatch_t, regionDescElements);
SAME(sizeof(struct gt_nvtx_refs), sizeof(nvtxMemRegionsUnregisterBatch_t));
OF(refs, count, nvtxMemRegionsUnregisterBatch_t, refCount);
OF(refs, element_size, nvtxMemRegionsUnregisterBatch_t, refElementSize);
OF(refs, elements, nvtxMemRegionsUnregisterBatch_t, refElements);
#endif
#endif
