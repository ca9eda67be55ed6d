/* SPDX-License-Identifier: MIT */
/* make_recordings.h - recordings made in separate files. */
#pragma once

void make_hostile(void);
void make_markup(void);
void make_damaged(void);
void make_builds(void);
void make_many(void);
void make_names(void);
void make_phases(void);
void make_held(void);
void make_work(void);
void make_touched(void);
