/* SPDX-License-Identifier: MIT */
/*
 * image.c - images with real pixels, views of them, and samplers.
 */
#include "fake.h"

#include "tables.h"

struct sampler {
	struct object base;
};

static uint32_t pixel_bytes(ze_image_format_layout_t layout)
{
	switch (layout) {
	case ZE_IMAGE_FORMAT_LAYOUT_8: return 1;
	case ZE_IMAGE_FORMAT_LAYOUT_16:
	case ZE_IMAGE_FORMAT_LAYOUT_8_8: return 2;
	case ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16:
	case ZE_IMAGE_FORMAT_LAYOUT_32_32: return 8;
	case ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32: return 16;
	default: return 4;
	}
}

static struct image *image_new(const ze_image_desc_t *desc)
{
	struct image *i = object_new(KIND_IMAGE, struct image);

	if (!i)
		return NULL;
	i->width = (uint32_t)desc->width;
	i->height = desc->height ? desc->height : 1;
	i->depth = desc->depth ? desc->depth : 1;
	if (desc->arraylevels)
		i->depth = desc->arraylevels;
	/* the width of a buffer is in bytes */
	i->pixel_bytes = desc->type == ZE_IMAGE_TYPE_BUFFER ? 1 : pixel_bytes(desc->format.layout);
	i->size_bytes = (size_t)i->width * i->height * i->depth * i->pixel_bytes;
	return i;
}

ze_result_t ZE_APICALL fake_zeImageGetProperties(ze_device_handle_t device,
						 const ze_image_desc_t *desc,
						 ze_image_properties_t *p)
{
	ENTER(zeImageGetProperties);
	NEED(device_check(device));
	NEED_POINTER(desc);
	NEED_POINTER(p);
	SET_PROPERTIES(p, .samplerFilterFlags = ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeImageCreate(ze_context_handle_t context, ze_device_handle_t device,
					  const ze_image_desc_t *desc, ze_image_handle_t *out)
{
	struct image *i;

	ENTER(zeImageCreate);
	NEED(place_check(context, device));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	if (!desc->width || desc->width > UINT32_MAX)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	i = image_new(desc);
	if (!i)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	i->pixels = storage_get(i->size_bytes);
	if (!i->pixels) {
		object_free(i, KIND_IMAGE);
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	}
	*out = (ze_image_handle_t)i;
	return ZE_RESULT_SUCCESS;
}

/* A view has the pixels of its image and must not outlive it. */
ze_result_t image_view_new(ze_context_handle_t context, ze_device_handle_t device,
			   const ze_image_desc_t *desc, ze_image_handle_t image,
			   ze_image_handle_t *out)
{
	struct image *of = (struct image *)image, *i;

	NEED(place_check(context, device));
	NEED(object_check(image, KIND_IMAGE));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	i = image_new(desc);
	if (!i)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	if (i->size_bytes > of->size_bytes) {
		object_free(i, KIND_IMAGE);
		return ZE_RESULT_ERROR_INVALID_SIZE;
	}
	i->is_view = true;
	i->pixels = of->pixels;
	*out = (ze_image_handle_t)i;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeImageViewCreateExp(ze_context_handle_t context,
						 ze_device_handle_t device,
						 const ze_image_desc_t *desc,
						 ze_image_handle_t image, ze_image_handle_t *out)
{
	ENTER(zeImageViewCreateExp);
	return image_view_new(context, device, desc, image, out);
}

ze_result_t ZE_APICALL fake_zeImageDestroy(ze_image_handle_t image)
{
	struct image *i = (struct image *)image;

	ENTER(zeImageDestroy);
	NEED(object_end(image, KIND_IMAGE));
	if (!i->is_view)
		storage_put(i->pixels, i->size_bytes);
	block_put(i);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeImageGetAllocPropertiesExt(ze_context_handle_t context,
							 ze_image_handle_t image,
							 ze_image_allocation_ext_properties_t *p)
{
	ENTER(zeImageGetAllocPropertiesExt);
	NEED(object_check(context, KIND_CONTEXT));
	NEED(object_check(image, KIND_IMAGE));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .id = (uintptr_t)image);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeImageGetMemoryPropertiesExp(ze_image_handle_t image,
							  ze_image_memory_properties_exp_t *p)
{
	struct image *i = (struct image *)image;

	ENTER(zeImageGetMemoryPropertiesExp);
	NEED(object_check(image, KIND_IMAGE));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .size = i->size_bytes, .rowPitch = (uint64_t)i->width * i->pixel_bytes,
		       .slicePitch = (uint64_t)i->width * i->pixel_bytes * i->height);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeSamplerCreate(ze_context_handle_t context, ze_device_handle_t device,
					    const ze_sampler_desc_t *desc, ze_sampler_handle_t *out)
{
	ENTER(zeSamplerCreate);
	NEED(place_check(context, device));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	*out = (ze_sampler_handle_t)object_new(KIND_SAMPLER, struct sampler);
	return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t ZE_APICALL fake_zeSamplerDestroy(ze_sampler_handle_t sampler)
{
	ENTER(zeSamplerDestroy);
	return object_free(sampler, KIND_SAMPLER);
}
