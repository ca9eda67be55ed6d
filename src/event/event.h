/* SPDX-License-Identifier: MIT */
/*
 * event.h - one thing that happened to one resource.
 *
 * Glossary, for code, reports and documents alike:
 *
 *   call         one call of a tracked API function by the traced program
 *   event        what a call did to one resource; a call may give none, one or several. The
 *                APIs have events too: an object that tells when work is done
 *   resource     anything the program must give back: memory of some kind, or an object;
 *                known by its handle
 *   object       a resource without bytes of its own: context, queue, event, …
 *   handle       the pointer or number by which the API knows the resource
 *   kind         sort of resource, a row of api/kinds.def
 *   family       kinds whose handles share one name space and one release function
 *   owner        the resource or device that a resource was created from
 *   place        where a resource lives: an OpenCL platform, a Level Zero driver, a CUDA
 *                device
 *   origin       how much is known of where an event came from: its stack (valid), the API
 *                function's name alone (driver), nothing (invalid)
 *   stack        the calls that led to an event, innermost frame first
 *   call site    everything created through one stack, of one kind; in code: site
 *   alive        created and not yet destroyed
 *   leak         what is alive when the process ends; what lasts by design (a runtime's
 *                primary context, static variables) is listed apart
 *   peak         the moment when the most device memory was alive; its analysis is called
 *                watermark
 *   growth       a call site holds more and more, judged by its floor: the least that it
 *                held in each stretch of time
 *   mistake      a redundant release, a failed call, a call that the process ended in
 *   residue      memory that the driver keeps when a resource is gone
 *   sample       a number measured beside the calls: device memory as the GPU itself
 *                reports it
 *   recording    a folder NAME.gt with one trace per process
 *   trace        the events of one process, with its stacks and modules; a file of a
 *                recording
 *   door         the small library through which one API's calls reach the recorder
 *   baseline     an older recording whose leaks are not counted again
 *   suppression  a line of a file that says which leaks not to count
 */
#pragma once

#include <stdint.h>

#include "api/functions.h"

/* In the order of the numbers that Nsight's analyses give them. */
enum gt_origin { GT_ORIGIN_VALID, GT_ORIGIN_INVALID, GT_ORIGIN_DRIVER, GT_ORIGIN_COUNT };

struct gt_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC; of a destroy its start, of everything else its end */
	uint64_t handle;  /* 0 when a creation failed */
	uint64_t size;    /* bytes asked for, or as the driver says; of an end as told, or 0 */
	uint64_t owner;   /* 0 for none; creations only */
	uint32_t stack;   /* number of an interned stack, 0 for none */
	uint32_t tid;
	uint16_t function;  /* enum gt_function_id */
	uint16_t place;     /* 0 for unknown, as it is for most ends */
	int32_t result;     /* the API's error code; 0 when the call succeeded or told none */
	uint8_t failed;     /* the call changed nothing */
	uint8_t unfinished; /* the process ended inside this call */
};

/* Whether `result` is what the API said: a creation that fails tells only who asks. */
static inline bool gt_event_has_result(const struct gt_event *event)
{
	return !event->unfinished && (!event->failed || event->result);
}
