/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - the doctor's checks: sections of findings, one line each, with a remedy where
 * something is missing.
 *
 * A new section is a function in a file check_<section>.c that reports its findings, and a row in
 * doctor.c's table:
 *
 *   bool gt_doctor_thing(struct gt_doctor *d)
 *   {
 *   	if (!access(PATH, R_OK)) {
 *   		gt_doctor_say(d, GT_FINDING_GOOD, "driver", "%s", PATH);
 *   		return true;
 *   	}
 *   	gt_doctor_say(d, GT_FINDING_BAD, "driver", "not found");
 *   	gt_doctor_remedy(d, "apt install thing-driver");
 *   	return false;
 *   }
 *
 * Loaders and drivers may crash or hang, so they are tried in a child process: gt_child_explore.
 */
#pragma once

#include <limits.h>
#include <stdio.h>

#include "base/json.h"
#include "base/print.h"

enum gt_finding {
	GT_FINDING_GOOD, /* works */
	GT_FINDING_BAD,  /* does not work, and something cannot be done because of it */
	GT_FINDING_NOTE, /* neither: not needed, not wanted, or for information */
};

enum { GT_FINDING_TEXT = PATH_MAX + 256 };

/* State for writing findings; the sections use only the functions below. */
struct gt_doctor {
	const char *program; /* of --program; NULL: none */
	struct gt_printer page;
	struct gt_json *json; /* NULL: text on the page */
	struct {
		bool is_there;
		enum gt_finding finding;
		char what[64], text[GT_FINDING_TEXT], remedy[GT_FINDING_TEXT];
	} pending; /* a remedy may follow */
};

/* The subject of a check (a short word of ours) and the finding (may be foreign text). */
void gt_doctor_say(struct gt_doctor *d, enum gt_finding finding, const char *what,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What to do about the last finding; at most one for each. */
void gt_doctor_remedy(struct gt_doctor *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A row of doctor.c's table. */
struct gt_check {
	const char *name;                  /* the section's heading */
	bool (*look)(struct gt_doctor *d); /* reports findings; true if all that matters works */
	bool is_api;                       /* if it works, programs of API `name` can be tracked */
	bool must;                         /* if it does not, the doctor's exit status is 1 */
	bool (*applies)(const struct gt_doctor *d); /* NULL: always */
};

/* Loader, drivers, door, self-test. */
bool gt_doctor_opencl(struct gt_doctor *d);
bool gt_doctor_cuda(struct gt_doctor *d);
bool gt_doctor_levelzero(struct gt_doctor *d);
/* The program of --program: whether it can be tracked, and which symbols it has. */
bool gt_doctor_program(struct gt_doctor *d);
/* Requirements of attach; only if it is built in. */
bool gt_doctor_attach(struct gt_doctor *d);
bool gt_doctor_symbols(struct gt_doctor *d);
bool gt_doctor_permissions(struct gt_doctor *d);
bool gt_doctor_recordings(struct gt_doctor *d);
bool gt_doctor_config(struct gt_doctor *d);
/* Optional features of this build. */
bool gt_doctor_features(struct gt_doctor *d);

/* True, after a line that says so, if this program loads no libraries and cannot try the API's. */
bool gt_doctor_loads_none(struct gt_doctor *d, const char *what);

/* In the child: looks, and reports what it finds with gt_child_tell. */
typedef void gt_explore_fn(FILE *out, const void *context);

/* Runs `explore` in a child and collects its findings in `text`; the waitpid status, or -1. */
int gt_child_explore(gt_explore_fn *explore, const void *context, char *text, size_t size);
/* A finding of the child: a line `key` TAB text. */
void gt_child_tell(FILE *out, const char *key, const char *text);
void gt_child_tell_number(FILE *out, const char *key, int64_t number);
/* Loads a library in the child, with a finding "path", or "missing" and NULL. */
void *gt_child_load(FILE *out, const char *library);
/* Copies the text of the next finding with this key at or after *at; false: there is none. */
bool gt_child_next(const char **at, const char *key, char *out, size_t size);
/* The text of the first finding with this key; "" and false: there is none. */
bool gt_child_first(const char *text, const char *key, char *out, size_t size);
/* Likewise, as a number. */
long gt_child_number(const char *text, const char *key, long otherwise);
/* Reports how a failed child ended. */
void gt_child_say_end(struct gt_doctor *d, const char *what, int status);
