/* inherited.h - what a program that we start must find as we found it. */
#pragma once

/* At our own start: remembers it, and makes it what we need ourselves. */
void gt_inherited_take(void);
/* In a child of ours, before it becomes the program. */
void gt_inherited_give(void);
