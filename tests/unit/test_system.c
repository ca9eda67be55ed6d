/* SPDX-License-Identifier: MIT */
/* test_system.c - the description of a machine, from files that describe one. */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/doctor/system.h"

#define CPU "/sys/devices/system/cpu/"

/* The machine of the first stress test, as its kernel describes it. */
static const char *const machine[][2] = {
	{ "/proc/sys/kernel/osrelease", "6.11.0-26-generic\n" },
	{ "/proc/sys/kernel/version",
	  "#26~24.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Apr 17 19:20:47 UTC 2\n" },
	{ "/proc/sys/kernel/arch", "x86_64\n" },
	{ "/etc/os-release",
	  "PRETTY_NAME=\"Ubuntu 24.04.2 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\n"
	  "VERSION=\"24.04.2 LTS (Noble Numbat)\"\nVERSION_CODENAME=noble\nID=ubuntu\n"
	  "ID_LIKE=debian\nHOME_URL=\"https://www.ubuntu.example/\"\n"
	  "SUPPORT_URL=\"https://help.ubuntu.example/\"\n# a remark\nUBUNTU_CODENAME=noble\n"
	  "LOGO=ubuntu-logo\n" },
	{ "/sys/class/dmi/id/sys_vendor", "ASUSTeK COMPUTER INC.\n" },
	{ "/sys/class/dmi/id/product_name", "ROG STRIX X570-F GAMING\n" },
	{ "/sys/class/dmi/id/bios_version", "5031\n" },
	{ "/sys/class/dmi/id/bios_date", "01/13/2025\n" },
	{ CPU "present", "0-31\n" },
	{ CPU "online", "0-31\n" },
	{ CPU "cpu0/topology/thread_siblings_list", "0,16\n" },
	{ CPU "cpu0/topology/physical_package_id", "0\n" },
	{ CPU "cpu1/topology/physical_package_id", "0\n" },
	{ CPU "cpu0/cpufreq/scaling_cur_freq", "1500000\n" },
	{ CPU "cpu0/cpufreq/cpuinfo_max_freq", "5000000\n" },
	{ CPU "cpu1/cpufreq/scaling_cur_freq", "1300000\n" },
	{ CPU "cpu1/cpufreq/cpuinfo_max_freq", "5000000\n" },
	{ "/sys/devices/system/node/node0/cpulist", "0-31\n" },
	{ "/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 33\n"
			   "model name\t: AMD Ryzen 9 5950X 16-Core Processor\n" },
	{ "/proc/meminfo", "MemTotal:       131596288 kB\nMemFree:        49387929 kB\n"
			   "MemAvailable:   49702502 kB\nBuffers:            6867 kB\n"
			   "Cached:          2000000 kB\nSwapCached:            9 kB\n"
			   "SwapTotal:      29255270 kB\nSwapFree:        7864320 kB\n"
			   "Shmem:             25600 kB\nSReclaimable:     300000 kB\n" },
};

static const char block[] =
	"==============================\n"
	" 🖥️  System & Kernel Info\n"
	"==============================\n"
	"Linux 6.11.0-26-generic #26~24.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Apr 17 19:20:47 UTC 2 "
	"x86_64 x86_64 x86_64 GNU/Linux\n"
	"\n"
	"Operating System: Ubuntu 24.04.2 LTS\n"
	"          Kernel: Linux 6.11.0-26-generic\n"
	"    Architecture: x86-64\n"
	" Hardware Vendor: ASUSTeK COMPUTER INC.\n"
	"  Hardware Model: ROG STRIX X570-F GAMING\n"
	"Firmware Version: 5031\n"
	"   Firmware Date: Mon 2025-01-13\n"
	"    Firmware Age: 7month 4w\n"
	"\n"
	"==============================\n"
	" 📦 Distribution Info\n"
	"==============================\n"
	"PRETTY_NAME=\"Ubuntu 24.04.2 LTS\"\n"
	"NAME=\"Ubuntu\"\n"
	"VERSION_ID=\"24.04\"\n"
	"VERSION=\"24.04.2 LTS (Noble Numbat)\"\n"
	"VERSION_CODENAME=noble\n"
	"ID=ubuntu\n"
	"ID_LIKE=debian\n"
	"UBUNTU_CODENAME=noble\n"
	"\n"
	"==============================\n"
	" 💾 Hardware Info\n"
	"==============================\n"
	"Architecture:                         x86_64\n"
	"CPU(s):                               32\n"
	"On-line CPU(s) list:                  0-31\n"
	"Model name:                           AMD Ryzen 9 5950X 16-Core Processor\n"
	"BIOS Model name:                      AMD Ryzen 9 5950X 16-Core Processor             "
	"Unknown CPU @ 3.4GHz\n"
	"Thread(s) per core:                   2\n"
	"Socket(s):                            1\n"
	"CPU(s) scaling MHz:                   28%\n"
	"NUMA node0 CPU(s):                    0-31\n"
	"\n"
	"               total        used        free      shared  buff/cache   available\n"
	"Mem:           125Gi        78Gi        47Gi        25Mi       2.2Gi        47Gi\n"
	"Swap:           27Gi        20Gi       7.5Gi\n"
	"\n"
	"Filesystem                                        Size  Used Avail Use% Mounted on\n"
	"total                                              93T  1.6T   92T   2% -\n"
	"\n"
	"==============================\n"
	" 🎮 GPU Info\n"
	"==============================\n"
	"[NVIDIA GPUs detected]\n"
	"GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-47def375-4603-e5fa-82d3-c7cddc81e65a)\n"
	"\n"
	"0, NVIDIA GeForce RTX 5090, 570.133.07, 32607, 4492, 27620, 0\n";

