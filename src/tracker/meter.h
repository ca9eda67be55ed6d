/* SPDX-License-Identifier: MIT */
/*
 * meter.h - the size of this process, read as cheaply as the kernel allows.
 *
 * Sizes come from /proc/self/statm through a descriptor that stays open: one system call. statm's
 * data field includes the stack, whose size (which rarely changes) is subtracted. The peak is the
 * highest size seen, corrected from /proc/self/status now and then: a peak between two readings
 * shows up late. Threads and open files are counted by stat(2) of /proc/self/task and …/fd.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gt_meter {
	int64_t size_kb, rss_kb, data_kb; /* VmSize, VmRSS, VmData */
	int64_t anon_kb; /* RssAnon: VmRSS without pages of files and shared memory */
};

/* Reads the sizes; zeroes where /proc cannot be read. */
void gt_meter_read(struct gt_meter *m);
/* The latest reading of any thread; its numbers may come from different readings. */
void gt_meter_latest(struct gt_meter *m);
/* Excludes memory of ours from all readings; negative: the memory has been freed. */
void gt_meter_exclude(int64_t kb);
/* Call after allocating memory for ourselves: this thread's last reading cannot be reused. */
void gt_meter_invalidate(void);
/* This thread's last reading; false when there is none or it was invalidated. */
bool gt_meter_reuse(struct gt_meter *m);
/* VmPeak as far as known when `m` was read. */
int64_t gt_meter_peak_kb(const struct gt_meter *m, uint64_t now_ns);
int64_t gt_meter_threads(void);
/* All memory that the calling thread was the first to touch; -1 if the kernel does not say. */
int64_t gt_meter_touched_kb(void);
/* -1 if the kernel does not say. */
int64_t gt_meter_open_files(void);
/*
 * Bytes of device memory in use, according to a door's driver; -1 without one. gt_meter_ask_device
 * asks at most every ten milliseconds; it calls the driver, so no lock may be held.
 */
int64_t gt_meter_device_used(void);
void gt_meter_ask_device(uint64_t now_ns);
void gt_meter_set_device_query(int64_t (*query)(void));
/* Call in a child after fork, where the open descriptors still show the parent. */
void gt_meter_restart(void);

static inline struct gt_meter gt_meter_difference(const struct gt_meter *now,
						  const struct gt_meter *then)
{
	return (struct gt_meter){ .size_kb = now->size_kb - then->size_kb,
				  .rss_kb = now->rss_kb - then->rss_kb,
				  .data_kb = now->data_kb - then->data_kb,
				  .anon_kb = now->anon_kb - then->anon_kb };
}
