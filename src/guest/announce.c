/* SPDX-License-Identifier: MIT */
/*
 * announce.c - tells `gputrack run` of a new trace, so that it can learn how this process ends, and
 * of a process that cannot record.
 */
#include "guest/announce.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/small_printf.h"
#include "trace/layout.h"

/* The kernel keeps what was sent, although both ends may be closed before it is received. */
static __attribute__((noinline)) void send_descriptor(int to, const char *name, int descriptor)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof descriptor)];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof descriptor),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec text = { .iov_base = (char *)name, .iov_len = strlen(name) };
	struct msghdr message = { .msg_iov = &text,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof control.bytes };

	memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
	(void)!sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* True under valgrind, which would print that it does not know pidfd_open (3.19). */
static bool is_under_valgrind(void)
{
	enum { RUNNING_ON_VALGRIND = 0x1001 };
	const volatile uint64_t request[6] = { RUNNING_ON_VALGRIND };

	return gt_ask_valgrind(request);
}

void gt_announce_trace(const char *name, uint64_t watcher)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int self = is_under_valgrind() ? -1 : (int)syscall(SYS_pidfd_open, getpid(), 0);
	int to = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* a name that begins with a NUL byte is no file */
	int size = gt_snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
			       GT_WATCHER_SOCKET "%" PRIu64,
			       watcher & ((1u << GT_WATCHER_PID_BITS) - 1));

	if (self >= 0 && to >= 0 &&
	    !connect(to, (const struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)))
		send_descriptor(to, name, self);
	if (self >= 0)
		close(self);
	if (to >= 0)
		close(to);
}

void gt_announce_unrecorded(uint64_t watcher)
{
	char text[sizeof GT_WATCHER_UNRECORDED + 20];

	gt_snprintf(text, sizeof text, GT_WATCHER_UNRECORDED "%" PRIu64, watcher);
	gt_announce_trace(text, watcher);
}
