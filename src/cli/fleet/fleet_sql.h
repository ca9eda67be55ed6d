/* SPDX-License-Identifier: MIT */
/* fleet_sql.h - the queries of fleet_query.c: what servers of 2018 and of today have in common. */
#pragma once

/* A process runs if it is in its host's latest rows: those of a minute have the same time. */
#define IS_LATEST "seen = host_seen"

/* clang-format off */

/*
 * The answer is the same in whatever order rows arrive, are merged and read: any() only of columns
 * that are equal within a group, sums of fractions rounded before they are compared, and an order
 * whose last key is unique.
 */

/* Sums of rates an hour: the last digits depend on the order. */
#define SUM_RATE         "round(sum(rate), 3)"
#define SUM_RATE_OBJECTS "round(sum(rate_objects), 6)"

/* A process, which has a series for each stack and GPU of a place. */
#define OWNER "any(cityHash64(host, pid, started)) AS owner"

/*
 * The words of a group: processes of two releases, or of two programs, say one place with different
 * lines or files. The words are those of the row with the greatest rank, and of equal ones always
 * the same row's.
 */
#define BEST_WORDS \
	"argMax(place, best), argMax(file, best), argMax(line, best), any(api), any(kind)"
#define WORDS_BY(rank) \
	"place, file, line, api, kind, bitOr(bitShiftLeft(" rank ", 20), " \
	"bitAnd(cityHash64(place, file, line), 1048575)) AS best"
#define RANK_TIME "toUInt64(toUInt32(time))"
#define RANK_HELD "least(live_bytes + live_objects, 17592186044415)" /* 44 bits */

/* The words of places: days, keys. */
#define SQL_WORDS \
	"SELECT site, " BEST_WORDS " FROM (SELECT site, " WORDS_BY(RANK_TIME) " FROM days WHERE " \
	"day >= '%s' AND day <= '%s' AND site IN (%s)) GROUP BY site"

/* What running processes hold of places: day, keys, day. */
#define SQL_HELD \
	"SELECT spot, sum(held), sum(objects) FROM (SELECT any(site) AS spot, series, " \
	"any(cityHash64(host)) AS machine, max(time) AS seen, argMax(live_bytes, time) AS " \
	"held, argMax(live_objects, time) AS objects FROM days WHERE day = '%s' AND site IN " \
	"(%s) GROUP BY series) AS sites ALL INNER JOIN (SELECT cityHash64(host) AS machine, " \
	"max(time) AS host_seen FROM days WHERE day = '%s' GROUP BY machine) AS hosts USING " \
	"machine WHERE " IS_LATEST " GROUP BY spot"

/*
 * The places that grow: last day twice, seconds of a day, days three times. A process's growth on
 * a day is its rate in the day's last row, since it began or since midnight. What has not grown at
 * all is left out at once.
 */
#define SQL_TOP \
	"SELECT spot, round(sum(rate * hours)) AS grown, round(sum(rate_objects * hours)) AS " \
	"grown_objects, round(sumIf(rate, day = '%s'), 3), " \
	"round(sumIf(rate_objects, day = '%s'), 6), uniqExact(machine), uniqExact(owner), " \
	"min(since) FROM (SELECT any(site) AS spot, " \
	"series, day, any(cityHash64(host)) AS machine, " OWNER ", " \
	"argMax(growth_bytes, time) AS rate, argMax(growth_objects, time) AS " \
	"rate_objects, argMax(growing_since, time) AS since, (toUInt32(max(time)) - " \
	"greatest(toUInt32(since), toUInt32(day) * %d)) / 3600 AS hours " \
	"FROM days WHERE day >= '%s' AND day <= '%s' AND site IN (SELECT site FROM days " \
	"WHERE day >= '%s' AND day <= '%s' AND (growth_bytes > 0 OR growth_objects > 0)) " \
	"AND series IN (SELECT series FROM days WHERE day >= '%s' AND day <= '%s' AND " \
	"(growth_bytes > 0 OR growth_objects > 0)) GROUP BY series, day) WHERE " \
	"rate > 0 OR rate_objects > 0 GROUP BY spot ORDER BY grown DESC, grown_objects DESC, spot"

