/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - the doctor's checks: sections of findings, one line each, with a remedy where
 * something is missing.
 *
 * A new section is a function in a file doctor_<section>.c that says what it finds, and a row in
 * doctor.c's table:
 *
 *   bool gt_doctor_thing(struct gt_doctor *d)
 *   {
 *   	if (!access(PATH, R_OK)) {
 *   		gt_doctor_say(d, GT_FINDING_GOOD, "driver", "%s", PATH);
 *   		return true;
 *   	}
 *   	gt_doctor_say(d, GT_FINDING_BAD, "driver", "is not there");
 *   	gt_doctor_remedy(d, "apt install thing-driver");
 *   	return false;
 *   }
 *
 * What may crash or hang (a loader, a driver) is looked at in a child: doctor_child.h.
 */
#pragma once

#include <limits.h>

#include "base/json.h"
#include "base/print.h"

enum gt_finding {
	GT_FINDING_GOOD, /* works */
	GT_FINDING_BAD,  /* does not, and something cannot be done for it */
	GT_FINDING_NOTE, /* neither: not needed, not wanted, or only to be known */
};

enum { GT_FINDING_TEXT = PATH_MAX + 256 };

/* What a finding is written with; the sections see only the functions below. */
struct gt_doctor {
	const char *program; /* the one that was asked about; NULL: none */
	struct gt_printer page;
	struct gt_json *json; /* NULL: text on the page */
	struct {
		bool is_there;
		enum gt_finding finding;
		char what[64], text[GT_FINDING_TEXT], remedy[GT_FINDING_TEXT];
	} pending; /* a remedy may follow */
};

/* What a check looked at (our word, a short one) and what it found (anybody's words). */
void gt_doctor_say(struct gt_doctor *d, enum gt_finding finding, const char *what,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What to do about the finding just said; once for each. */
void gt_doctor_remedy(struct gt_doctor *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A row of doctor.c's table. */
struct gt_check {
	const char *name;                  /* the section's heading */
	bool (*look)(struct gt_doctor *d); /* says its findings; whether all that matters works */
	bool is_api;                       /* programs of API `name` can be tracked when it does */
	bool must;                         /* the doctor's exit status is 1 when it does not */
	bool (*applies)(const struct gt_doctor *d); /* NULL: always */
};

/* Loader, drivers, door, self-test. */
bool gt_doctor_opencl(struct gt_doctor *d);
bool gt_doctor_cuda(struct gt_doctor *d);
bool gt_doctor_levelzero(struct gt_doctor *d);
/* The program of --program: is it one that can be tracked, and what will be known of its code. */
bool gt_doctor_program(struct gt_doctor *d);
/* What attaching needs; only where it is built in. */
bool gt_doctor_attach(struct gt_doctor *d);
bool gt_doctor_symbols(struct gt_doctor *d);
bool gt_doctor_permissions(struct gt_doctor *d);
bool gt_doctor_recordings(struct gt_doctor *d);
bool gt_doctor_config(struct gt_doctor *d);
/* What this gputrack was built with. */
bool gt_doctor_features(struct gt_doctor *d);
