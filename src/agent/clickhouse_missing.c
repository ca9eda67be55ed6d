/* SPDX-License-Identifier: MIT */
/* clickhouse_missing.c - in place of clickhouse.c where libcurl is not to be had. */
#include <errno.h>

#include "agent/clickhouse.h"

int gt_clickhouse_open(struct gt_clickhouse **out, const char *url, struct gt_error *error)
{
	(void)out, (void)url;
	return gt_error_set(error, -ENOSYS,
			    "this gputrack was built without libcurl, which ClickHouse needs");
}

void gt_clickhouse_close(struct gt_clickhouse *c)
{
	(void)c;
}

const char *gt_clickhouse_name(const struct gt_clickhouse *c)
{
	(void)c;
	return "";
}

int gt_clickhouse_insert(struct gt_clickhouse *c, const char *table, const char *columns,
			 const void *gzip, size_t size, struct gt_error *error)
{
	(void)c, (void)table, (void)columns, (void)gzip, (void)size, (void)error;
	return -ENOSYS;
}

int gt_clickhouse_query(struct gt_clickhouse *c, const char *query, char **answer,
			struct gt_error *error)
{
	(void)c, (void)query, (void)answer, (void)error;
	return -ENOSYS;
}
