/* SPDX-License-Identifier: MIT */
/* test_modules.c - the mapped files of a process, with address and path. */
#include "capture/ebpf/modules.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BASE = 0x7f0000, PAGE = 0x1000, TEXT_AT = 0x6d0 };

struct file {
	Elf64_Ehdr head;
	Elf64_Phdr loads[2];
};

/* As lld lays it out: headers and code share a page in the file but not in memory. */
static struct file shared_page(void)
{
	struct file f = {
		.head = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			  .e_phoff = sizeof(Elf64_Ehdr), .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2 },
		.loads = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = TEXT_AT,
			  .p_memsz = TEXT_AT, .p_align = PAGE },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = TEXT_AT,
			  .p_vaddr = PAGE + TEXT_AT, .p_filesz = 0x200, .p_memsz = 0x200,
			  .p_align = PAGE },
		},
	};

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_ident[EI_VERSION] = EV_CURRENT;
	return f;
}

static void save(const char *path, const struct file *f)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(f, sizeof *f, 1, out), 1);
	assert_int_equal(fclose(out), 0);
}

/* A mapping of the file's code, and the file; `path` is filled in. */
static struct gt_mapping code_of(char *path, const struct file *f)
{
	struct stat st;

	close(mkstemp(path));
	save(path, f);
	assert_int_equal(stat(path, &st), 0);
	return (struct gt_mapping){ .start = BASE + PAGE,
				    .end = BASE + 2 * PAGE,
				    .is_code = true,
				    .is_past = true,
				    .inode = st.st_ino,
				    .path = path };
}

static void code_sharing_a_page_with_earlier_data_is_located_correctly(void **state)
{
	char path[] = "/tmp/gputrack-image.XXXXXX";
	const struct file f = shared_page();
	struct gt_mapping m = code_of(path, &f);
	struct gt_images images = { 0 };
	struct gt_image *image = gt_images_get(&images, &m, 1);

	(void)state;
	assert_non_null(image);
	assert_int_equal(gt_image_bias(image, &m), BASE);
	/* where all that can be read may be executed, and that is mapped alone */
	assert_int_equal(gt_image_bias(&(struct gt_image){ .segment_count = 1,
							   .segments = { { .offset = PAGE,
									   .address = 3 * PAGE,
									   .size = 8 } } },
				       &(struct gt_mapping){ .start = BASE + 3 * PAGE,
							     .end = BASE + 4 * PAGE,
							     .offset = PAGE }),
			 BASE);
	gt_images_fini(&images);
	unlink(path);
}

static void a_rewritten_file_is_another_image(void **state)
{
	char path[] = "/tmp/gputrack-image.XXXXXX";
	struct file f = shared_page();
	struct gt_mapping m = code_of(path, &f);
	struct gt_images images = { 0 };
	struct gt_image *image = gt_images_get(&images, &m, 1);

	(void)state;
	assert_ptr_equal(gt_images_get(&images, &m, 1), image);
	f.loads[1].p_vaddr += PAGE;
	save(path, &f);
	/* both lie in one tick of a coarse clock */
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ { 5, 6 }, { 7, 8 } }, 0),
			 0);
	assert_ptr_not_equal(gt_images_get(&images, &m, 1), image);
	assert_int_equal(gt_image_bias(gt_images_get(&images, &m, 1), &m), BASE - PAGE);
	/* who mapped it before still has it */
	assert_int_equal(gt_image_bias(image, &m), BASE);
	gt_images_fini(&images);
	unlink(path);
}

static void a_file_that_took_the_place_of_the_mapped_one_is_not_read(void **state)
{
	char path[] = "/tmp/gputrack-image.XXXXXX";
	const struct file f = shared_page();
	struct gt_mapping m = code_of(path, &f);
	struct gt_images images = { 0 };

	(void)state;
	m.inode++;
	assert_null(gt_images_get(&images, &m, (uint32_t)getpid()));
	assert_int_equal(gt_mapping_open(&m, (uint32_t)getpid()), -ESTALE);
	gt_images_fini(&images);
	unlink(path);
}

static void a_file_that_only_its_processes_see_is_reached_through_one_that_lives(void **state)
{
	char path[] = "/tmp/gputrack-image.XXXXXX", expected[64];
	const struct file f = shared_page();
	struct gt_mapping m = code_of(path, &f);
	struct gt_images images = { 0 };
	struct gt_image *image = gt_images_get(&images, &m, 1);
	const uint32_t nobody = 1u << 30; /* no kernel has so many */

	(void)state;
	assert_string_equal(gt_image_path(image, nobody), path);
	free(image->path);
	image->path = strdup("/proc/1073741824/root/gone");
	snprintf(expected, sizeof expected, "/proc/%d/root%s", (int)getpid(), path);
	assert_string_equal(gt_image_path(image, (uint32_t)getpid()), expected);
	assert_string_equal(gt_image_path(image, nobody), expected);
	/* nowhere any more: what is known of it stays */
	unlink(path);
	assert_string_equal(gt_image_path(image, nobody), expected);
	gt_images_fini(&images);
}

/* Its calls may be read when it runs another program already. */
static void the_modules_of_a_program_outlive_its_exec(void **state)
{
	uint64_t here = (uint64_t)(uintptr_t)the_modules_of_a_program_outlive_its_exec;
	struct gt_images images = { 0 };
	struct gt_modules modules = { 0 };
	int ends[2], status;
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* closed by exec */
	close(ends[0]);
	gt_modules_look(&modules, &images, (uint32_t)getpid());
	assert_non_null(gt_modules_find(&modules, here));
	status = gt_modules_look(&modules, &images, (uint32_t)pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(status);
	assert_true(modules.is_gone);
	assert_non_null(gt_modules_find(&modules, here));
	gt_modules_fini(&modules);
	gt_images_fini(&images);
}

static void further_files_than_the_limit_are_not_read(void **state)
{
	char path[] = "/tmp/gputrack-image.XXXXXX";
	const struct file f = shared_page();
	struct gt_mapping m = code_of(path, &f);
	static struct gt_image other;
	static struct gt_image *list[GT_IMAGES_MAX];
	struct gt_images images = { .list = list, .count = GT_IMAGES_MAX, .room = GT_IMAGES_MAX };

	(void)state;
	for (size_t i = 0; i < GT_IMAGES_MAX; i++)
		list[i] = &other;
	assert_null(gt_images_get(&images, &m, 1));
	assert_int_equal(images.count, GT_IMAGES_MAX);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_modules_of_a_program_outlive_its_exec),
		cmocka_unit_test(further_files_than_the_limit_are_not_read),
		cmocka_unit_test(code_sharing_a_page_with_earlier_data_is_located_correctly),
		cmocka_unit_test(a_rewritten_file_is_another_image),
		cmocka_unit_test(a_file_that_took_the_place_of_the_mapped_one_is_not_read),
		cmocka_unit_test(
			a_file_that_only_its_processes_see_is_reached_through_one_that_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
