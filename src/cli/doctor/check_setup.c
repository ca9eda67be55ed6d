/* SPDX-License-Identifier: MIT */
/* check_setup.c - the doctor's checks of gputrack itself and of this user's permissions. */
#include "cli/doctor/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/format.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "symbol/symbol.h"

#include "built_features.h"

/* The first object of dl_iterate_phdr is the program itself. */
static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

/* Looks up our own function: if that works, it works for other programs. */
static bool check_lookup(struct gt_doctor *d)
{
	struct gt_symbolizer *symbolizer;
	const struct gt_frame *frames;
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	uint64_t bias = 0;
	int module;

	path[length > 0 ? length : 0] = '\0';
	if (gt_symbolizer_new(&symbolizer, NULL)) {
		gt_doctor_say(d, GT_FINDING_BAD, "look-up", "cannot look up symbols");
		return false;
	}
	dl_iterate_phdr(take_bias, &bias);
	module = gt_symbolizer_module(symbolizer, &(struct gt_symbol_module){ .path = path });
	if (module < 0 ||
	    !gt_symbolizer_resolve(symbolizer, module, (uint64_t)(uintptr_t)gt_cmd_doctor - bias,
				   &frames) ||
	    !frames[0].function || strcmp(frames[0].function, "gt_cmd_doctor"))
		gt_doctor_say(d, GT_FINDING_NOTE, "look-up",
			      "not tested, because this gputrack is stripped");
	else if (frames[0].line)
		gt_doctor_say(d, GT_FINDING_GOOD, "look-up",
			      "functions, files and lines are found");
	else
		gt_doctor_say(d, GT_FINDING_GOOD, "look-up",
			      "functions are found; line numbers were not tested, because this "
			      "gputrack has none");
	gt_symbolizer_free(symbolizer);
	return true;
}

static void check_debuginfod(struct gt_doctor *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	const char *why;
	void *library = gt_tool_load("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL, &why);

	if (!library && gt_tool_is_static()) {
		gt_doctor_say(d, GT_FINDING_NOTE, "debuginfod", "%s", why);
	} else if (!library) {
		gt_doctor_say(d, GT_FINDING_NOTE, "debuginfod",
			      "libdebuginfod.so.1 is not installed");
		gt_doctor_remedy(d,
				 "needed only for report --debuginfod: apt install libdebuginfod1");
	} else if (!urls || !*urls) {
		gt_doctor_say(d, GT_FINDING_NOTE, "debuginfod",
			      "no servers: DEBUGINFOD_URLS is not set");
		gt_doctor_remedy(d, "needed only for report --debuginfod: set it to your "
				    "distribution's server");
	} else {
		gt_doctor_say(d, GT_FINDING_GOOD, "debuginfod", "used by report --debuginfod: %s",
			      urls);
	}
}

bool gt_doctor_symbols(struct gt_doctor *d)
{
	bool works = check_lookup(d);

	check_debuginfod(d);
	return works;
}

/* Where GPUs are opened; without access no driver answers. */
/* clang-format off */
static const char *const device_files[] = {
	"/dev/dri/renderD*", "/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/kfd",
};
/* clang-format on */

/* The first device that exists but that we may not use; *seen: some exist. */
static const char *find_closed(glob_t *found, bool *seen)
{
	for (size_t i = 0; i < sizeof device_files / sizeof *device_files; i++)
		glob(device_files[i], i ? GLOB_APPEND : 0, NULL, found);
	*seen = found->gl_pathc;
	for (size_t i = 0; i < found->gl_pathc; i++)
		if (access(found->gl_pathv[i], R_OK | W_OK))
			return found->gl_pathv[i];
	return NULL;
}

static bool check_devices(struct gt_doctor *d)
{
	glob_t found = { 0 };
	struct stat status;
	struct group *group;
	bool seen;
	const char *closed = find_closed(&found, &seen);

	if (closed) {
		gt_doctor_say(d, GT_FINDING_BAD, "GPU devices", "cannot open %s: %s", closed,
			      strerror(errno));
		group = stat(closed, &status) ? NULL : getgrgid(status.st_gid);
		if (group && status.st_gid)
			gt_doctor_remedy(d,
					 "join its group and log in again: sudo usermod -aG %s "
					 "$USER",
					 group->gr_name);
	} else if (seen) {
		gt_doctor_say(d, GT_FINDING_GOOD, "GPU devices",
			      "%zu can be opened, the first is %s", found.gl_pathc,
			      found.gl_pathv[0]);
	} else {
		gt_doctor_say(d, GT_FINDING_NOTE, "GPU devices",
			      "no GPU in /dev; drivers for the CPU need none");
	}
	globfree(&found);
	return !closed;
}

static void check_locked(struct gt_doctor *d)
{
	struct rlimit limit;
	char text[GT_FORMAT_MAX];

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		gt_doctor_say(d, GT_FINDING_GOOD, "locked memory", "no limit");
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "locked memory",
			      "at most %s (ulimit -l); limits the host memory that drivers pin, "
			      "but not attach",
			      gt_format_bytes(text, limit.rlim_cur));
}

bool gt_doctor_permissions(struct gt_doctor *d)
{
	bool works = check_devices(d);

	check_locked(d);
	return works;
}

bool gt_doctor_recordings(struct gt_doctor *d)
{
	char name[] = "gputrack-doctor.XXXXXX", room[GT_FORMAT_MAX] = "unknown room";
	struct statvfs fs;

	if (!mkdtemp(name)) {
		gt_doctor_say(d, GT_FINDING_BAD, "this folder",
			      "recordings cannot be written here: %s", strerror(errno));
		gt_doctor_remedy(d, "choose another place: gputrack run -o FOLDER/NAME.gt ...");
		return false;
	}
	rmdir(name);
	if (!statvfs(".", &fs))
		gt_format_bytes(room, (uint64_t)fs.f_bavail * fs.f_frsize);
	gt_doctor_say(d, GT_FINDING_GOOD, "this folder", "recordings can be written here, %s free",
		      room);
	return true;
}

bool gt_doctor_config(struct gt_doctor *d)
{
	size_t count;
	const char *path = gt_config_path(&count), *ignored = gt_config_ignored(),
		   *mistake = gt_config_mistake();

	if (mistake)
		gt_doctor_say(d, GT_FINDING_BAD, "settings", "%s", mistake);
	else if (path || count)
		gt_doctor_say(d, GT_FINDING_GOOD, "settings", "%s, %zu %s in all",
			      path ? path : "GPUTRACK_OPTIONS", count,
			      gt_plural(count, "setting", "settings"));
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "settings",
			      "none in .gputrackrc here or in ~/.config/gputrack/config");
	if (ignored)
		gt_doctor_remedy(d, "%s", ignored);
	else if (mistake)
		gt_doctor_remedy(
			d,
			"correct it; until then the other commands fail (see `gputrack config`)");
	return !mistake;
}

struct feature {
	const char *name;
	bool is_in;
	const char *option, *needs; /* the Meson option, and what it requires */
};

static const struct feature features[] = { GT_FEATURE_ROWS };

bool gt_doctor_features(struct gt_doctor *d)
{
	for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
		const struct feature *f = &features[i];

		gt_doctor_say(d, f->is_in ? GT_FINDING_GOOD : GT_FINDING_NOTE, f->name, "%s",
			      f->is_in ? "yes" : "not in this build");
		if (!f->is_in)
			gt_doctor_remedy(d, "rebuild with -D%s=enabled; needs %s", f->option,
					 f->needs);
	}
	return true;
}