/*
 * Rows before a moment, in the shape of the table of days (clickhouse.sql): columns, moment,
 * seconds, moment, seconds, moment.
 */
#define SQL_ROWS \
	"(SELECT %s, cityHash64(replaceRegexpAll(replaceRegexpAll(place, ':[0-9]+', ''), " \
	"'([ /])([^ /]*[0-9][^ /]*/)+', '\\\\1'), api, kind) AS code, cityHash64(host, pid, " \
	"started, gpu, stack, place, api, kind) AS series FROM rows WHERE " \
	"toStartOfHour(time) >= toStartOfHour(toDateTime('%s', 'UTC') - %d) AND time > " \
	"toDateTime('%s', 'UTC') - %d AND time <= toDateTime('%s', 'UTC'))"

/* The last rows of a day: columns, day. */
#define SQL_DAY "(SELECT %s, code, series FROM days WHERE day = '%s')"

/* The columns of these two that SQL_AT, its hosts and SQL_AT_WORDS need. */
#define SQL_STATE \
	"time, host, pid, started, live_bytes, live_objects, growth_bytes, growth_objects, " \
	"growing_since"
#define SQL_SEEN  "time, host"
#define SQL_NAMES "time, host, place, file, line, api, kind, live_bytes, live_objects"

/* Places at a moment: SQL_STATE, SQL_SEEN of it. */
#define SQL_AT \
	"SELECT key, sum(held), sum(objects), " SUM_RATE ", " SUM_RATE_OBJECTS ", " \
	"uniqExact(machine), uniqExact(owner), min(if(toUInt32(since) = 0, seen, since)) FROM " \
	"(SELECT any(code) AS key, series, any(cityHash64(host)) AS machine, " OWNER ", " \
	"max(time) AS seen, " \
	"argMax(live_bytes, time) AS held, argMax(live_objects, time) AS objects, " \
	"argMax(growth_bytes, time) AS rate, argMax(growth_objects, time) AS rate_objects, " \
	"argMax(growing_since, time) AS since FROM %s GROUP BY series) AS sites ALL INNER " \
	"JOIN (SELECT cityHash64(host) AS machine, max(time) AS host_seen FROM %s GROUP BY " \
	"machine) AS hosts USING machine WHERE " IS_LATEST " GROUP BY key ORDER BY key"

/*
 * Their words, of the running process that holds most: SQL_NAMES, SQL_SEEN of the same moment. One
 * that has ended may have been of another release.
 */
#define SQL_AT_WORDS \
	"SELECT code, " BEST_WORDS " FROM (SELECT code, " WORDS_BY(RANK_HELD) " FROM %s WHERE " \
	"(host, time) IN (SELECT host, max(time) FROM %s GROUP BY host)) GROUP BY code"

/* The processes that have a place: days, file, file, line, days. */
#define SQL_WHERE \
	"SELECT host, unit, program, number, word, what, device, first, last, since, held, " \
	"objects, rate, rate_objects, " IS_LATEST " FROM (SELECT series, any(host) AS host, " \
	"argMax(pod, time) AS unit, argMax(process, time) AS program, any(pid) AS number, " \
	"any(place) AS word, any(kind) AS what, any(gpu) AS device, min(day) AS first, " \
	"max(day) AS last, max(time) AS seen, " \
	"argMax(growing_since, time) AS since, argMax(live_bytes, time) AS held, " \
	"argMax(live_objects, time) AS objects, argMax(growth_bytes, time) AS rate, " \
	"argMax(growth_objects, time) AS rate_objects FROM days WHERE day >= '%s' AND day <= " \
	"'%s' AND (file = '%s' OR endsWith(file, '/%s'))%s GROUP BY series) AS sites ALL " \
	"INNER JOIN (SELECT host, max(time) AS host_seen FROM days WHERE day >= '%s' AND day " \
	"<= '%s' GROUP BY host) AS hosts USING host ORDER BY rate DESC, rate_objects DESC, " \
	"held DESC, host, number, word, what, device, series"
/* clang-format on */
