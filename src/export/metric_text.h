/* SPDX-License-Identifier: MIT */
/* metric_text.h - the text of metrics as Prometheus reads it. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* The lines before the values of a metric. */
void gt_metric_head(FILE *out, const char *name, const char *type, const char *help);
/* A metric with one value and no labels. */
void gt_metric_one(FILE *out, const char *name, const char *type, const char *help, uint64_t value);
/* NAME="VALUE" and `end`: with the three escapes of labels, safe characters, and UTF-8 alone. */
void gt_metric_label(FILE *out, const char *name, const char *value, const char *end);
