/* SPDX-License-Identifier: MIT */
/*
 * spool.h - batches on disk that the server has not confirmed yet: a folder of bounded size.
 *
 * A batch is a file that appears whole or not at all, and is removed when the server has answered:
 * kill -9 at any moment loses none, and sends at most one twice. When the folder is full, the
 * oldest batches make room. One process fills a folder, and another one may send and remove the
 * oldest. Not safe for use from several threads at once.
 */
#pragma once

#include <stdbool.h>

#include "base/mem.h"

struct gt_spool;

/* A batch: "TIME-NUMBER-ROWS-TABLE.gz". */
struct gt_batch {
	char name[96];
	char table[32];
	uint64_t rows;
};

struct gt_spool_state {
	uint64_t batches, bytes; /* waiting */
	uint64_t dropped_rows;   /* for want of space, since the start */
};

/* Creates the folder if there is none, and takes up what an earlier process left in it. */
int gt_spool_open(struct gt_spool **out, const char *folder, uint64_t max_bytes,
		  struct gt_error *error);
/* For the process that sends: begins with gt_spool_scan. */
int gt_spool_join(struct gt_spool **out, const char *folder, struct gt_error *error);
/* Finds the batches that are there now. 0 or -errno. */
int gt_spool_scan(struct gt_spool *s);
void gt_spool_close(struct gt_spool *s);

/* Adds a batch, which it compresses. 0, or -errno: it was dropped and counted. */
int gt_spool_put(struct gt_spool *s, const char *table, uint64_t real_s, uint64_t rows,
		 const void *text, size_t size);
/* The oldest batch; false if there is none. */
bool gt_spool_first(const struct gt_spool *s, struct gt_batch *batch);
/* Its bytes as they are sent, which the caller frees; NULL if it cannot be read. */
void *gt_spool_read(const struct gt_spool *s, const struct gt_batch *batch, size_t *size);
/* The oldest: the server has it, or it cannot be read. */
void gt_spool_remove(struct gt_spool *s, const struct gt_batch *batch);

struct gt_spool_state gt_spool_state(struct gt_spool *s);
