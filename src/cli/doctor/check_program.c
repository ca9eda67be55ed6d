/* SPDX-License-Identifier: MIT */
/* check_program.c - the doctor's check of one program: can it be tracked, has it symbols. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>
#include <libelf.h>

#include "base/text.h"
#include "base/tool.h"
#include "cli/doctor/doctor.h"
#include "cli/launch.h"
#include "symbol/elf_file.h"
#include "symbol/symbol.h"

/* Libraries whose names in the dynamic section show that a program uses a GPU. */
static const char *const gpu_libraries[] = {
	"libOpenCL.so",     "libze_loader.so", "libcuda.so",  "libcudart.so",
	"libtorch_cuda.so", "libsycl.so",      "libnvrtc.so",
};

/* Finds it as the shell would; false if there is no such file. */
static bool search_program(const char *given, char *out, size_t size)
{
	struct stat status;

	if (!strchr(given, '/') && gt_tool_search(given, out, size))
		return true;
	snprintf(out, size, "%s", given);
	return !stat(out, &status);
}

/* The loader ignores the environment of a program that has more rights than its caller. */
static bool check_rights(struct gt_doctor *d, const char *path)
{
	const char *why = gt_program_rights(path);

	if (!why)
		return true;
	gt_doctor_say(d, GT_FINDING_BAD, "rights", "%s, so no library can be loaded into it", why);
	gt_doctor_remedy(d, "track a copy without these rights, as a user who has them, or attach "
			    "to it as root");
	return false;
}

static void check_symbols(struct gt_doctor *d, const char *path)
{
	struct gt_symbolizer *symbolizer;
	int module;

	if (gt_symbolizer_new(&symbolizer, NULL))
		return;
	module = gt_symbolizer_module(symbolizer, &(struct gt_symbol_module){ .path = path });
	switch (module < 0 ? GT_SYMBOL_MISSING : gt_symbolizer_state(symbolizer, module)) {
	case GT_SYMBOL_FULL:
		gt_doctor_say(d, GT_FINDING_GOOD, "debug info", "functions, files and lines");
		break;
	case GT_SYMBOL_NAMES:
		gt_doctor_say(d, GT_FINDING_NOTE, "debug info",
			      "functions only, no files or lines");
		gt_doctor_remedy(d, "build it with -g, or install its debug package");
		break;
	default:
		gt_doctor_say(d, GT_FINDING_BAD, "debug info",
			      "stripped: stacks will show offsets");
		gt_doctor_remedy(d, "build it with -g and do not strip it, install its debug "
				    "package, or use report --debuginfod");
	}
	gt_symbolizer_free(symbolizer);
}

/* Adds the libraries of our list that the dynamic section needs. */
static void list_needed(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, char *list,
			size_t size)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		const char *name = entry.d_tag == DT_NEEDED ?
					   elf_strptr(elf, header->sh_link, entry.d_un.d_val) :
					   NULL;

		for (size_t k = 0; name && k < sizeof gpu_libraries / sizeof *gpu_libraries; k++)
			if (gt_text_begins(name, gpu_libraries[k]))
				snprintf(list + strlen(list), size - strlen(list), "%s%s",
					 *list ? ", " : "", name);
	}
}

static void check_libraries(struct gt_doctor *d, Elf *elf)
{
	char list[512] = "";
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
			list_needed(elf, section, &header, list, sizeof list);
	if (*list)
		gt_doctor_say(d, GT_FINDING_GOOD, "GPU libraries", "%s", list);
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "GPU libraries",
			      "none is linked; the program may load one at run time");
}

/* Whether it has a dynamic loader, which is what loads our libraries. */
static bool check_linking(struct gt_doctor *d, Elf *elf)
{
	GElf_Ehdr header;
	GElf_Phdr segment;
	size_t count = 0;

	if (gelf_getclass(elf) != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    !gelf_getehdr(elf, &header)) {
		gt_doctor_say(d, GT_FINDING_BAD, "machine",
			      "built for another architecture than gputrack");
		return false;
	}
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP)
			return true;
	gt_doctor_say(d, GT_FINDING_BAD, "linking", "static: no library can be loaded into it");
	gt_doctor_remedy(d,
			 "link it dynamically; programs that it starts are tracked nevertheless");
	return false;
}

static bool check_elf(struct gt_doctor *d, const char *path, int fd, const struct stat *status)
{
	bool can;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return false;
	/* report all three, whatever the first finds */
	can = check_rights(d, path);
	can = check_linking(d, elf) && can;
	check_libraries(d, elf);
	elf_end(elf);
	check_symbols(d, path);
	return can;
}

bool gt_doctor_program(struct gt_doctor *d)
{
	char given[PATH_MAX], path[PATH_MAX];
	struct stat status;
	bool can = true;
	int fd;

	if (!search_program(d->program, given, sizeof given) || !realpath(given, path)) {
		gt_doctor_say(d, GT_FINDING_BAD, "file", "%s: %s", given, strerror(errno));
		return false;
	}
	fd = gt_elf_open(path, &status);
	if (fd < 0) {
		gt_doctor_say(d, GT_FINDING_BAD, "file", "%s: %s", path,
			      fd == -EINVAL ? "not an executable file" : strerror(-fd));
		return false;
	}
	gt_doctor_say(d, GT_FINDING_GOOD, "file", "%s", path);
	if (gt_elf_check(fd, &status))
		gt_doctor_say(d, GT_FINDING_NOTE, "kind",
			      "not an ELF program, perhaps a script: programs that it starts are "
			      "tracked");
	else
		can = check_elf(d, path, fd, &status);
	close(fd);
	return can;
}
