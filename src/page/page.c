/* SPDX-License-Identifier: MIT */
/* page.c - the page around the data, as viewer/ has it. */
#include "page/page.h"

#ifdef GT_VIEWER
#include "viewer_page.h"
#else
static const unsigned char page_opening[1], page_middle[1], page_closing[1];
#endif

bool gt_page_is_built(void)
{
	return sizeof page_opening > 1;
}

void gt_page_begin(FILE *out, enum gt_page_origin origin)
{
	fwrite(page_opening, 1, sizeof page_opening, out);
	fputs(origin == GT_PAGE_SERVED ? "'self'" : "'none'", out);
	fwrite(page_middle, 1, sizeof page_middle, out);
}

void gt_page_end(FILE *out)
{
	fwrite(page_closing, 1, sizeof page_closing, out);
}
