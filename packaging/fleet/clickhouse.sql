-- SPDX-License-Identifier: MIT
-- clickhouse.sql - the tables that `gputrack agent --clickhouse` fills and `gputrack fleet` reads.
--
--   clickhouse-client --multiquery < clickhouse.sql
--
-- For ClickHouse 23.3 or later. A row says what a call site of a process holds at a moment, never what has
-- changed: a batch that arrives twice changes nothing. Rows are kept for two weeks and their daily sums for
-- a year; change the two lines with TTL for other times. Times are UTC.

CREATE DATABASE IF NOT EXISTS gputrack;

-- Every minute a row for each call site of each process. Batches of many hosts become one part: the server
-- collects them for up to a second (async_insert) and answers when they are written.
CREATE TABLE IF NOT EXISTS gputrack.rows
(
    time DateTime('UTC') CODEC(Delta, ZSTD),
    host LowCardinality(String),
    pod LowCardinality(String),
    container LowCardinality(String),
    pid UInt32,
    started DateTime('UTC'),
    process LowCardinality(String),
    command LowCardinality(String),
    user LowCardinality(String),
    place LowCardinality(String),
    function LowCardinality(String),
    file LowCardinality(String),
    line UInt32,
    api LowCardinality(String),
    kind LowCardinality(String),
    gpu LowCardinality(String),
    live_bytes UInt64 CODEC(Delta, ZSTD),
    live_objects UInt64 CODEC(Delta, ZSTD),
    allocated_bytes UInt64 CODEC(Delta, ZSTD),
    allocated_objects UInt64 CODEC(Delta, ZSTD),
    freed_bytes UInt64 CODEC(Delta, ZSTD),
    freed_objects UInt64 CODEC(Delta, ZSTD),
    growth_bytes Float64,   -- per hour, as the host judges it; 0: does not grow
    growth_objects Float64, -- per hour, of kinds that have no bytes
    growing_since DateTime('UTC'),
    stack LowCardinality(String) -- of gputrack.stacks
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(time)
ORDER BY (toStartOfHour(time), host, pid, started, place, api, kind, gpu, stack, time)
TTL time + INTERVAL 14 DAY
SETTINGS async_insert = 1;

-- Each stack once: its frames, innermost first.
CREATE TABLE IF NOT EXISTS gputrack.stacks
(
    stack String,
    frames String
)
ENGINE = ReplacingMergeTree
ORDER BY stack
SETTINGS async_insert = 1;

-- The last row of each day for each call site of each process. `site` is a place of one kind, `code` the same
-- without what a release changes, line numbers and folders with digits in their names (app-1.2, python3.11), and
-- `series` one process's site.
CREATE TABLE IF NOT EXISTS gputrack.days
(
    day Date,
    site UInt64,
    code UInt64,
    series UInt64,
    time DateTime('UTC'),
    host LowCardinality(String),
    pod LowCardinality(String),
    pid UInt32,
    started DateTime('UTC'),
    process LowCardinality(String),
    place LowCardinality(String),
    file LowCardinality(String),
    line UInt32,
    api LowCardinality(String),
    kind LowCardinality(String),
    gpu LowCardinality(String),
    live_bytes UInt64,
    live_objects UInt64,
    growth_bytes Float64,
    growth_objects Float64,
    growing_since DateTime('UTC'),
    stack LowCardinality(String)
)
ENGINE = ReplacingMergeTree(time)
PARTITION BY toMonday(day)
ORDER BY (day, site, series)
TTL day + INTERVAL 400 DAY;

CREATE MATERIALIZED VIEW IF NOT EXISTS gputrack.rows_to_days TO gputrack.days AS
SELECT
    toDate(time) AS day,
    cityHash64(place, api, kind) AS site,
    cityHash64(replaceRegexpAll(replaceRegexpAll(place, ':[0-9]+', ''), '([ /])([^ /]*[0-9][^ /]*/)+', '\\1'), api, kind)
        AS code,
    cityHash64(host, pid, started, gpu, stack, place, api, kind) AS series,
    time, host, pod, pid, started, process, place, file, line, api, kind, gpu,
    live_bytes, live_objects, growth_bytes, growth_objects, growing_since, stack
FROM gputrack.rows;