static char root[64];

/* A file below the root, with its parent folders. */
static void put_file(const char *path, const char *bytes, size_t size)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof full, "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		assert_true(!mkdir(full, 0700) || errno == EEXIST);
		*at = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fwrite(bytes, 1, size, file);
	fclose(file);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gputrack-system.XXXXXX");
	return !mkdtemp(root);
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char *write_system(struct gt_system *s)
{
	char *text = NULL;
	size_t size;

	s->out = open_memstream(&text, &size);
	s->root = root;
	if (!s->others)
		s->others = "";
	gt_system_write(s);
	fclose(s->out);
	return text;
}

static void a_known_machine_is_described_exactly(void **state)
{
	/* record 4 of the firmware: version is string 1, part number string 2, 3,400 MHz */
	char dmi[0x30 + 64] = { 4, 0x30 };
	/* clang-format off */
	struct gt_system s = {
		.utf8 = true, .today = 1757608952, /* 2025-09-11 16:42:32 */
		.disks = { 185ull << 39, 1587ull << 30, 183ull << 39 }, .gpu_count = 1,
		.gpus = { { .name = "NVIDIA GeForce RTX 5090", .driver = "570.133.07",
			    .uuid = "GPU-47def375-4603-e5fa-82d3-c7cddc81e65a",
			    .total_bytes = 32607ull << 20, .used_bytes = 4492ull << 20,
			    .free_bytes = 27620ull << 20 } },
	};
	/* clang-format on */
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
		put_file(machine[i][0], machine[i][1], strlen(machine[i][1]));
	dmi[0x10] = 1;
	dmi[0x16] = 3400 & 0xff;
	dmi[0x17] = 3400 >> 8;
	dmi[0x22] = 2;
	strcpy(dmi + 0x30, "AMD Ryzen 9 5950X 16-Core Processor            ");
	strcpy(dmi + 0x30 + strlen(dmi + 0x30) + 1, "Unknown");
	put_file("/sys/firmware/dmi/entries/4-0/raw", dmi, sizeof dmi);
	text = write_system(&s);
	assert_string_equal(text, block);
	free(text);
}

static void a_machine_without_information_has_all_sections(void **state)
{
	static const char *const titles[] = { " System & Kernel Info\n", " Distribution Info\n",
					      " Hardware Info\n", " GPU Info\n", "No GPU found\n" };
	struct gt_system s = { 0 };
	char *text = write_system(&s);
	const char *at = text;

	(void)state;
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
		at = strstr(at, titles[i]);
		assert_non_null(at);
	}
	for (at = text; *at; at++) /* plain where it is no UTF-8 */
		assert_true((unsigned char)*at < 0x80);
	free(text);
}

static void other_devices_and_cards_are_listed(void **state)
{
	struct gt_system s = { .utf8 = true, .others = "[OpenCL devices]\n0, a device\n" };
	char *text;

	(void)state;
	put_file("/sys/class/drm/card1/device/vendor", "0x8086\n", 7);
	put_file("/sys/class/drm/card1/device/device", "0x56a0\n", 7);
	put_file("/sys/class/drm/card1/device/uevent", "DRIVER=i915\nPCI_CLASS=30000\n", 28);
	text = write_system(&s);
	assert_non_null(strstr(text, "\n[OpenCL devices]\n0, a device\n\n[DRM cards]\n"
				     "card1: PCI 0x8086:0x56a0, driver i915\n"));
	assert_null(strstr(text, "No GPU"));
	free(text);
}

static void hostile_text_and_damaged_firmware_do_no_harm(void **state)
{
	static const char odd[] = { 4, 0x30, 0, 0 };
	char dmi[64];
	struct gt_system s = { .utf8 = true };
	char *text;

	(void)state;
	put_file("/sys/class/dmi/id/sys_vendor", "\033[2Jx\n", 6);
	put_file("/etc/os-release", "PRETTY_NAME=\"\nID=\033]0;\n", 23);
	put_file(CPU "present", "0-99999999999,7-2,x\n", 20);
	put_file("/sys/firmware/dmi/entries/4-0/raw", odd, sizeof odd);
	text = write_system(&s);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "\\x1b[2Jx"));
	free(text);
	/* strings that do not end, and numbers of strings that there are not */
	memset(dmi, 0x41, sizeof dmi);
	put_file("/sys/firmware/dmi/entries/4-0/raw", dmi, sizeof dmi);
	free(write_system(&s));
	dmi[1] = 0x30;
	put_file("/sys/firmware/dmi/entries/4-0/raw", dmi, sizeof dmi);
	free(write_system(&s));
}

int main(void)
{
#define IN_A_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)
	const struct CMUnitTest tests[] = {
		IN_A_ROOT(a_known_machine_is_described_exactly),
		IN_A_ROOT(a_machine_without_information_has_all_sections),
		IN_A_ROOT(other_devices_and_cards_are_listed),
		IN_A_ROOT(hostile_text_and_damaged_firmware_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
