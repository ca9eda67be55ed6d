/* SPDX-License-Identifier: MIT */
/* no_cairo.c - stands in for cairo.c where Cairo is not to be had. */
#include <errno.h>

#include "plot/canvas.h"

int gt_cairo_open(struct gt_canvas *c, enum gt_format format)
{
	(void)c;
	(void)format;
	return -ENOTSUP;
}
