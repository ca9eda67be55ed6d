/* tool.h - how this program is to be typed, in a hint that a user copies. */
#pragma once

/* At the start: the first word of the command line, borrowed for good. */
void gt_tool_called(const char *word);
/*
 * "gputrack" where that is this program when it is typed; else the word it was called by
 * ("build/gputrack"), as long as a shell takes it without quotes.
 */
const char *gt_tool_name(void);
