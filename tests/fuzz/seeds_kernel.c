/*
 * seeds_kernel.c - records of calls as the kernel hands them over, and a cubin, to start from.
 *
 *	seeds_kernel RECORDS_FOLDER CUBIN_FOLDER
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/ebpf/rows.h"

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
		record.call = (struct gt_probe_call){ .begun_ns = 1000, .ended_ns = 2000, .pid = 7,
			.tid = 7, .row = (uint16_t)row, .array = 4, .array_count = 4, .frames = 8 };
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

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	mkdir(argv[1], 0777);
	mkdir(argv[2], 0777);
	write_records(argv[1]);
	write_cubin(argv[2]);
	return 0;
}
