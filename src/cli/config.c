/* SPDX-License-Identifier: MIT */
/* config.c - defaults for options, from a file and from the environment. */
#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/cli.h"

enum { FILE_MAX = 1 << 16, LINES_MAX = 1000 };

static const char local_name[] = ".gputrackrc", variable[] = "GPUTRACK_OPTIONS";

/* The configuration in use. */
static struct {
	struct gt_config config;
	char *path;
	char *folder;           /* of the file, with a trailing slash; "" for none */
	struct gt_texts joined; /* paths built from values; settings point to them */
	struct gt_error ignored, mistake;
} state;

static const char *trim(const char *text, size_t *size)
{
	while (*size && strchr(" \t\r", text[*size - 1]) && text[*size - 1])
		--*size;
	for (; *size && (*text == ' ' || *text == '\t'); text++)
		--*size;
	return text;
}

static int parse_line(struct gt_config *c, const char *from, unsigned number, const char *text,
		      size_t size, struct gt_error *error)
{
	const char *equals, *key, *value;
	size_t key_size, value_size;

	text = trim(text, &size);
	if (!size || *text == '#')
		return 0;
	equals = memchr(text, '=', size);
	if (!equals || memchr(text, '\0', size))
		return gt_error_set(error, -EINVAL,
				    "%s:%u: expected OPTION = VALUE or COMMAND.OPTION = VALUE",
				    from, number);
	if (c->count == LINES_MAX)
		return gt_error_set(error, -EINVAL, "%s:%u: too many settings; the limit is %d",
				    from, number, LINES_MAX);
	key_size = (size_t)(equals - text);
	value_size = size - key_size - 1;
	key = trim(text, &key_size);
	value = trim(equals + 1, &value_size);
	GT_GROW(c->lines, c->count, c->room);
	c->lines[c->count++] = (struct gt_config_line){ .key = gt_strndup(key, key_size),
							.value = gt_strndup(value, value_size),
							.line = number,
							.from = from };
	return 0;
}

int gt_config_parse(struct gt_config *c, const char *from, const char *text, size_t size,
		    const char *separators, struct gt_error *error)
{
	unsigned number = 0;
	int e = 0;

	while (!e && size) {
		size_t length = 0;

		while (length < size && !(text[length] && strchr(separators, text[length])))
			length++;
		e = parse_line(c, from, ++number, text, length, error);
		length += length < size;
		text += length;
		size -= length;
	}
	return e;
}

void gt_config_fini(struct gt_config *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->lines[i].key);
		free(c->lines[i].value);
	}
	free(c->lines);
	*c = (struct gt_config){ 0 };
}

/* A file in the current folder may belong to someone else. */
static bool is_trusted(const struct stat *st, const char *path)
{
	if (st->st_uid != geteuid() && st->st_uid != 0)
		gt_error_set(&state.ignored, 0,
			     "ignoring %s, which belongs to another user; set GPUTRACK_CONFIG=%s "
			     "to use it",
			     path, path);
	else if (st->st_mode & S_IWOTH)
		gt_error_set(&state.ignored, 0,
			     "ignoring %s, which every user can write; try chmod o-w %s", path,
			     path);
	else
		return true;
	return false;
}

/* Where a file was found. */
enum place { PLACE_NAMED, PLACE_LOCAL, PLACE_USER };

/* 1 if the file was read, 0 if there is none that may be read, or -errno. */
static int read_file(const char *path, enum place place, struct gt_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), e;
	bool must_be = place == PLACE_NAMED;
	struct stat st;
	ssize_t size;
	char *text;

	if (fd < 0 && !must_be)
		return 0;
	if (fd < 0)
		return gt_error_set(error, -errno,
				    "cannot read the configuration %s: %s; check GPUTRACK_CONFIG",
				    path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return must_be ? gt_error_set(error, -EINVAL,
					      "the configuration %s is not a regular file; check "
					      "GPUTRACK_CONFIG",
					      path) :
				 0;
	}
	if (place != PLACE_NAMED && !is_trusted(&st, path)) {
		close(fd);
		return 0;
	}
	state.path = gt_strdup(path);
	state.folder = gt_strndup(path, gt_path_folder_size(path));
	text = gt_alloc(FILE_MAX + 1);
	size = read(fd, text, FILE_MAX + 1);
	if (size < 0 || size > FILE_MAX)
		e = gt_error_set(error, -EINVAL,
				 "the configuration %s cannot be read or is larger than %d bytes",
				 path, FILE_MAX);
	else
		e = gt_config_parse(&state.config, state.path, text, (size_t)size, "\n", error);
	for (size_t i = 0; place == PLACE_LOCAL && i < state.config.count; i++)
		state.config.lines[i].is_local = true;
	close(fd);
	free(text);
	return e ? e : 1;
}

