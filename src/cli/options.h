/* SPDX-License-Identifier: MIT */
/*
 * options.h - one table of options per subcommand, for parsing and for --help.
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
 *   	... argv[first] is PROGRAM; there is none if first == argc
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gt_option_type {
	GT_OPTION_FLAG,    /* bool, set to true */
	GT_OPTION_TEXT,    /* const char *, borrowed from argv; the last one wins */
	GT_OPTION_TEXTS,   /* struct gt_texts: may be given several times */
	GT_OPTION_COUNT,   /* uint64_t, decimal */
	GT_OPTION_DECIMAL, /* double, not negative: 0.2 */
	GT_OPTION_SIZE,    /* uint64_t, in bytes and not 0: 500M, 2GiB, 4096 */
	GT_OPTION_CHOICE,  /* int: index into `choices` */
	GT_OPTION_CHOICES, /* struct gt_choices: one or more, separated by commas */
	GT_OPTION_MAYBE,   /* const char *: --name=VALUE, or `bare` for --name alone */
};

/* The values of a repeatable option; `items` is NULL-terminated once there is one. */
struct gt_texts {
	const char **items;
	size_t count, room;
};

/* Indexes into an option's `choices`, in the order given; the last list wins. */
struct gt_choices {
	int list[16];
	size_t count;
};

/*
 * Whether a .gputrackrc in the current folder may set the option. That folder may be a repository
 * that somebody else wrote: only options that cannot write, run, send or open anything may be set
 * there. The default is no.
 */
enum gt_option_local {
	GT_LOCAL_NO,
	GT_LOCAL_YES,
	GT_LOCAL_BELOW, /* a file to read, if it lies in the folder of the .gputrackrc or below */
};

struct gt_syntax;

/*
 * Checks the value of an option that was typed, when all have been read: 0, or the exit status
 * after a message.
 */
typedef int gt_option_check_fn(const struct gt_syntax *syntax, const void *value, int operands,
			       char **names);

struct gt_option {
	const char *name; /* long form, without the dashes; NULL ends the table */
	char letter;      /* short form; 0: none */
	enum gt_option_type type;
	const char *argument;       /* what --help calls the value; none for a flag */
	const char *const *choices; /* of a CHOICE, NULL-terminated */
	const char *bare;           /* of a MAYBE without a value */
	double least, most;         /* of a number; most 0: no limit */
	bool may_be_empty;          /* a text that may be "" */
	bool is_path;               /* in a config file, relative to that file's folder */
	enum gt_option_local local; /* may a .gputrackrc set it? */
	gt_option_check_fn *check;  /* may be NULL */
	const char *help;           /* wrapped by --help; NULL: an alias, which --help
				       leaves out */
	size_t at;                  /* offset of the value in the subcommand's settings */
};

struct gt_syntax {
	const char *name;                /* subcommand */
	const char *summary;             /* half a line for `gputrack --help` */
	const char *operands;            /* for the usage line; NULL: takes none */
	const char *about;               /* paragraphs for `gputrack SUB --help`; may be NULL */
	const struct gt_option *options; /* may be NULL */
	bool first_operand_ends;         /* the first operand ends the options */
	bool shows_config;               /* the command itself says what a file has set */
};

/*
 * Fills `settings`, which has the defaults, from argv[1…]; argv[0] is the subcommand's name.
 * Accepts --name VALUE, --name=VALUE, -o VALUE, -oVALUE, -abc for flags, `--`, and --help and -h
 * everywhere. Returns the index of the first operand: operands are moved to the end of argv, in
 * order. Returns -1 if the subcommand must return *status at once: 0 after --help, 2 after a
 * mistake that was reported on stderr.
 */
int gt_options_parse(const struct gt_syntax *syntax, void *settings, int argc, char **argv,
		     int *status);

/*
 * True if the option was on the command line that was parsed last; defaults from a configuration
 * file do not count.
 */
bool gt_option_was_typed(const char *name);
/*
 * For an option that has no effect without something else: 0, or 2 after a message that it needs
 * `what`, if it was typed and `met` is false.
 */
int gt_option_needs(const struct gt_syntax *syntax, const char *name, bool met, const char *what);

/* The subcommand's options in the order of --help, which is the last one. */
size_t gt_syntax_option_count(const struct gt_syntax *syntax);
const struct gt_option *gt_syntax_option(const struct gt_syntax *syntax, size_t index);

/*
 * `defaults` fills the settings of every subcommand before its arguments are parsed. It returns 0,
 * or the exit status after reporting what is wrong.
 */
typedef int gt_defaults_fn(const struct gt_syntax *syntax, void *settings);
/* `parsed` is called when the arguments are known to be right. */
typedef void gt_parsed_fn(const struct gt_syntax *syntax);
void gt_options_defaults(gt_defaults_fn *defaults, gt_parsed_fn *parsed);

/* The option with this long name; NULL if the subcommand has none. */
const struct gt_option *gt_option_find(const struct gt_syntax *syntax, const char *name);
/* The long name closest to this one; NULL if none is close. */
const char *gt_option_nearest(const struct gt_syntax *syntax, const char *name);
/*
 * Sets an option from a text other than the command line: a flag takes yes or no. `called` names it
 * in messages. 0, or 2 after a message. `value` must stay valid.
 */
int gt_option_set(const struct gt_syntax *syntax, void *settings, const struct gt_option *option,
		  const char *value, const char *called);

/* The `gputrack SUB --help` text, on stdout. */
void gt_syntax_print(const struct gt_syntax *syntax);

/* Reports wrong usage: `gputrack: SUB: TEXT (see …)` on stderr. Returns 2. */
int gt_syntax_wrong(const struct gt_syntax *syntax, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void gt_texts_fini(struct gt_texts *texts);

/*
 * The name closest to `word` among the `count` names that `name(context, index)` returns, if it is
 * close enough to be what was meant; NULL otherwise.
 */
const char *gt_nearest(const char *word, size_t count,
		       const char *(*name)(const void *context, size_t index), const void *context);
