/* SPDX-License-Identifier: MIT */
/* thread_key.h - keys whose destructors run when a thread ends. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/*
 * Creates a key; false: there is none left. From the 33rd key of a process on, the C library
 * allocates memory for a thread's first value, and in doing so for the first time, takes 3 KB of
 * the stack to find its own calloc: it does that here, not in a call of the program's.
 */
static inline bool gt_thread_key_create(pthread_key_t *key, void (*ended)(void *))
{
	if (pthread_key_create(key, ended))
		return false;
	pthread_setspecific(*key, key);
	pthread_setspecific(*key, NULL);
	return true;
}
