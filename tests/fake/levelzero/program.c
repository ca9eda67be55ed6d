/* SPDX-License-Identifier: MIT */
/*
 * program.c - modules, build logs and kernels.
 *
 * A module's input is text: the names of its kernels, separated by blanks or newlines. Input that
 * starts with '!' does not build: the create fails and hands out a build log all the same, as real
 * drivers do. A module whose first name starts with '?' does not link, and hands out a log too.
 * Real SPIR-V is taken too; it has one kernel, "main".
 */
#include "fake.h"

#include <string.h>

#include "tables.h"

#define NAME_MAX_BYTES 64
#define KERNEL_MAX     16
#define SPIRV_MAGIC    0x07230203u

struct module {
	struct object base;
	uint32_t kernel_count;
	char names[KERNEL_MAX][NAME_MAX_BYTES];
};

struct build_log {
	struct object base;
	char text[48];
};

struct kernel {
	struct object base;
	ze_kernel_indirect_access_flags_t indirect;
	char name[NAME_MAX_BYTES];
};

static void module_read(struct module *m, const char *text, size_t bytes)
{
	static const char between[] = " \t\n";
	uint32_t magic = 0;

	memcpy(&magic, text, bytes < sizeof(magic) ? bytes : sizeof(magic));
	if (magic == SPIRV_MAGIC) {
		strcpy(m->names[m->kernel_count++], "main");
		return;
	}
	for (size_t at = 0; at < bytes && text[at] && m->kernel_count < KERNEL_MAX;) {
		size_t n = 0;

		while (at + n < bytes && text[at + n] && !strchr(between, text[at + n]))
			n++;
		if (n && n < NAME_MAX_BYTES)
			memcpy(m->names[m->kernel_count++], text + at, n);
		at += n + 1;
	}
}

