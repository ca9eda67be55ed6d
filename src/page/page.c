/* SPDX-License-Identifier: MIT */
/* page.c - the page around the data, as viewer/ has it. */
#include "page/page.h"

#ifdef GT_VIEWER
#include "viewer_page.h"

bool gt_html_is_built(void)
{
	return true;
}

void gt_html_begin(FILE *out, const struct gt_html_page *page)
{
	fwrite(page_opening, 1, sizeof page_opening, out);
	fputs(page->served ? "'self'" : "'none'", out);
	fwrite(page_middle, 1, sizeof page_middle, out);
}

void gt_html_end(FILE *out)
{
	fwrite(page_closing, 1, sizeof page_closing, out);
}

#else

bool gt_html_is_built(void)
{
	return false;
}

void gt_html_begin(FILE *out, const struct gt_html_page *page)
{
}

void gt_html_end(FILE *out)
{
}

#endif
