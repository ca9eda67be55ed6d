/*
 * event.h - one thing that happened to one resource.
 *
 * Glossary, for code, reports and documents alike:
 *
 *   call       one call of a tracked API function by the traced program
 *   event      what a call did to one resource; a call may give none, one or several
 *   resource   anything the program must give back: memory of some kind, or an object (context,
 *              queue, event, …); known by its handle
 *   handle     the pointer or number by which the API knows the resource
 *   kind       sort of resource, a row of api/kinds.def
 *   family     kinds whose handles share one name space and one release function
 *   owner      the resource or device that a resource was created from
 *   place      where a resource lives: an OpenCL platform, a Level Zero driver, a CUDA device
 *   origin     how much is known of where an event came from: its stack (valid), the API
 *              function's name alone (driver), nothing (invalid)
 *   site       a call site: everything created through one stack, of one kind
 *   alive      created and not yet destroyed; a leak is what is alive when the process ends
 *   recording  a folder NAME.gt with one trace per process
 *   trace      the events of one process, with its stacks and modules
 *   door       the small library through which one API's calls reach the recorder
 */
#pragma once

#include <stdint.h>

#include "api/functions.h"

/* In the order of the numbers that Nsight's analyses give them. */
enum gt_origin { GT_ORIGIN_VALID, GT_ORIGIN_INVALID, GT_ORIGIN_DRIVER, GT_ORIGIN_COUNT };

struct gt_event {
	uint64_t time_ns;  /* CLOCK_MONOTONIC; of a destroy its start, of everything else its end */
	uint64_t handle;   /* 0 when a creation failed */
	uint64_t size;     /* bytes asked for, or as the driver says; of an end as told, or 0 */
	uint64_t owner;    /* 0 for none; creations only */
	uint32_t stack;    /* number of an interned stack, 0 for none */
	uint32_t tid;
	uint16_t function; /* enum gt_function_id */
	uint16_t place;    /* 0 for unknown, as it is for most ends */
	int32_t result;    /* the API's error code; 0 when the call succeeded or gave no code */
	uint8_t failed;    /* the call changed nothing */
	uint8_t unfinished;/* the process ended inside this call */
};
