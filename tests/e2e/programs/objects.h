/* SPDX-License-Identifier: MIT */
/* What the parts of the objects program share: the bench they work on, and the bookkeeping. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "cl_kinds.h"

#define BUFFER_BYTES 4096
#define SVM_BYTES    2048

/* What most sections need; a member that the platform has no support for is NULL. */
struct bench {
	cl_platform_id platform;
	cl_device_id device;
	int version; /* the device's, as major * 10 + minor */
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem buffer;
	cl_mem other_buffer;
	cl_mem image;
	cl_mem other_image;
	void *svm;
	void *other_svm;
	void *mapped;
	unsigned char host[BUFFER_BYTES];
	cl_int err; /* of the enqueue just called, and its line */
	int line;
};

/* Logs and counts a create; a failed one is noted as unsupported and only that. */
void made_at(enum cl_kind kind, void *handle, cl_int err, size_t size_bytes, const char *call,
	     const char *file, int line);
#define made(kind, handle, err, size_bytes, call, line)                                            \
	made_at(kind, handle, err, size_bytes, call, __FILE_NAME__, line)
void unsupported(const char *call, cl_int err);
void keep(enum cl_kind kind, void *handle);
/* Gives one reference back, unless the user asked for this kind to leak. NULL is ignored. */
void drop(enum cl_kind kind, void *handle);
/* Retains, gives that back, gives the first reference back. */
void cycle(enum cl_kind kind, void *handle);
/* Whether this object of a kind without a reference count is the one to leak. */
bool leaks_here(enum cl_kind kind);
/* For a release that was not made through drop(). */
void dropped(enum cl_kind kind, void *handle);

/* NULL where shared virtual memory is not supported, which svm_free() takes too. */
void *svm_make(struct bench *b);
void svm_free(struct bench *b, void *pointer);

void exercise_enqueues(struct bench *b);
void exercise_failed_enqueues(struct bench *b);
void exercise_svm_free(struct bench *b);
void exercise_usm(struct bench *b);

/*
 * Makes an object with @call, which puts its error into `err`. To be written on one line: clang
 * numbers __LINE__ by the end of a macro's arguments and the call by their beginning.
 */
#define MAKE(kind, size_bytes, call)                                                               \
	({                                                                                         \
		cl_int err = CL_SUCCESS;                                                           \
		void *made_ = (call);                                                              \
                                                                                                   \
		made(kind, made_, err, size_bytes, #call, __LINE__);                               \
		err == CL_SUCCESS ? made_ : NULL;                                                  \
	})

#endif
