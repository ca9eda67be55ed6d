/* SPDX-License-Identifier: MIT */
/* test_identity.c - containers and pods, as the runtimes write them into cgroup paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/identity.h"

#define ID   "4f5e6d7c8b9a0123456789abcdef0123456789abcdef0123456789abcdef0123"
#define POD  "6f1c2d3e-4a5b-6c7d-8e9f-0a1b2c3d4e5f"
#define POD_ "6f1c2d3e_4a5b_6c7d_8e9f_0a1b2c3d4e5f"

static const struct {
	const char *cgroups, *runtime, *container, *pod;
} cases[] = {
	{ "0::/user.slice/user-1000.slice/session-3.scope\n", "", "", "" },
	{ "0::/\n", "", "", "" },
	{ "", "", "", "" },
	/* Docker, by systemd and by itself, and before version 2 */
	{ "0::/system.slice/docker-" ID ".scope\n", "docker", ID, "" },
	{ "0::/docker/" ID "\n", "docker", ID, "" },
	{ "12:devices:/docker/" ID "\n11:memory:/docker/" ID "\n", "docker", ID, "" },
	{ "0::/../" ID "\n", "", ID, "" },
	/* Kubernetes, with each driver of its own */
	{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_
	  ".slice/cri-containerd-" ID ".scope\n",
	  "containerd", ID, POD },
	{ "0::/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" ID ".scope\n", "cri-o", ID, POD },
	{ "0::/kubepods/besteffort/pod" POD "/" ID "\n", "", ID, POD },
	{ "0::/system.slice/containerd.service/kubepods-burstable-pod" POD_
	  ".slice:cri-containerd:" ID "\n",
	  "containerd", ID, POD },
	/* a static pod's id has no hyphens, and is no container's */
	{ "0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef\n", "", "",
	  "0123456789abcdef0123456789abcdef" },
	/* Podman, whose containers are below another group inside */
	{ "0::/machine.slice/libpod-" ID ".scope/container\n", "podman", ID, "" },
	{ "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope\n",
	  "podman", ID, "" },
	/* containers in a container: the innermost */
	{ "0::/system.slice/docker-0000000000000000000000000000000000000000000000000000000000000000"
	  ".scope/docker/" ID "\n",
	  "docker", ID, "" },
	/* with a name */
	{ "0::/lxc.payload.trainer/init.scope\n", "lxc", "trainer", "" },
	{ "0::/lxc/trainer\n", "lxc", "trainer", "" },
	{ "0::/machine.slice/machine-trainer.scope\n", "nspawn", "trainer", "" },
	{ "0::/machine.slice/machine-qemu-1-vm.scope\n", "", "", "" },
	/* words that only look like one */
	{ "0::/system.slice/podman.service\n", "", "", "" },
	{ "0::/user.slice/0123456789abcdef.scope\n", "", "", "" },
};

static void every_runtimes_paths_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_identity who = { .uid = 0 };

		gt_identity_find_container(&who, cases[i].cgroups);
		assert_string_equal(who.runtime, cases[i].runtime);
		assert_string_equal(who.container, cases[i].container);
		assert_string_equal(who.pod, cases[i].pod);
	}
}

static void a_pod_is_called_by_the_name_of_its_host(void **state)
{
	struct gt_identity who = { .pod = POD, .container = ID };
	char text[100];

	(void)state;
	assert_string_equal(gt_identity_container_text(&who, text, sizeof text), "pod " POD);
	snprintf(who.host, sizeof who.host, "trainer-0");
	assert_string_equal(gt_identity_container_text(&who, text, sizeof text), "pod trainer-0");
	who.pod[0] = '\0';
	assert_string_equal(gt_identity_container_text(&who, text, sizeof text),
			    "container 4f5e6d7c8b9a (trainer-0)");
	snprintf(who.host, sizeof who.host, "4f5e6d7c8b9a");
	assert_string_equal(gt_identity_container_text(&who, text, sizeof text),
			    "container 4f5e6d7c8b9a");
	who.host[0] = '\0';
	snprintf(who.container, sizeof who.container, "trainer");
	assert_string_equal(gt_identity_container_text(&who, text, sizeof text),
			    "container trainer");
	who = (struct gt_identity){ .uid = 0 };
	assert_string_equal(gt_identity_container_text(&who, text, sizeof text), "");
}

static void a_process_has_a_user(void **state)
{
	struct gt_identity who;

	(void)state;
	gt_identity_read(&who, (uint32_t)getpid());
	assert_int_equal(who.uid, getuid());
	gt_identity_set_user(&who, 0);
	assert_string_equal(who.user, "root");
	gt_identity_set_user(&who, 4000000000u);
	assert_string_equal(who.user, "4000000000");
	assert_int_equal(gt_user_number("root"), 0);
	assert_int_equal(gt_user_number("nobody of that name"), GT_UID_UNKNOWN);
	/* whoever is gone has none */
	gt_identity_read(&who, 0x7ffffff0);
	assert_int_equal(who.uid, GT_UID_UNKNOWN);
	assert_string_equal(who.user, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_runtimes_paths_are_understood),
		cmocka_unit_test(a_pod_is_called_by_the_name_of_its_host),
		cmocka_unit_test(a_process_has_a_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
