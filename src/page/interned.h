/* SPDX-License-Identifier: MIT */
/* interned.h - stacks, frames and names of a page, each written once and known by its number. */
#pragma once

#include "base/json.h"
#include "replay/frames.h"

struct gt_html_names;

/* `frames` must stay. */
struct gt_html_names *gt_html_names_new(struct gt_frames *frames);
void gt_html_names_free(struct gt_html_names *n);

/* The page's number of a name; NULL is number 0. Endless ones lose their middle. */
uint32_t gt_html_name(struct gt_html_names *n, const char *name);
/* The page's number of a stack of the recording; no stack is number 0. */
uint32_t gt_html_stack(struct gt_html_names *n, uint32_t stack);

/* "stacks", "frames" and "names": after all that has numbers. */
void gt_html_names_json(struct gt_html_names *n, struct gt_json *j);
