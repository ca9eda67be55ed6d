/* SPDX-License-Identifier: MIT */
/*
 * statics.c - static variables of device code, read from a module's cubin when it is loaded.
 *
 * A cubin is an ELF file. Its variables are the objects in the sections .nv.global, .nv.global.init
 * and .nv.constant3; a bit of st_other marks the managed ones. Their device addresses are not in
 * it: module and symbol number stand for the address.
 */
#include "capture/cuda/cuda.h"

#include <elf.h>
#include <string.h>

enum { MANAGED = 4, SYMBOLS_MAX = 1 << 20 };

struct cubin {
	const char *bytes;
	size_t size;
};

/* `size` bytes at an offset; NULL when the file is too short. */
static const void *part(const struct cubin *c, uint64_t offset, uint64_t size)
{
	return offset <= c->size && size <= c->size - offset ? c->bytes + offset : NULL;
}

/* A string of a string table; "" when there is none. A valid table ends in a zero. */
static const char *text_at(const struct cubin *c, const Elf64_Shdr *table, uint32_t offset)
{
	const char *text =
		offset < table->sh_size ? part(c, table->sh_offset, table->sh_size) : NULL;

	return text && !text[table->sh_size - 1] ? text + offset : "";
}

static bool section_at(const struct cubin *c, const Elf64_Ehdr *head, unsigned index,
		       Elf64_Shdr *section)
{
	const void *at = index < head->e_shnum && head->e_shentsize >= sizeof *section ?
				 part(c, head->e_shoff + (uint64_t)index * head->e_shentsize,
				      sizeof *section) :
				 NULL;

	if (at)
		memcpy(section, at, sizeof *section);
	return at;
}

static bool holds_variables(const struct cubin *c, const Elf64_Ehdr *head, unsigned index)
{
	static const char *const sections[] = { ".nv.global", ".nv.global.init", ".nv.constant3" };
	Elf64_Shdr section, names;
	const char *name;

	if (!section_at(c, head, index, &section) || !section_at(c, head, head->e_shstrndx, &names))
		return false;
	name = text_at(c, &names, section.sh_name);
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
		if (!strcmp(name, sections[i]))
			return true;
	return false;
}

/* `left` limits the symbols read in all: a damaged file's tables may overlap. */
static void each_symbol(const struct cubin *c, const Elf64_Ehdr *head, const Elf64_Shdr *symbols,
			uint32_t *left, gt_cuda_variable_fn *each, void *context)
{
	uint64_t count = symbols->sh_size / sizeof(Elf64_Sym);
	Elf64_Shdr names;

	if (!section_at(c, head, symbols->sh_link, &names))
		return;
	for (uint64_t i = 0; i < count && *left; i++, --*left) {
		const void *at =
			part(c, symbols->sh_offset + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
		Elf64_Sym symbol;

		if (!at)
			return;
		memcpy(&symbol, at, sizeof symbol);
		if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size &&
		    holds_variables(c, head, symbol.st_shndx))
			each(context,
			     &(struct gt_cuda_variable){ .name = text_at(c, &names, symbol.st_name),
							 .index = (uint32_t)i,
							 .bytes = symbol.st_size,
							 .managed = symbol.st_other & MANAGED });
	}
}

void gt_cuda_variables(const void *bytes, size_t size, gt_cuda_variable_fn *each, void *context)
{
	struct cubin c = { bytes, size };
	uint32_t left = SYMBOLS_MAX;
	Elf64_Shdr section;
	Elf64_Ehdr head;

	if (!bytes || size < sizeof head)
		return;
	memcpy(&head, bytes, sizeof head);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	for (unsigned i = 0; section_at(&c, &head, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB)
			each_symbol(&c, &head, &section, &left, each, context);
}

/* The module whose variables are reported, and what the door needs to know. */
struct module {
	uint32_t id;
	CUcontext context;
	const void *caller;
};

static uint64_t address_of(const struct module *m, const struct gt_cuda_variable *v)
{
	/* user-space addresses never have the top bit set */
	return UINT64_C(1) << 63 | (uint64_t)m->id << 24 | v->index;
}

static void loaded(void *context, const struct gt_cuda_variable *v)
{
	const struct module *m = context;
	uint64_t argv[] = { address_of(m, v), v->bytes };
	struct gt_cuda_call call = { .context = m->context, .in_driver = true };

	gt_guest_begin(&call.guest,
		       v->managed ? GT_FN_cudaManagedVariable : GT_FN_cudaDeviceVariable, argv,
		       m->caller);
	gt_guest_end(&call.guest, 0, &gt_cuda_door);
	gt_guest_name(&call.guest, argv[0], v->name);
}

static void unloaded(void *context, const struct gt_cuda_variable *v)
{
	const struct module *m = context;
	uint64_t argv[] = { address_of(m, v) };
	struct gt_cuda_call call = { .context = m->context, .in_driver = true };

	gt_guest_begin(&call.guest, GT_FN_cudaVariableGone, argv, m->caller);
	gt_guest_end(&call.guest, 0, &gt_cuda_door);
}

void gt_cuda_module(CUpti_CallbackId cbid, const CUpti_ResourceData *data, const void *caller)
{
	const CUpti_ModuleResourceData *resource = data->resourceDescriptor;
	struct module module = { .context = data->context, .caller = caller };

	if (!resource)
		return;
	module.id = resource->moduleId;
	gt_cuda_variables(resource->pCubin, resource->cubinSize,
			  cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED ? loaded : unloaded, &module);
}
