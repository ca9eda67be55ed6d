/* SPDX-License-Identifier: MIT */
/*
 * json.h - a streaming JSON writer: the output is always valid and always UTF-8.
 *
 * Every value takes a key, which is NULL inside an array. Strings may hold any bytes; invalid UTF-8
 * becomes U+FFFD. Nobody else may write to the stream between _begin and _finish.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/sink.h"

enum { GT_JSON_DEPTH = 16 };

struct gt_json {
	struct gt_sink sink;
	unsigned depth;
	unsigned flat; /* depth from which everything is on one line; 0: none */
	bool in_html;  /* set after _begin: <, > and & are escaped, so that no tag can end it */
	struct {
		char close;
		bool used;
	} levels[GT_JSON_DEPTH];
};

/* The document is one object; it is open after _begin and closed by _finish. */
void gt_json_begin(struct gt_json *j, FILE *out);
/* The same for a document that is an array. */
void gt_json_begin_array(struct gt_json *j, FILE *out);
/* Members of an object on one line, without its braces: for gt_json_members. */
void gt_json_begin_members(struct gt_json *j, FILE *out);
void gt_json_finish(struct gt_json *j);

void gt_json_object(struct gt_json *j, const char *key);
void gt_json_array(struct gt_json *j, const char *key);
/* An object that is written on one line. */
void gt_json_line(struct gt_json *j, const char *key);
/* Closes the innermost object or array. */
void gt_json_end(struct gt_json *j);

void gt_json_text(struct gt_json *j, const char *key, const char *text); /* NULL gives null */
void gt_json_uint(struct gt_json *j, const char *key, uint64_t value);
void gt_json_int(struct gt_json *j, const char *key, int64_t value);
/* With nine significant digits; NaN and infinity become null. */
void gt_json_real(struct gt_json *j, const char *key, double value);
void gt_json_bool(struct gt_json *j, const char *key, bool value);
void gt_json_hex(struct gt_json *j, const char *key, uint64_t value); /* "0x1f" */
/* Any bytes, as base64. */
void gt_json_base64(struct gt_json *j, const char *key, const void *bytes, size_t size);
void gt_json_us(struct gt_json *j, const char *key, uint64_t time_ns); /* 1234567 as 1234.567 */
void gt_json_null(struct gt_json *j, const char *key);
/* What a document of gt_json_begin_members wrote, into an object on one line; `size` may be 0. */
void gt_json_members(struct gt_json *j, const char *text, size_t size);
