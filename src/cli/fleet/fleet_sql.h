/* SPDX-License-Identifier: MIT */
/* fleet_sql.h - the queries of fleet_query.c: what servers of 2018 and of today have in common. */
#pragma once

/* A process runs if it is in its host's latest rows: those of a minute have the same time. */
#define IS_LATEST "seen = host_seen"

/* clang-format off */

/* The words of places: days, keys. */
#define SQL_WORDS \
	"SELECT site, any(place), any(file), any(line), any(api), any(kind) FROM days WHERE " \
	"day >= '%s' AND day <= '%s' AND site IN (%s) GROUP BY site"

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
	"SELECT spot, round(sum(rate * hours)), round(sum(rate_objects * hours)), sumIf(rate, " \
	"day = '%s'), sumIf(rate_objects, day = '%s'), uniqExact(machine), uniqExact(series), " \
	"min(since) FROM (SELECT any(site) AS spot, series, day, any(cityHash64(host)) AS " \
	"machine, argMax(growth_bytes, time) AS rate, argMax(growth_objects, time) AS " \
	"rate_objects, argMax(growing_since, time) AS since, (toUInt32(max(time)) - " \
	"greatest(toUInt32(since), toUInt32(day) * %d)) / 3600 AS hours FROM days WHERE day " \
	">= '%s' AND day <= '%s' AND site IN (SELECT site FROM days WHERE day >= '%s' AND day " \
	"<= '%s' AND (growth_bytes > 0 OR growth_objects > 0)) AND series IN (SELECT series " \
	"FROM days WHERE day >= '%s' AND day <= '%s' AND (growth_bytes > 0 OR growth_objects " \
	"> 0)) GROUP BY series, day) WHERE rate > 0 OR rate_objects > 0 GROUP BY spot ORDER " \
	"BY sum(rate * hours) DESC, sum(rate_objects * hours) DESC, spot"

/*
 * Rows before a moment, in the shape of the table of days: columns, moment, seconds, moment,
 * seconds, moment.
 */
#define SQL_ROWS \
	"(SELECT %s, cityHash64(replaceRegexpAll(place, ':[0-9]+', ''), api, kind) AS code, " \
	"cityHash64(host, pid, started, gpu, stack, place, api, kind) AS series FROM rows WHERE " \
	"toStartOfHour(time) >= toStartOfHour(toDateTime('%s', 'UTC') - %d) AND time > " \
	"toDateTime('%s', 'UTC') - %d AND time <= toDateTime('%s', 'UTC'))"

/* The last rows of a day: columns, day. */
#define SQL_DAY "(SELECT %s, code, series FROM days WHERE day = '%s')"

/* The columns of these two that SQL_AT, its hosts and SQL_AT_WORDS need. */
#define SQL_STATE \
	"time, host, live_bytes, live_objects, growth_bytes, growth_objects, growing_since"
#define SQL_SEEN  "time, host"
#define SQL_NAMES "time, place, file, line, api, kind"

/* Places at a moment: SQL_STATE, SQL_SEEN of it. */
#define SQL_AT \
	"SELECT key, sum(held), sum(objects), sum(rate), sum(rate_objects), " \
	"uniqExact(machine), count(), min(if(toUInt32(since) = 0, seen, since)) FROM (SELECT " \
	"any(code) AS key, series, any(cityHash64(host)) AS machine, max(time) AS seen, " \
	"argMax(live_bytes, time) AS held, argMax(live_objects, time) AS objects, " \
	"argMax(growth_bytes, time) AS rate, argMax(growth_objects, time) AS rate_objects, " \
	"argMax(growing_since, time) AS since FROM %s GROUP BY series) AS sites ALL INNER " \
	"JOIN (SELECT cityHash64(host) AS machine, max(time) AS host_seen FROM %s GROUP BY " \
	"machine) AS hosts USING machine WHERE " IS_LATEST " GROUP BY key ORDER BY key"

/*
 * Their words: SQL_NAMES of the same moment. Processes of two releases say one place with two
 * lines; the latest row's words stand for all, and of rows of one time always the same one's.
 */
#define SQL_AT_WORDS \
	"SELECT code, argMax(place, latest), argMax(file, latest), argMax(line, latest), any(api), " \
	"any(kind) FROM (SELECT code, place, file, line, api, kind, bitOr(bitShiftLeft(" \
	"toUInt64(toUInt32(time)), 32), bitAnd(cityHash64(place), 4294967295)) AS latest FROM %s) " \
	"GROUP BY code"

/* The processes that have a place: days, file, file, line, days. */
#define SQL_WHERE \
	"SELECT host, unit, program, number, word, what, device, first, last, since, held, " \
	"objects, rate, rate_objects, " IS_LATEST " FROM (SELECT series, any(host) AS host, " \
	"any(pod) AS unit, any(process) AS program, any(pid) AS number, any(place) AS word, " \
	"any(kind) AS " \
	"what, any(gpu) AS device, min(day) AS first, max(day) AS last, max(time) AS seen, " \
	"argMax(growing_since, time) AS since, argMax(live_bytes, time) AS held, " \
	"argMax(live_objects, time) AS objects, argMax(growth_bytes, time) AS rate, " \
	"argMax(growth_objects, time) AS rate_objects FROM days WHERE day >= '%s' AND day <= " \
	"'%s' AND (file = '%s' OR endsWith(file, '/%s'))%s GROUP BY series) AS sites ALL " \
	"INNER JOIN (SELECT host, max(time) AS host_seen FROM days WHERE day >= '%s' AND day " \
	"<= '%s' GROUP BY host) AS hosts USING host ORDER BY rate DESC, rate_objects DESC, " \
	"held DESC, host, number, word"
/* clang-format on */
