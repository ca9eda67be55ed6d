/* SPDX-License-Identifier: MIT */
/* libraries.h - the API libraries of this machine and its processes, each probed once. */
#pragma once

#include "capture/ebpf/modules.h"
#include "capture/ebpf/probes.h"

struct gt_library {
	dev_t dev;
	ino_t ino;
	enum gt_api api;
	char *path;        /* as first seen */
	size_t functions;  /* probed; 0: it has none that we track, or could not be probed */
	bool is_refused;   /* it could not be probed, and is not tried again … */
	bool is_unopened;  /* … or not even opened, so that dev and ino are unknown */
	bool is_program;   /* a program into which a library was linked */
	uint32_t found_in; /* the process whose mappings led to it; 0: none … */
	uint64_t owner;    /* … and whose that was: a user in a container, as a number */
	uint32_t late_pid; /* a process that mapped it before it was probed; 0: none */
	bool is_late;      /* … and that is traced */
};

/*
 * Any process may map any number of files called libcuda.so.1, and start others that do. Detaching
 * from one takes the kernel some 50 ms. Nobody can take all: a user, in each container, gets no
 * more than is left for others.
 */
enum {
	GT_LIBRARIES_OF_PROCESS = 16, /* files that one process can have probed … */
	GT_LIBRARIES_MAX = 256,       /* … and all together */
	GT_LIBRARIES_DROPPED = 8,     /* processes whose further libraries are counted */
	GT_LIBRARIES_NAMED = 16,      /* of gt_libraries_name */
	GT_LIBRARIES_HEARD = 32,      /* libraries loaded since the last scan, at most */
	GT_LIBRARIES_PLAIN = 64,      /* programs that are not read again */
};

/* A process with more libraries than are probed. */
struct gt_dropped_libraries {
	uint32_t pid;
	size_t count;
	bool is_full; /* because of those of other processes */
};

struct gt_libraries {
	struct gt_probes *probes;    /* NULL: libraries are listed, but not probed */
	bool unwanted[GT_API_COUNT]; /* APIs that are not probed */
	bool cpu_blocks;             /* pools' blocks in main memory are wanted, too */
	bool with_programs;          /* gt_libraries_scan_queued scans programs too */
	struct gt_named_library {
		char *name; /* of the file, without its folder */
		enum gt_api api;
	} named[GT_LIBRARIES_NAMED]; /* libraries under other names */
	size_t named_count;
	struct gt_library *list;
	size_t count, room;
	bool is_settled; /* set by the caller after the first scans */
	uint32_t *early; /* processes that mapped a library before it was probed */
	size_t early_count, early_room;
	uint32_t *queue; /* processes to scan */
	size_t queue_count, queue_room;
	struct gt_heard_library {
		uint32_t pid;
		uint64_t owner;
		struct gt_mapping mapping;
	} heard[GT_LIBRARIES_HEARD]; /* loaded a moment ago, by processes that may have ended */
	size_t heard_count;
	size_t probed;   /* files so far … */
	size_t pause_at; /* … and how many end a scan, with is_unfinished set; 0: none do */
	bool is_unfinished;
	bool is_over; /* gt_libraries_end was called */
	struct gt_plain_program {
		dev_t dev;
		ino_t ino;
		int64_t mtime_ns;
	} plain[GT_LIBRARIES_PLAIN]; /* programs that have no library linked into them */
	size_t plain_count;          /* of all so far: the oldest are overwritten */
	size_t usable; /* libraries of the last process scanned whose functions are probed */
	struct gt_dropped_libraries dropped[GT_LIBRARIES_DROPPED];
	size_t dropped_count;
	bool has_more_dropped;   /* of further processes */
	bool is_full;            /* somebody's library found no room */
	struct gt_error refusal; /* why the first refused library could not be probed; or "" */
	struct gt_error linked;  /* which program has a library linked into it; or "" */
};

/* The API of a library, by the name of its file or memfd; -1 for other libraries. */
int gt_library_api(const char *path);

void gt_libraries_fini(struct gt_libraries *l);
/* The same, and those of gt_libraries_name. */
int gt_libraries_api(const struct gt_libraries *l, const char *path);
/*
 * Probes a file that is a library under another name, and all that processes map under that name.
 * `api`: -1 to find out by the functions that it defines. 0 or -errno.
 */
int gt_libraries_name(struct gt_libraries *l, const char *path, int api, struct gt_error *error);
/* True when a process may have called a library before it was probed. */
bool gt_libraries_was_early(const struct gt_libraries *l, uint32_t pid);
/* It has ended, or executed another program: what it had mapped is gone. */
void gt_libraries_forget(struct gt_libraries *l, uint32_t pid);
/*
 * Probes the API libraries that a process has mapped and that are not probed yet, within the limits
 * above: those that come after are dropped. Files that cannot be opened or probed are marked
 * is_refused. Returns how many wanted libraries it has mapped, and sets `usable`; -errno if the
 * mappings cannot be read.
 */
int gt_libraries_scan(struct gt_libraries *l, uint32_t pid, struct gt_error *error);
/*
 * For a process that has mapped none: probes its program if a library is linked into it, and says
 * so in `linked`. True if there is one.
 */
bool gt_libraries_scan_program(struct gt_libraries *l, uint32_t pid);
/*
 * The same for the libraries that the dynamic linker would find, first in the folders of `path`
 * (a:b:c). A file there that cannot be probed is skipped, and marked is_refused.
 */
void gt_libraries_installed(struct gt_libraries *l, const char *path);
/*
 * Makes gt_libraries_scan_queued probe a library that a process has just mapped, also if the
 * process has ended by then, and scan the process. The mapping is copied.
 */
void gt_libraries_hear(struct gt_libraries *l, uint32_t pid, const struct gt_mapping *m);
/* Makes it scan a process, or every process. */
void gt_libraries_queue(struct gt_libraries *l, uint32_t pid);
void gt_libraries_queue_all(struct gt_libraries *l);
/* `known`: how many libraries were in the list before. */
typedef void gt_scanned_fn(void *context, uint32_t pid, size_t known);
/* Scans every process, at once; `scanned` may be NULL. */
void gt_libraries_everywhere(struct gt_libraries *l, gt_scanned_fn *scanned, void *context);
/*
 * Scans queued processes in turn, until it has probed a few libraries: meanwhile the calls of other
 * processes fill the ring. The rest stays in the queue.
 */
void gt_libraries_scan_queued(struct gt_libraries *l, gt_scanned_fn *scanned, void *context);
/*
 * Ends probing, and looks at the queued processes a last time: their libraries that are not probed
 * are marked is_refused, or counted as dropped, because calls into them are missing.
 */
void gt_libraries_end(struct gt_libraries *l, gt_scanned_fn *scanned, void *context);