static int read_files(struct gt_error *error)
{
	const char *named = getenv("GPUTRACK_CONFIG"), *home = getenv("HOME");
	const char *folder = getenv("XDG_CONFIG_HOME");
	char *path;
	int e;

	/* a relative one would be a file of the current folder, and its standard ignores it */
	if (folder && *folder != '/')
		folder = NULL;
	if (home && *home != '/')
		home = NULL;
	if (named)
		return *named ? read_file(named, PLACE_NAMED, error) : 0;
	e = read_file(local_name, PLACE_LOCAL, error);
	if (e || (!folder && !home))
		return e;
	if (asprintf(&path, "%s%s/gputrack/config", folder ? folder : home,
		     folder ? "" : "/.config") < 0)
		return 0;
	e = read_file(path, PLACE_USER, error);
	free(path);
	return e;
}

/* True if the key is for this subcommand: COMMAND.OPTION or OPTION. *option is the option. */
static bool is_for(const struct gt_syntax *syntax, const char *key, const char **option)
{
	const char *dot = strchr(key, '.');

	*option = dot ? dot + 1 : key;
	return !dot || (strlen(syntax->name) == (size_t)(dot - key) &&
			!strncmp(syntax->name, key, (size_t)(dot - key)));
}

const struct gt_option *gt_config_option(const struct gt_config_line *line,
					 const struct gt_syntax *syntax)
{
	const char *name;

	return is_for(syntax, line->key, &name) ? gt_option_find(syntax, name) : NULL;
}

/* True if a part of the path is "..". */
static bool climbs(const char *path)
{
	for (; *path; path += strcspn(path, "/"), path += strspn(path, "/"))
		if (strcspn(path, "/") == 2 && !strncmp(path, "..", 2))
			return true;
	return false;
}

