// SPDX-License-Identifier: MIT
// jumps_throw.cpp - exceptions around calls, through a callback of the driver, and in threads that end.
#include "odd.h"

#include <stdexcept>
#include <thread>

namespace
{
struct object {
	void *handle = door_create();
	object() = default;
	object(const object &) = delete;
	object &operator=(const object &) = delete;
	~object()
	{
		door_release(handle);
	}
};

thread_local object of_thread;

void descend(int depth)
{
	object own;

	if (!depth)
		throw std::runtime_error("bottom");
	descend(depth - 1);
}

void throw_here()
{
	object own;

	throw std::runtime_error("in a callback");
}
}

// Destructors make calls while the stack is unwound, and when a thread ends.
extern "C" int throw_around_calls(void)
{
	for (int i = 0; i < 5; i++) {
		try {
			descend(i);
		} catch (const std::exception &e) {
			say("caught %s", e.what());
		}
		std::thread([] { (void)!of_thread.handle; }).join();
	}
	return 0;
}

extern "C" int throw_through_callback(void)
{
	for (int i = 0; i < 5; i++) {
		try {
			door_call_back(throw_here);
		} catch (const std::exception &e) {
			say("caught %s", e.what());
		}
		calls(1);
	}
	return 0;
}
