/* SPDX-License-Identifier: MIT */
/* thread.h - threads of the tool. */
#pragma once

#include <pthread.h>

/* A thread that takes no signals: they are the main one's, which passes them on. 0 or an errno. */
int gt_thread_start(pthread_t *thread, void *(*run)(void *), void *context);
