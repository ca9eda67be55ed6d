/* SPDX-License-Identifier: MIT */
/*
 * event.h - one thing that happened to one resource.
 *
 * Glossary, for code, reports and documents alike:
 *
 *   call         one call of a tracked API function by the traced program
 *   event        what a call did to one resource. A call yields none, one or several. The APIs
 *                have events too: objects that signal when work is done
 *   resource     anything the program must release: memory of some kind, or an object;
 *                identified by its handle
 *   object       a resource without bytes of its own: context, queue, event, …
 *   handle       the pointer or number by which the API identifies the resource
 *   kind         type of resource, a row of api/kinds.def
 *   family       kinds whose handles share one name space and one release function
 *   owner        the resource or device that a resource was created from
 *   place        where a resource lives: an OpenCL platform, a Level Zero or CUDA device
 *   phase        the ranges of NVTX that were open when an event happened, outermost first:
 *                train > forward
 *   origin       how precisely an event's source is known: its stack (valid), only the API
 *                function's name (driver), nothing (invalid)
 *   stack        the calls that led to an event, innermost frame first
 *   call site    all resources of one kind created through one stack; in code: site
 *   alive        created and not yet destroyed
 *   leak         a resource still alive when its process ended. Resources that last by design (a
 *                runtime's primary context, static variables) are listed apart
 *   held         kept alive by a library, by design, until the process ends (PyTorch's pool); not
 *                a leak. The list is data/held-by-libraries.supp
 *   pool         an allocator above the driver (PyTorch's): takes segments from the driver, and
 *                gives the program blocks of them
 *   segment      memory that a pool has from the driver: an allocation, or the mappings of an
 *                expandable one
 *   block        a piece of a segment that the program has. Its bytes are not counted again with
 *                the segment's
 *   cached       bytes of segments that lie in no living block
 *   fragmented   cached bytes of segments with a living block: the pool cannot give these back
 *   peak         the moment when the most device memory was alive; the analysis is called
 *                watermark
 *   growth       a call site holds more and more, judged by its floor: the least it held in each
 *                period
 *   mistake      a redundant release, a failed call, or a call during which the process ended
 *   residue      memory that the driver keeps after a resource is destroyed
 *   sample       a value measured independently of calls: device memory as the GPU itself
 *                reports it
 *   recording    a folder NAME.gt with one trace per process
 *   trace        the events of one process, with its stacks and modules; a file of a recording
 *   door         the small library through which the calls of one API reach the recorder
 *   baseline     an older recording whose leaks are not counted again
 *   suppression  a line in a file that names leaks not to count
 */
#pragma once

#include <stdint.h>

#include "api/functions.h"

/* In the order of the numbers that Nsight's analyses give them. */
enum gt_origin { GT_ORIGIN_VALID, GT_ORIGIN_INVALID, GT_ORIGIN_DRIVER, GT_ORIGIN_COUNT };

struct gt_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC; of a destroy its start, of everything else its end */
	uint64_t handle;  /* 0 when a creation failed */
	uint64_t size;    /* bytes requested, or as the driver says; of an end if stated, or 0 */
	uint64_t owner;   /* 0 for none; creations only */
	uint32_t stack;   /* number of an interned stack, 0 for none */
	uint32_t tid;
	uint16_t function;  /* enum gt_function_id */
	uint16_t place;     /* 0 for unknown, as it is for most ends */
	int32_t result;     /* the API's error code; 0 when the call succeeded or gave none */
	uint8_t failed;     /* the call changed nothing */
	uint8_t unfinished; /* the process ended inside this call */
	uint32_t phase;     /* number of the innermost range around the call, 0 for none */
	uint64_t start_ns,
		duration_ns; /* of the call, as an import knows it; duration 0: unknown */
};

/* True when `result` is known: a failed creation returns its code only to callers that ask. */
static inline bool gt_event_has_result(const struct gt_event *event)
{
	return !event->unfinished && (!event->failed || event->result);
}
