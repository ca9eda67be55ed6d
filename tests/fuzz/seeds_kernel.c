/* SPDX-License-Identifier: MIT */
/*
 * seeds_kernel.c - records of calls as the kernel hands them over, a cubin and call frame
 * information, to start from.
 *
 *	seeds_kernel RECORDS_FOLDER CUBIN_FOLDER CFI_FOLDER
 */
#include <dwarf.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/ebpf/probe_rows.h"

static void write_file(const char *folder, const char *name, const void *data, size_t size)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	out = fopen(path, "we");
	if (!out || fwrite(data, 1, size, out) != size || fclose(out)) {
		perror(path);
		exit(1);
	}
}

/* A record of each tracked row, with an array and a stack. */
static void write_records(const char *folder)
{
	struct {
		struct gt_probe_call call;
		uint64_t tail[12];
	} record;
	struct gt_plan plan;

	for (unsigned row = 1; row < GT_FN_COUNT; row++) {
		if (!gt_plan_make(&plan, (enum gt_function_id)row))
			continue;
		memset(&record, 0, sizeof record);
		record.call = (struct gt_probe_call){ .begun_ns = 1000,
						      .ended_ns = 2000,
						      .pid = 7,
						      .tid = 7,
						      .row = (uint16_t)row,
						      .array = 4,
						      .array_count = 4,
						      .frames = 8 };
		for (size_t i = 0; i < GT_PROBE_WORDS; i++)
			record.call.words[i] = record.call.copies[i] = 0x1000 + i;
		for (size_t i = 0; i < 12; i++)
			record.tail[i] = 0x400000 + i;
		write_file(folder, gt_function_names[row], &record, sizeof record);
	}
}

/* Two variables in .nv.global, one of them managed. */
static void write_cubin(const char *folder)
{
	static const char names[] = "\0.nv.global\0.symtab\0.strtab\0table\0counter";
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr sections[4];
		Elf64_Sym symbols[3];
		char names[sizeof names];
	} file = {
		.head = { .e_ident = ELFMAG, .e_shoff = sizeof(Elf64_Ehdr), .e_shnum = 4,
			  .e_shentsize = sizeof(Elf64_Shdr), .e_shstrndx = 3 },
		.sections = {
			[1] = { .sh_name = 1, .sh_type = SHT_NOBITS },
			[2] = { .sh_name = 12, .sh_type = SHT_SYMTAB, .sh_link = 3,
				.sh_size = sizeof file.symbols },
			[3] = { .sh_name = 20, .sh_type = SHT_STRTAB, .sh_size = sizeof names },
		},
		.symbols = {
			[1] = { .st_name = 28, .st_info = STT_OBJECT, .st_shndx = 1, .st_size = 4096 },
			[2] = { .st_name = 34, .st_info = STT_OBJECT, .st_shndx = 1, .st_size = 4,
				.st_other = 4 },
		},
	};

	file.head.e_ident[EI_CLASS] = ELFCLASS64;
	file.sections[2].sh_offset = (uint64_t)((char *)file.symbols - (char *)&file);
	file.sections[3].sh_offset = (uint64_t)(file.names - (char *)&file);
	memcpy(file.names, names, sizeof names);
	write_file(folder, "two_variables", &file, sizeof file);
}

/* One function at 0x1000 with its index, for fuzz_cfi.c, and every kind of instruction in it. */
static void write_cfi(const char *folder)
{
	enum { SHARED = 4, OWN = SHARED + 24, INDEX = OWN + 104, SIZE = INDEX + 20 };
	static const uint8_t shared[] = { 1,
					  'z',
					  'R',
					  0,
					  1,
					  0x78,
					  16,
					  1,
					  DW_EH_PE_pcrel | DW_EH_PE_sdata4,
					  DW_CFA_def_cfa,
					  7,
					  8,
					  DW_CFA_offset | 16,
					  1 };
	/* clang-format off */
	static const uint8_t own[] = {
		0, DW_CFA_advance_loc | 8, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
		DW_CFA_advance_loc1, 8, DW_CFA_def_cfa_register, 6, DW_CFA_remember_state,
		DW_CFA_advance_loc2, 8, 0, DW_CFA_restore | 6, DW_CFA_restore_extended, 3,
		DW_CFA_advance_loc4, 8, 0, 0, 0, DW_CFA_restore_state, DW_CFA_undefined, 0,
		DW_CFA_same_value, 1, DW_CFA_register, 2, 3, DW_CFA_offset_extended, 17, 3,
		DW_CFA_offset_extended_sf, 12, 0x7e, DW_CFA_val_offset, 13, 2,
		DW_CFA_val_offset_sf, 14, 0x7d, DW_CFA_GNU_negative_offset_extended, 15, 2,
		DW_CFA_GNU_args_size, 32, DW_CFA_def_cfa_sf, 7, 0x7e, DW_CFA_def_cfa_offset_sf, 0x7c,
		DW_CFA_advance_loc | 8, DW_CFA_expression, 12, 2, DW_OP_breg0 + 7, 8,
		DW_CFA_val_expression, 13, 4, DW_OP_lit0 + 4, DW_OP_plus, DW_OP_plus_uconst, 8,
		DW_CFA_def_cfa_expression, 11, DW_OP_breg0 + 7, 8, DW_OP_breg0 + 16, 0,
		DW_OP_lit0 + 15, DW_OP_and, DW_OP_lit0 + 11, DW_OP_ge, DW_OP_lit0 + 3, DW_OP_shl,
		DW_OP_plus };
	uint32_t words[SIZE / 4] = { 0 };
	uint8_t *file = (uint8_t *)words;

	_Static_assert(sizeof own <= INDEX - OWN - 16, "it fits");
	file[0] = INDEX / 4;
	file[1] = SHARED / 4;
	file[2] = INDEX / 4;
	words[SHARED / 4] = OWN - SHARED - 4;
	memcpy(file + SHARED + 8, shared, sizeof shared);
	words[OWN / 4] = INDEX - OWN - 4;
	words[OWN / 4 + 1] = OWN + 4 - SHARED;
	words[OWN / 4 + 2] = 0x1000 - (OWN + 8);
	words[OWN / 4 + 3] = 0x80;
	memcpy(file + OWN + 16, own, sizeof own);
	memcpy(file + INDEX, (uint8_t[]){ 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
					  DW_EH_PE_datarel | DW_EH_PE_sdata4 }, 4);
	words[INDEX / 4 + 1] = (uint32_t)SHARED - (INDEX + 4);
	words[INDEX / 4 + 2] = 1;
	words[INDEX / 4 + 3] = 0x1000 - INDEX;
	words[INDEX / 4 + 4] = (uint32_t)OWN - INDEX;
	write_file(folder, "one_function", file, SIZE);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	mkdir(argv[1], 0777);
	mkdir(argv[2], 0777);
	mkdir(argv[3], 0777);
	write_records(argv[1]);
	write_cubin(argv[2]);
	write_cfi(argv[3]);
	return 0;
}

/* clang-format on */