/* SPDX-License-Identifier: MIT */
/*
 * meter.h - how big this process is, read as cheaply as the kernel allows.
 *
 * Sizes come from /proc/self/statm through a kept descriptor: one system call. statm's data field
 * counts the stack too, so the stack's size (which rarely changes) is taken off it. The peak is the
 * highest size seen, corrected from /proc/self/status now and then: a peak between two samples
 * shows up late. Threads and open files are what stat(2) says of /proc/self/task and …/fd.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gt_meter {
	int64_t size_kb, rss_kb, data_kb; /* VmSize, VmRSS, VmData */
	int64_t anon_kb;                  /* RssAnon: VmRSS less pages of files and shared memory */
};

/* Zeroes where /proc cannot be read. */
void gt_meter_read(struct gt_meter *m);
/* What was read last, by any thread: each number by itself. */
void gt_meter_latest(struct gt_meter *m);
/* Memory that we have mapped and touched, not to be told as the program's; negative: it is gone. */
void gt_meter_exclude(int64_t kb);
/* We have taken memory for ourselves: what this thread read last no longer tells of the program. */
void gt_meter_invalidate(void);
/* Gives what this thread read last, unless it was spoilt since, or never read. */
bool gt_meter_reuse(struct gt_meter *m);
/* VmPeak as far as it is known after `m` was read. */
int64_t gt_meter_peak_kb(const struct gt_meter *m, uint64_t now_ns);
int64_t gt_meter_threads(void);
/* What the calling thread was the first to touch, ever; -1 where the kernel does not say. */
int64_t gt_meter_touched_kb(void);
/* -1 where the kernel does not say. */
int64_t gt_meter_open_files(void);
/*
 * Memory used on the devices, in bytes, as a door's driver tells it; -1: nobody does. Asked every
 * ten milliseconds at most, by gt_meter_ask_device, which must not be called under a lock.
 */
int64_t gt_meter_device_used(void);
void gt_meter_ask_device(uint64_t now_ns);
void gt_meter_set_device_query(int64_t (*teller)(void));
/* In a child after fork, where kept descriptors still show the parent. */
void gt_meter_restart(void);

static inline struct gt_meter gt_meter_difference(const struct gt_meter *now,
						  const struct gt_meter *then)
{
	return (struct gt_meter){ .size_kb = now->size_kb - then->size_kb,
				  .rss_kb = now->rss_kb - then->rss_kb,
				  .data_kb = now->data_kb - then->data_kb,
				  .anon_kb = now->anon_kb - then->anon_kb };
}