/* True if the value names a file or folder that lies in `folder`, links followed, or below it. */
static bool is_below(const char *folder, const char *value)
{
	char *path = NULL, *whole = NULL, *top = realpath(*folder ? folder : ".", NULL);
	size_t size = top ? strlen(top) : 0;
	struct stat st;
	bool is = false;

	if (top && *value != '/' && asprintf(&path, "%s/%s", top, value) >= 0)
		whole = realpath(path, NULL);
	/* a pipe would make every command wait */
	if (whole && !stat(whole, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		is = !strncmp(whole, top, size) && (whole[size] == '/' || size == 1);
	else if (path && !whole && errno == ENOENT)
		is = !climbs(value); /* the command that needs it will say that it is missing */
	free(path);
	free(whole);
	free(top);
	return is;
}

int gt_config_check_local(const struct gt_config_line *line, const struct gt_option *option,
			  const char *folder, struct gt_error *error)
{
	if (option->local == GT_LOCAL_YES ||
	    (option->local == GT_LOCAL_BELOW && is_below(folder, line->value)))
		return 0;
	if (option->local == GT_LOCAL_BELOW)
		return gt_error_set(error, -EPERM,
				    "%s:%u: '%s' must be a file in this folder or below; for any "
				    "other, type --%s",
				    line->from, line->line, line->key, option->name);
	return gt_error_set(error, -EPERM,
			    "%s:%u: a file in the current folder may not set '%s', which can "
			    "write, run, send or open something; remove the line and type --%s, or "
			    "set GPUTRACK_CONFIG=%s if you trust the file",
			    line->from, line->line, line->key, option->name, line->from);
}

static int check_line(const struct gt_config_line *line, const struct gt_syntax *const *syntaxes,
		      size_t count, struct gt_error *error)
{
	const char *option, *near = NULL;
	bool command = false, known = false;
	int e = 0;

	for (size_t i = 0; !e && i < count; i++) {
		const struct gt_option *found;

		if (!syntaxes[i]->options || !is_for(syntaxes[i], line->key, &option))
			continue;
		command = true;
		found = gt_option_find(syntaxes[i], option);
		known = known || found;
		if (found && line->is_local)
			e = gt_config_check_local(line, found, state.folder, error);
		if (!near)
			near = gt_option_nearest(syntaxes[i], option);
	}
	if (known)
		return e;
	if (!command)
		return gt_error_set(error, -EINVAL,
				    "%s:%u: there is no command for '%s'; see `%s --help`",
				    line->from, line->line, line->key, gt_tool_name());
	return near ? gt_error_set(error, -EINVAL, "%s:%u: unknown option '%s': did you mean '%s'?",
				   line->from, line->line, line->key, near) :
		      gt_error_set(error, -EINVAL,
				   "%s:%u: unknown option '%s'; see `%s COMMAND --help`",
				   line->from, line->line, line->key, gt_tool_name());
}

/* Paths in the file are relative to its folder. The result is valid until gt_config_free. */
static const char *value_of(const struct gt_config_line *line, const struct gt_option *option)
{
	char *path;

	if (!option->is_path || line->from != state.path || *line->value == '/' || !*state.folder ||
	    asprintf(&path, "%s%s", state.folder, line->value) < 0)
		return line->value;
	GT_GROW(state.joined.items, state.joined.count, state.joined.room);
	state.joined.items[state.joined.count++] = path;
	return path;
}

static int apply(const struct gt_syntax *syntax, void *settings)
{
	for (size_t i = 0; i < state.config.count; i++) {
		const struct gt_config_line *line = &state.config.lines[i];
		const struct gt_option *option = gt_config_option(line, syntax);
		char called[600];
		int status;

		if (!option)
			continue;
		snprintf(called, sizeof called, "%s:%u: %s", line->from, line->line, line->key);
		status = gt_option_set(syntax, settings, option, value_of(line, option), called);
		if (status)
			return status;
	}
	return 0;
}

const struct gt_config_line *gt_config_override(const struct gt_config_line *line,
						const struct gt_syntax *syntax)
{
	const struct gt_option *option = gt_config_option(line, syntax);
	const struct gt_config_line *end = state.config.lines + state.config.count;

	if (!option || option->type == GT_OPTION_TEXTS)
		return NULL;
	while (--end > line)
		if (gt_config_option(end, syntax) == option)
			return end;
	return NULL;
}

/* Names what a .gputrackrc set, since the user may not know that there is one. */
static void announce(const struct gt_syntax *syntax)
{
	char list[400] = "";
	size_t size = 0, more = 0;

	for (size_t i = 0; i < state.config.count; i++) {
		const struct gt_config_line *line = &state.config.lines[i];
		const struct gt_option *option = gt_config_option(line, syntax);
		int n;

		if (!line->is_local || !option || gt_config_override(line, syntax) ||
		    (option->type != GT_OPTION_TEXTS && gt_option_was_typed(option->name)))
			continue;
		n = snprintf(list + size, sizeof list - size, "%s%s = %s", size ? ", " : "",
			     option->name, line->value);
		if (more || n < 0 || (size_t)n >= sizeof list - size) {
			list[size] = '\0';
			more++;
		} else {
			size += (size_t)n;
		}
	}
	if (!size && !more)
		return;
	if (more)
		gt_tell("%s in this folder sets %s%s%zu more (see `%s config`)", state.path, list,
			size ? " and " : "", more, gt_tool_name());
	else
		gt_tell("%s in this folder sets %s", state.path, list);
}

/* --quiet asks for silence, but only if the user typed it. */
static void after_parse(const struct gt_syntax *syntax)
{
	if (syntax->shows_config || gt_option_was_typed("quiet"))
		return;
	announce(syntax);
}

static int load(const struct gt_syntax *const *syntaxes, size_t count, struct gt_error *error)
{
	const char *more = getenv(variable);
	int e = read_files(error);

	if (*state.ignored.text)
		gt_tell("%s", state.ignored.text);
	if (e >= 0 && more)
		e = gt_config_parse(&state.config, variable, more, strlen(more), ";\n", error);
	for (size_t i = 0; e >= 0 && i < state.config.count; i++)
		e = check_line(&state.config.lines[i], syntaxes, count, error);
	return e < 0 ? e : 0;
}

int gt_config_load(const struct gt_syntax *const *syntaxes, size_t count, struct gt_error *error)
{
	int e = load(syntaxes, count, error);

	if (e)
		state.mistake = *error;
	else
		gt_options_defaults(apply, after_parse);
	return e;
}

void gt_config_free(void)
{
	for (size_t i = 0; i < state.joined.count; i++)
		free((char *)state.joined.items[i]);
	gt_texts_fini(&state.joined);
	gt_config_fini(&state.config);
	free(state.path);
	free(state.folder);
	state.path = state.folder = NULL;
}

const struct gt_config *gt_config_in_use(void)
{
	return &state.config;
}

const char *gt_config_path(size_t *count)
{
	*count = state.config.count;
	return state.path;
}

const char *gt_config_ignored(void)
{
	return *state.ignored.text ? state.ignored.text : NULL;
}

const char *gt_config_mistake(void)
{
	return *state.mistake.text ? state.mistake.text : NULL;
}