static ze_result_t log_new(const char *text, ze_module_build_log_handle_t *out)
{
	struct build_log *l;

	if (!out)
		return ZE_RESULT_SUCCESS;
	l = object_new(KIND_BUILD_LOG, struct build_log);
	if (!l)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	strncpy(l->text, text, sizeof(l->text) - 1);
	*out = (ze_module_build_log_handle_t)l;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
					   const ze_module_desc_t *desc, ze_module_handle_t *out,
					   ze_module_build_log_handle_t *log)
{
	struct module *m;
	bool is_good;

	ENTER(zeModuleCreate);
	NEED(place_check(context, device));
	NEED_POINTER(desc);
	NEED_POINTER(desc->pInputModule);
	NEED_POINTER(out);
	if (!desc->inputSize)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	is_good = desc->pInputModule[0] != '!';
	NEED(log_new(is_good ? "" : "error: the module asks not to be built", log));
	if (!is_good)
		return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
	m = object_new(KIND_MODULE, struct module);
	if (!m) {
		if (log)
			object_free(*log, KIND_BUILD_LOG);
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	}
	module_read(m, (const char *)desc->pInputModule, desc->inputSize);
	*out = (ze_module_handle_t)m;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeModuleDestroy(ze_module_handle_t module)
{
	ENTER(zeModuleDestroy);
	return object_free(module, KIND_MODULE);
}

static ze_result_t modules_check(uint32_t count, ze_module_handle_t *modules)
{
	NEED_POINTER(modules);
	for (uint32_t i = 0; i < count; i++)
		NEED(object_check(modules[i], KIND_MODULE));
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeModuleDynamicLink(uint32_t count, ze_module_handle_t *modules,
						ze_module_build_log_handle_t *log)
{
	ENTER(zeModuleDynamicLink);
	NEED(modules_check(count, modules));
	for (uint32_t i = 0; i < count; i++)
		if (((struct module *)modules[i])->names[0][0] == '?') {
			NEED(log_new("error: a symbol is not there", log));
			return ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
		}
	return log_new("linked", log);
}

ze_result_t ZE_APICALL fake_zeModuleInspectLinkageExt(ze_linkage_inspection_ext_desc_t *desc,
						      uint32_t count, ze_module_handle_t *modules,
						      ze_module_build_log_handle_t *log)
{
	ENTER(zeModuleInspectLinkageExt);
	NEED_POINTER(desc);
	NEED_POINTER(log);
	NEED(modules_check(count, modules));
	return log_new("no imports", log);
}

/* Copies `text` with its zero byte into a sized buffer, or tells the size. */
static ze_result_t give_text(const char *text, size_t *size, void *out)
{
	size_t need = strlen(text) + 1;

	NEED_POINTER(size);
	if (out && *size) {
		size_t n = *size < need ? *size : need;

		memcpy(out, text, n);
		((char *)out)[n - 1] = '\0';
	}
	*size = need;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeModuleGetNativeBinary(ze_module_handle_t module, size_t *size,
						    uint8_t *out)
{
	ENTER(zeModuleGetNativeBinary);
	NEED(object_check(module, KIND_MODULE));
	return give_text(((struct module *)module)->names[0], size, out);
}

ze_result_t ZE_APICALL fake_zeModuleGetKernelNames(ze_module_handle_t module, uint32_t *count,
						   const char **names)
{
	struct module *m = (struct module *)module;

	ENTER(zeModuleGetKernelNames);
	NEED(object_check(module, KIND_MODULE));
	NEED_POINTER(count);
	if (!*count || *count > m->kernel_count)
		*count = m->kernel_count;
	for (uint32_t i = 0; names && i < *count; i++)
		names[i] = m->names[i];
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeModuleGetProperties(ze_module_handle_t module,
						  ze_module_properties_t *p)
{
	ENTER(zeModuleGetProperties);
	NEED(object_check(module, KIND_MODULE));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .flags = 0);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
	ENTER(zeModuleBuildLogDestroy);
	return object_free(log, KIND_BUILD_LOG);
}

ze_result_t ZE_APICALL fake_zeModuleBuildLogGetString(ze_module_build_log_handle_t log,
						      size_t *size, char *out)
{
	ENTER(zeModuleBuildLogGetString);
	NEED(object_check(log, KIND_BUILD_LOG));
	return give_text(((struct build_log *)log)->text, size, out);
}

static bool has_kernel(const struct module *m, const char *name)
{
	for (uint32_t i = 0; i < m->kernel_count; i++)
		if (!strcmp(m->names[i], name))
			return true;
	return false;
}

ze_result_t ZE_APICALL fake_zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *desc,
					   ze_kernel_handle_t *out)
{
	struct kernel *k;

	ENTER(zeKernelCreate);
	NEED(object_check(module, KIND_MODULE));
	NEED_POINTER(desc);
	NEED_POINTER(desc->pKernelName);
	NEED_POINTER(out);
	if (!has_kernel((struct module *)module, desc->pKernelName))
		return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
	k = object_new(KIND_KERNEL, struct kernel);
	if (!k)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	strcpy(k->name, desc->pKernelName);
	*out = (ze_kernel_handle_t)k;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeKernelDestroy(ze_kernel_handle_t kernel)
{
	ENTER(zeKernelDestroy);
	return object_free(kernel, KIND_KERNEL);
}

ze_result_t ZE_APICALL fake_zeKernelSetCacheConfig(ze_kernel_handle_t kernel,
						   ze_cache_config_flags_t flags)
{
	ENTER(zeKernelSetCacheConfig);
	(void)flags;
	return object_check(kernel, KIND_KERNEL);
}

ze_result_t ZE_APICALL fake_zeKernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y,
						 uint32_t z)
{
	ENTER(zeKernelSetGroupSize);
	NEED(object_check(kernel, KIND_KERNEL));
	return x && y && z ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
}

ze_result_t ZE_APICALL fake_zeKernelSuggestGroupSize(ze_kernel_handle_t kernel, uint32_t gx,
						     uint32_t gy, uint32_t gz, uint32_t *x,
						     uint32_t *y, uint32_t *z)
{
	ENTER(zeKernelSuggestGroupSize);
	(void)gx;
	(void)gy;
	(void)gz;
	NEED(object_check(kernel, KIND_KERNEL));
	NEED_POINTER(x);
	NEED_POINTER(y);
	NEED_POINTER(z);
	*x = *y = *z = 1;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeKernelSuggestMaxCooperativeGroupCount(ze_kernel_handle_t kernel,
								    uint32_t *count)
{
	ENTER(zeKernelSuggestMaxCooperativeGroupCount);
	NEED(object_check(kernel, KIND_KERNEL));
	NEED_POINTER(count);
	*count = 64;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeKernelSetArgumentValue(ze_kernel_handle_t kernel, uint32_t index,
						     size_t size, const void *value)
{
	ENTER(zeKernelSetArgumentValue);
	(void)size;
	(void)value;
	NEED(object_check(kernel, KIND_KERNEL));
	return index < 64 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
}

ze_result_t ZE_APICALL fake_zeKernelSetIndirectAccess(ze_kernel_handle_t kernel,
						      ze_kernel_indirect_access_flags_t flags)
{
	ENTER(zeKernelSetIndirectAccess);
	NEED(object_check(kernel, KIND_KERNEL));
	((struct kernel *)kernel)->indirect = flags;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeKernelGetIndirectAccess(ze_kernel_handle_t kernel,
						      ze_kernel_indirect_access_flags_t *flags)
{
	ENTER(zeKernelGetIndirectAccess);
	NEED(object_check(kernel, KIND_KERNEL));
	NEED_POINTER(flags);
	*flags = ((struct kernel *)kernel)->indirect;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeKernelGetProperties(ze_kernel_handle_t kernel,
						  ze_kernel_properties_t *p)
{
	ENTER(zeKernelGetProperties);
	NEED(object_check(kernel, KIND_KERNEL));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .numKernelArgs = 4, .maxSubgroupSize = 16, .maxNumSubgroups = 64);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeKernelGetName(ze_kernel_handle_t kernel, size_t *size, char *name)
{
	ENTER(zeKernelGetName);
	NEED(object_check(kernel, KIND_KERNEL));
	return give_text(((struct kernel *)kernel)->name, size, name);
}
