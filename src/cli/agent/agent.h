/* SPDX-License-Identifier: MIT */
/* agent.h - what the parts of `gputrack agent` share. */
#pragma once

#include <limits.h>

#include "agent/totals.h"
#include "capture/ebpf/tracer.h"
#include "cli/agent/control.h"
#include "cli/agent/namer.h"
#include "cli/agent/send_rows.h"
#include "cli/attach/gpu_use.h"
#include "cli/attach/live_view.h"
#include "cli/attach/targets.h"
#include "cli/input.h"

/* As typed, or from the configuration. */
struct gt_agent_settings {
	const char *config;
	const char *socket;
	const char *listen;     /* ADDRESS:PORT, or a socket's path; "none" */
	const char *token_file; /* NULL: none */
	const char *certificate, *key;
	uint64_t max_memory;
	const char *state;             /* folder */
	uint64_t keep;                 /* bytes of recordings; 0: none */
	const char *output, *duration; /* of dump and trace */
	double interval_s, growth_step_s;
	bool no_python;
	struct gt_rows_settings rows;
	struct gt_targets_settings targets;
	struct gt_own_options own;
};

extern const struct gt_agent_settings gt_agent_defaults;
extern const struct gt_syntax gt_agent_syntax;

#define GT_AGENT_CONFIG "/etc/gputrack/agent.conf"

enum { GT_AGENT_ASKED = 4 };

struct gt_agent_recording;

struct gt_agent {
	struct gt_agent_settings settings;
	struct gt_targets targets;
	struct gt_tracer *tracer;
	struct gt_attach_live live;
	struct gt_agent_totals *totals;
	uint32_t *numbers; /* by the board's number of a process: the totals' */
	size_t number_count;
	uint64_t out_of_memory; /* calls that failed */
	uint64_t dropped;       /* creations for which there was no memory */
	size_t most_entries;    /* living resources that are followed */
	struct gt_namer namer;
	struct gt_control control;
	pid_t endpoint; /* serves HTTP; 0: none */
	uint64_t endpoint_started_ns;
	struct gt_gpu_use gpus;
	uint8_t *units; /* by the board's number of a process: gpus.c */
	size_t unit_count;
	uint64_t begun_ns, fed_ns, minute_ns;
	struct gt_agent_recording *ring; /* the one that is being made; NULL: none */
	uint64_t turned_ns;              /* when it was begun */
	bool ring_failed;
	char previous[PATH_MAX + 256]; /* the last recording of an earlier agent; "": none */
	bool has_restored; /* from it; the next recording of the ring waits for the names */
	/* Recordings that somebody waits for. */
	struct gt_agent_asked {
		struct gt_agent_recording *recording; /* NULL: none */
		struct gt_control_client *client;
		uint64_t until_ns, lost;
	} asked[GT_AGENT_ASKED];
	struct gt_agent_rows rows;
};

/* follow.c: from the tracer's calls to the totals. */
void gt_agent_follow_init(struct gt_agent *a);
void gt_agent_follow_fini(struct gt_agent *a);
/* Callbacks for the tracer. */
struct gt_listener gt_agent_listener(struct gt_agent *a);
/* Brings the totals up to date. */
void gt_agent_feed(struct gt_agent *a, uint64_t now_ns);
/* Drops what has ended, when its last rows are out. */
void gt_agent_forget(struct gt_agent *a);
/* For the memory limit that the configuration now has. */
void gt_agent_limit(struct gt_agent *a);

/* gpus.c: on which GPU of the machine a process's resources are. */
void gt_agent_gpus_read(struct gt_agent *a);
void gt_agent_gpus_began(struct gt_agent *a, uint16_t process);
/* Before their first resources are counted. */
void gt_agent_gpus_decide(struct gt_agent *a);
/* The totals' number of the GPU that this process calls `place`. */
uint16_t gt_agent_gpu(struct gt_agent *a, uint16_t process, enum gt_api api, enum gt_kind kind,
		      uint16_t place);
/* For struct gt_agent_figures. */
uint64_t gt_agent_gpu_capacity(void *agent, const char *gpu);
void gt_agent_gpus_fini(struct gt_agent *a);

/* record.c: the ring of recordings, and those that somebody has asked for. */
int gt_agent_record_init(struct gt_agent *a, struct gt_error *error);
void gt_agent_record_fini(struct gt_agent *a);
/* Before the board knows of it. */
void gt_agent_record_event(struct gt_agent *a, struct gt_traced *process, const struct gt_event *e);
void gt_agent_record_ended(struct gt_agent *a, struct gt_traced *process);
/* Ends what is full, or has lasted as long as was asked for. */
void gt_agent_record_tick(struct gt_agent *a, uint64_t now_ns);
/* Begins a recording of a process, for gt_control_fn; for 0 seconds it is what is alive now. */
int gt_agent_record_ask(struct gt_agent *a, struct gt_control_client *client, uint32_t pid,
			double seconds, FILE *out);
/* Ends the recording of the ring that has a running process, and begins the next: its path. */
int gt_agent_record_cut(struct gt_agent *a, uint32_t pid, FILE *out);
void gt_agent_record_left(struct gt_agent *a, const struct gt_control_client *client);

/* endpoint.c: the process that answers HTTP requests. */
int gt_agent_endpoint_start(struct gt_agent *a, struct gt_error *error);
/* After its connection was closed: waits for its end. */
void gt_agent_endpoint_stop(struct gt_agent *a);
/* Starts it again if it has ended. */
void gt_agent_endpoint_check(struct gt_agent *a, uint64_t now_ns);
/* Has it use the token and certificate that are in their files now. */
void gt_agent_endpoint_reload(struct gt_agent *a);

/* reload.c: the configuration file. */
/* Sets what the command line has not set; the texts are valid until gt_agent_config_free. */
int gt_agent_config_read(struct gt_agent_settings *s, struct gt_error *error);
void gt_agent_config_free(void);
/* Reads it again: settings that can change while the agent runs do, others are named. */
void gt_agent_reload(struct gt_agent *a);

/* client.c: `gputrack agent status`, … */
int gt_agent_ask(const struct gt_agent_settings *s, int argc, char **argv);
