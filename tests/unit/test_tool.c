/* SPDX-License-Identifier: MIT */
/* test_tool.c - the name in hints is one that runs this program when it is typed. */
#include "base/tool.h"

#include "test_writer.h"

/* A folder with a gputrack in it that can be run, or cannot. */
static const char *folder_with(const char *name, mode_t mode)
{
	const char *folder = fresh_path(name);
	char path[256];
	int fd;

	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(path, sizeof path, "%s/gputrack", folder);
	fd = open(path, O_WRONLY | O_CREAT, mode);
	assert_true(fd >= 0);
	close(fd);
	return folder;
}

static void set_path(const char *first, const char *second)
{
	char list[512];

	snprintf(list, sizeof list, "/nowhere:%s:%s", first, second);
	assert_int_equal(setenv("PATH", list, 1), 0);
}

static const char *name_of(const char *word)
{
	gt_tool_called(word);
	return gt_tool_name();
}

static void who_is_on_the_path_has_its_name(void **state)
{
	const char *ours = folder_with("ours", 0700), *other = folder_with("other", 0700);
	const char *useless = folder_with("useless", 0600);
	char word[256];

	snprintf(word, sizeof word, "%s/gputrack", ours);
	set_path(ours, other);
	assert_string_equal(name_of(word), "gputrack");
	/* a file that cannot be run is passed over, by a shell too */
	set_path(useless, ours);
	assert_string_equal(name_of(word), "gputrack");
	/* another one comes first */
	set_path(other, ours);
	assert_string_equal(name_of(word), word);
	set_path(useless, useless);
	assert_string_equal(name_of(word), word);
	unsetenv("PATH");
	assert_string_equal(name_of(word), word);
}

static void a_path_through_a_link_is_the_same_program(void **state)
{
	const char *ours = folder_with("ours", 0700), *links = fresh_path("links");
	char word[256], link[256];

	assert_int_equal(mkdir(links, 0700), 0);
	snprintf(word, sizeof word, "%s/gputrack", ours);
	snprintf(link, sizeof link, "%s/gputrack", links);
	assert_int_equal(symlink(word, link), 0);
	set_path(links, "/nowhere");
	assert_string_equal(name_of(word), "gputrack");
}

static void words_that_cannot_be_copied_are_not_shown(void **state)
{
	setenv("PATH", "/nowhere", 1);
	assert_string_equal(name_of("build/gputrack"), "build/gputrack");
	assert_string_equal(name_of("./build-2/gputrack_1.0"), "./build-2/gputrack_1.0");
	assert_string_equal(name_of("/tmp/my programs/gputrack"), "gputrack");
	assert_string_equal(name_of("/tmp/\033[31m/gputrack"), "gputrack");
	assert_string_equal(name_of("/tmp/$(reboot)/gputrack"), "gputrack");
	/* found by a shell, or by nobody */
	assert_string_equal(name_of("gputrack"), "gputrack");
	assert_string_equal(name_of(""), "gputrack");
	assert_string_equal(name_of(NULL), "gputrack");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_on_the_path_has_its_name),
		cmocka_unit_test(a_path_through_a_link_is_the_same_program),
		cmocka_unit_test(words_that_cannot_be_copied_are_not_shown),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
