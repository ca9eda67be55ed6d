/* SPDX-License-Identifier: MIT */
/* reload.c - the agent's configuration file, at the start and on SIGHUP. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/agent/agent.h"
#include "cli/agent/service.h"
#include "cli/config.h"

enum { CONFIG_MOST = 1 << 16, NAMES_MOST = 256 };

/* The lines that the agent was started with: settings point to their texts. */
static struct gt_config in_use;

static int read_lines(struct gt_agent_settings *s, struct gt_config *lines, struct gt_error *error)
{
	const char *path = s->config ? s->config : GT_AGENT_CONFIG;
	int fd = open(path, O_RDONLY | O_CLOEXEC), e;
	char *text;
	ssize_t size;

	if (fd < 0 && errno == ENOENT && !s->config)
		return 0;
	if (fd < 0)
		return gt_error_set(error, -errno, "cannot read the configuration %s: %s", path,
				    strerror(errno));
	text = gt_alloc(CONFIG_MOST);
	size = read(fd, text, CONFIG_MOST - 1);
	close(fd);
	e = size < 0 ? -errno : gt_config_parse(lines, path, text, (size_t)size, "\n", error);
	free(text);
	for (size_t i = 0; !e && i < lines->count; i++) {
		const struct gt_config_line *line = &lines->lines[i];
		const struct gt_option *option = gt_option_find(&gt_agent_syntax, line->key);
		char called[300];

		snprintf(called, sizeof called, "%.200s:%u: %.60s", line->from, line->line,
			 line->key);
		if (!option)
			e = gt_error_set(error, -EINVAL,
					 "%s: there is no such option; see `gputrack agent --help`",
					 called);
		else if (!gt_option_was_typed(option->name) &&
			 gt_option_set(&gt_agent_syntax, s, option, line->value, called))
			e = gt_error_set(error, -EINVAL, "%s cannot be used", path);
	}
	return e;
}

int gt_agent_config_read(struct gt_agent_settings *s, struct gt_error *error)
{
	return read_lines(s, &in_use, error);
}

void gt_agent_config_free(void)
{
	gt_config_fini(&in_use);
}

/* The last line counts. */
static const char *value_of(const struct gt_config *c, const char *key)
{
	for (size_t i = c->count; i--;)
		if (!strcmp(c->lines[i].key, key))
			return c->lines[i].value;
	return "";
}

static bool changes_at_once(const char *name)
{
	return !strcmp(name, "max-memory") || !strcmp(name, "interval");
}

static void tell_later(const struct gt_config *lines)
{
	char names[NAMES_MOST] = "";
	size_t used = 0;

	for (const struct gt_option *o = gt_agent_syntax.options; o->name; o++)
		if (!changes_at_once(o->name) && !gt_option_was_typed(o->name) &&
		    strcmp(value_of(lines, o->name), value_of(&in_use, o->name)) != 0 &&
		    used + strlen(o->name) + 3 < sizeof names)
			used += (size_t)sprintf(names + used, "%s%s", used ? ", " : "", o->name);
	if (used)
		gt_service_log(GT_LEVEL_NOTICE,
			       "%s: a change of this needs a restart; SIGUSR2 restarts the agent "
			       "in place",
			       names);
}

void gt_agent_reload(struct gt_agent *a)
{
	struct gt_agent_settings s = gt_agent_defaults;
	struct gt_config lines = { 0 };
	struct gt_error error = { "" };

	s.config = a->settings.config;
	gt_service_notify("RELOADING=1");
	if (read_lines(&s, &lines, &error)) {
		gt_service_log(GT_LEVEL_WARNING, "%s; the old settings stay", error.text);
	} else {
		if (!gt_option_was_typed("max-memory"))
			a->settings.max_memory = s.max_memory;
		if (!gt_option_was_typed("interval"))
			a->settings.interval_s = s.interval_s;
		gt_agent_limit(a);
		gt_service_log(GT_LEVEL_INFO,
			       "configuration read again: max-memory %llu MiB, interval %g s",
			       (unsigned long long)a->settings.max_memory >> 20,
			       a->settings.interval_s);
		tell_later(&lines);
		gt_agent_endpoint_reload(a);
	}
	gt_targets_settings_fini(&s.targets);
	gt_own_options_fini(&s.own);
	gt_config_fini(&lines);
	gt_service_notify("READY=1");
}
