/* SPDX-License-Identifier: MIT */
/*
 * options.h - one table per subcommand, from which both parsing and --help come.
 *
 *   struct run_settings { const char *output; bool quiet; };
 *
 *   static const struct gt_option run_options[] = {
 *   	{ .name = "output", .letter = 'o', .argument = "NAME.gt", .type = GT_OPTION_TEXT,
 *   	  .at = offsetof(struct run_settings, output), .help = "record into this folder" },
 *   	{ .name = "quiet", .letter = 'q', .type = GT_OPTION_FLAG,
 *   	  .at = offsetof(struct run_settings, quiet), .help = "print no report at the end" },
 *   	{ 0 },
 *   };
 *   const struct gt_syntax gt_run_syntax = {
 *   	.name = "run", .summary = "run a program and track it", .operands = "[--] PROGRAM [ARG…]",
 *   	.options = run_options, .first_operand_ends = true,
 *   };
 *
 *   int gt_cmd_run(int argc, char **argv)
 *   {
 *   	struct run_settings s = { .output = "default.gt" };
 *   	int status, first = gt_options_parse(&gt_run_syntax, &s, argc, argv, &status);
 *
 *   	if (first < 0)
 *   		return status;
 *   	... argv[first] is PROGRAM; first == argc: there is none
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gt_option_type {
	GT_OPTION_FLAG,    /* bool, set to true */
	GT_OPTION_TEXT,    /* const char *, borrowed from argv; the last one given counts */
	GT_OPTION_TEXTS,   /* struct gt_texts: may be given several times */
	GT_OPTION_COUNT,   /* uint64_t, decimal */
	GT_OPTION_DECIMAL, /* double, not negative: 0.2 */
	GT_OPTION_SIZE,    /* uint64_t, in bytes and not 0: 500M, 2GiB, 4096 */
	GT_OPTION_CHOICE,  /* int: index into `choices` */
	GT_OPTION_CHOICES, /* struct gt_choices: one or more of them, with commas between them */
	GT_OPTION_MAYBE,   /* const char *: --name=VALUE, or `bare` for --name alone */
};

/* The operands of a repeatable option; `items` ends in NULL once there is one. */
struct gt_texts {
	const char **items;
	size_t count, room;
};

/* Indexes into an option's `choices`, as they were given; the last list given counts. */
struct gt_choices {
	int list[8];
	size_t count;
};

struct gt_option {
	const char *name; /* long form, without the dashes; NULL ends the table */
	char letter;      /* short form; 0: none */
	enum gt_option_type type;
	const char *argument;       /* what --help calls the value; none for a flag */
	const char *const *choices; /* of a CHOICE, NULL-terminated */
	const char *bare;           /* of a MAYBE without a value */
	bool may_be_empty;          /* a text that may be "" */
	bool is_path;               /* a file: in a config file relative to that file's folder */
	const char *help;           /* one or more lines' worth of text, wrapped by --help; NULL:
				       another spelling, which --help leaves out */
	size_t at;                  /* offset of the value in the subcommand's settings */
};

struct gt_syntax {
	const char *name;                /* subcommand */
	const char *summary;             /* half a line for `gputrack --help` */
	const char *operands;            /* for the usage line; NULL: takes none */
	const char *about;               /* paragraphs for `gputrack SUB --help`; may be NULL */
	const struct gt_option *options; /* may be NULL */
	bool first_operand_ends;         /* what follows the first operand belongs to it */
};

/*
 * Fills `settings` (defaults are the caller's) from argv[1…]; argv[0] is the subcommand's name.
 * Understands --name VALUE, --name=VALUE, -o VALUE, -oVALUE, -abc of flags, `--`, and --help and
 * -h everywhere. Gives the index of the first operand: operands are moved to the end of argv, in
 * their order. -1 when the subcommand is to return *status at once: 0 after --help, 2 after a
 * mistake, of which the user has been told on stderr.
 */
int gt_options_parse(const struct gt_syntax *usage, void *settings, int argc, char **argv,
		     int *status);

/*
 * True when the option was on the command line that was parsed last; defaults of a settings file do
 * not count.
 */
bool gt_option_was_typed(const char *name);
/*
 * For an option that does nothing without another: 0, or 2 after the user, who typed it while `met`
 * is false, has been told what it `goes` with.
 */
int gt_option_needs(const struct gt_syntax *usage, const char *name, bool met, const char *goes);

/* The subcommand's options in the order of --help, with --help itself at the end. */
size_t gt_syntax_option_count(const struct gt_syntax *usage);
const struct gt_option *gt_syntax_option(const struct gt_syntax *usage, size_t index);

/*
 * Has `defaults` fill the settings of every subcommand before its arguments are looked at. It gives
 * 0, or the exit status after the user has been told what is wrong.
 */
typedef int gt_defaults_fn(const struct gt_syntax *usage, void *settings);
void gt_options_defaults(gt_defaults_fn *defaults);

/* The option of this long name; NULL when the subcommand has none. */
const struct gt_option *gt_option_find(const struct gt_syntax *usage, const char *name);
/*
 * Sets an option from a text that is not of the command line: a flag takes yes or no. `called` is
 * what messages call it. 0, or 2 after the user has been told. `value` must stay.
 */
int gt_option_set(const struct gt_syntax *usage, void *settings, const struct gt_option *option,
		  const char *value, const char *called);

/* The `gputrack SUB --help` text, on stdout. */
void gt_syntax_print(const struct gt_syntax *usage);

/* A mistake in usage: `gputrack: SUB: TEXT` and where help is, on stderr. Gives 2. */
int gt_syntax_wrong(const struct gt_syntax *usage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void gt_texts_fini(struct gt_texts *texts);

/*
 * The name closest to `word` among `count` names reached through `name(context, index)`, when it
 * is close enough to be meant; NULL otherwise.
 */
const char *gt_nearest(const char *word, size_t count,
		       const char *(*name)(const void *context, size_t index), const void *context);
