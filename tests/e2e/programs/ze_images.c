/* SPDX-License-Identifier: MIT */
/*
 * ze_images.c - makes an image of every type and layout of spec 1.4 that the driver has.
 *
 * --width N, --height N (64); volumes are 4 deep, arrays have 3 layers. Prints `TYPE LAYOUT
 * ROW_PITCH SLICE_PITCH` of each.
 */
#include "ze_common.h"

enum { DEPTH = 4, LAYERS = 3 };

/* Drivers accept some layouts with one type of component alone. */
static const ze_image_format_type_t component_types[] = {
	ZE_IMAGE_FORMAT_TYPE_UINT,
	ZE_IMAGE_FORMAT_TYPE_UNORM,
	ZE_IMAGE_FORMAT_TYPE_FLOAT,
};

static void try_one(const struct ze *ze, ze_context_handle_t context, const ze_image_desc_t *desc)
{
	ze_image_memory_properties_exp_t memory = {
		.stype = ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES
	};
	ze_image_desc_t tried = *desc;
	ze_image_handle_t image;

	for (size_t i = 0; i < sizeof(component_types) / sizeof(*component_types); i++) {
		tried.format.type = component_types[i];
		if (zeImageCreate(context, ze->device, &tried, &image) != ZE_RESULT_SUCCESS)
			continue;
		CHECK(zeImageGetMemoryPropertiesExp, image, &memory);
		printf("%d %d %llu %llu\n", (int)desc->type, (int)desc->format.layout,
		       (unsigned long long)memory.rowPitch, (unsigned long long)memory.slicePitch);
		CHECK(zeImageDestroy, image);
		return;
	}
}

/* As in headers of spec 1.9. */
struct pitched_desc {
	uint32_t stype;
	const void *next;
	void *memory;
};

static void make_of_memory(const struct ze *ze, ze_context_handle_t context, uint32_t width,
			   uint32_t height)
{
	ze_device_mem_alloc_desc_t device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	struct pitched_desc pitched = { .stype = 0x0002001f };
	const ze_base_desc_t other = { .stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
				       .pNext = &pitched };
	ze_image_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
				 .pNext = &other,
				 .type = ZE_IMAGE_TYPE_2D,
				 .format.layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
				 .width = width,
				 .height = height };
	ze_image_handle_t image;

	CHECK(zeMemAllocDevice, context, &device, 4ul * width * height, 64, ze->device,
	      &pitched.memory);
	CHECK(zeImageCreate, context, ze->device, &desc, &image);
	CHECK(zeImageDestroy, image);
	CHECK(zeMemFree, context, pitched.memory);
	CHECK(zeContextDestroy, context);
}

int main(int argc, char **argv)
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	uint32_t width = 64, height = 64;
	ze_context_handle_t context;
	bool is_of_memory = false;
	struct ze ze;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--width"))
			width = (uint32_t)atoi(ze_value(argc, argv, &i));
		else if (!strcmp(argv[i], "--height"))
			height = (uint32_t)atoi(ze_value(argc, argv, &i));
		else if (!strcmp(argv[i], "--of-memory"))
			is_of_memory = true;
		else
			return ze_usage(argv[0], "[--width N] [--height N] [--of-memory]");
	}
	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &context_desc, &context);
	if (is_of_memory) {
		make_of_memory(&ze, context, width, height);
		return 0;
	}
	for (int type = ZE_IMAGE_TYPE_1D; type <= ZE_IMAGE_TYPE_BUFFER; type++)
		for (int layout = 0; layout <= ZE_IMAGE_FORMAT_LAYOUT_BRGP; layout++) {
			bool is_high = type >= ZE_IMAGE_TYPE_2D && type <= ZE_IMAGE_TYPE_3D;
			bool is_layered =
				type == ZE_IMAGE_TYPE_1DARRAY || type == ZE_IMAGE_TYPE_2DARRAY;
			ze_image_desc_t desc = {
				.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
				.type = (ze_image_type_t)type,
				.format = { .layout = (ze_image_format_layout_t)layout,
					    .y = ZE_IMAGE_FORMAT_SWIZZLE_G,
					    .z = ZE_IMAGE_FORMAT_SWIZZLE_B,
					    .w = ZE_IMAGE_FORMAT_SWIZZLE_A },
				.width = width,
				.height = is_high ? height : 0,
				.depth = type == ZE_IMAGE_TYPE_3D ? DEPTH : 0,
				.arraylevels = is_layered ? LAYERS : 0,
			};

			try_one(&ze, context, &desc);
		}
	CHECK(zeContextDestroy, context);
	return 0;
}
