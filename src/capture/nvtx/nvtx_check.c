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
#endif
