/* SPDX-License-Identifier: MIT */
/* privileges.c - programs that give up what they may do, or where they are. */
#include "odd.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void make_child(void)
{
	pid_t child = fork();

	if (!child) {
		calls(3);
		_exit(4);
	}
	say_end("child", child);
}

static void change_root(void)
{
	if (mkdir("root", 0755) && errno != EEXIST)
		fail("no folder: %m");
	if (chroot("root") || chdir("/"))
		skip("no chroot: %m");
}

static int chrooted(void)
{
	change_root();
	calls(200);
	return 0;
}

/* The child cannot reach the recording. */
static int child_of_chrooted(void)
{
	change_root();
	make_child();
	return 0;
}

/* The working folder goes away. */
static int moved(void)
{
	if (mkdir("gone", 0755) || chdir("gone") || rmdir("../gone"))
		fail("no folder: %m");
	calls(200);
	say("made %d", open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0666) >= 0);
	return 0;
}

static void be_nobody(void)
{
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		skip("only root can be another user: %m");
}

static int other_user(void)
{
	be_nobody();
	calls(200);
	return 0;
}

static int child_of_other_user(void)
{
	be_nobody();
	make_child();
	return 0;
}

static int no_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (syscall(SYS_capset, &head, none))
		fail("no capset: %m");
	calls(200);
	return 0;
}

static int controlled(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "odd\nname \033[1m");
	calls(200);
	prctl(PR_SET_NAME, "odd");
	make_child();
	return 0;
}

static int own_users(void)
{
	if (unshare(CLONE_NEWUSER))
		skip("no user namespace: %m");
	calls(50);
	return 0;
}

static int own_pids(void)
{
	pid_t child;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		skip("no pid namespace: %m");
	child = fork();
	if (!child) {
		calls(5);
		say("pid %d", (int)getpid());
		_exit(getpid());
	}
	say_end("child", child);
	return 0;
}

const struct mode privilege_modes[] = {
	{ .name = "chroot", .run = chrooted },
	{ .name = "chroot-fork", .run = child_of_chrooted },
	{ .name = "other-user-fork", .run = child_of_other_user },
	{ .name = "folder-gone", .run = moved },
	{ .name = "other-user", .run = other_user },
	{ .name = "no-capabilities", .run = no_capabilities },
	{ .name = "controlled", .run = controlled },
	{ .name = "own-users", .run = own_users },
	{ .name = "own-pids", .run = own_pids },
	{ .name = NULL },
};
