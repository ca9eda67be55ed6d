/* SPDX-License-Identifier: MIT */
/*
 * clickhouse.h - a ClickHouse server over HTTP, by libcurl, which is loaded when it is needed.
 *
 * A URL is http[s]://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?SETTINGS]; the port of HTTP is 8123,
 * that of HTTPS 8443, and the database "gputrack".
 */
#pragma once

#include "base/mem.h"

struct gt_clickhouse;

/* Connects to nothing yet. 0, or -errno: the URL is none, or libcurl is missing. */
int gt_clickhouse_open(struct gt_clickhouse **out, const char *url, struct gt_error *error);
void gt_clickhouse_close(struct gt_clickhouse *c);

/* The server without user and password, for messages. */
const char *gt_clickhouse_name(const struct gt_clickhouse *c);

/*
 * Inserts gzipped tab-separated rows. 0 once the server has them; otherwise -errno and what it or
 * the connection says: they may be there or not.
 */
int gt_clickhouse_insert(struct gt_clickhouse *c, const char *table, const char *columns,
			 const void *gzip, size_t size, struct gt_error *error);
/* Sends a query; *answer is the text that it gives, which the caller frees. */
int gt_clickhouse_query(struct gt_clickhouse *c, const char *query, char **answer,
			struct gt_error *error);
