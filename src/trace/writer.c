/* writer.c - the file of a trace: room, blocks, definitions. Lanes' events are in lane.c. */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/quiet.h"
#include "trace/file.h"

enum {
	ROOM_MIN = 64 << 10, /* reserved ahead: a quarter of what is there, within these */
	ROOM_MAX = 16 << 20,
	STACKS_MAX = 1 << 22,
	TEXT_MAX = 640,      /* of each text of a frame or series: three fit a record */
};

/* Our descriptor, or a fresh one where the program has closed it or put its own in its place. */
static int descriptor(struct gt_writer *w)
{
	w->fd = gt_fd_again(w->fd, &w->id, w->path, O_RDWR | O_NOFOLLOW);
	return w->fd < 0 ? -ENOENT : w->fd;
}

/* File systems without fallocate get written zeroes: slower, and just as sure. */
static int write_zeroes(int fd, off_t from, size_t size)
{
	static const char zeroes[4096];

	while (size) {
		size_t some = size < sizeof zeroes ? size : sizeof zeroes;
		ssize_t n = pwrite(fd, zeroes, some, from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		from += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Counts room against the limit; false, and not counted, when it is beyond. */
static bool take_room(struct gt_writer *w, uint64_t size)
{
	_Atomic uint64_t *taken = w->options.taken ? w->options.taken : &w->taken;

	if (!w->options.max_bytes)
		return true;
	if (atomic_fetch_add(taken, size) + size <= w->options.max_bytes)
		return true;
	atomic_fetch_sub(taken, size);
	return false;
}

static int reserve_to(struct gt_writer *w, uint64_t end)
{
	int fd = descriptor(w), e;
	struct gt_quiet quiet;

	if (fd < 0)
		return fd;
	if (!take_room(w, end - w->reserved))
		return -EFBIG;
	gt_quiet_begin(&quiet);
	do
		e = fallocate(fd, 0, (off_t)w->reserved, (off_t)(end - w->reserved)) ? errno : 0;
	while (e == EINTR);
	if (e == EOPNOTSUPP || e == ENOSYS)
		e = -write_zeroes(fd, (off_t)w->reserved, end - w->reserved);
	gt_quiet_end(&quiet);
	if (e)
		return -e;
	w->reserved = end;
	return 0;
}

/* Makes sure that `size` bytes at the end of the file are really there. */
static int make_room(struct gt_writer *w, size_t size)
{
	uint64_t need = w->end + size, ahead = w->end / 4;
	int e;

	if (need <= w->reserved)
		return 0;
	ahead = ahead < ROOM_MIN ? ROOM_MIN : ahead > ROOM_MAX ? ROOM_MAX : ahead;
	ahead &= ~(uint64_t)(GT_BLOCK_MIN - 1);
	e = reserve_to(w, need + ahead);
	/* a nearly full disk may still hold the block that is needed now */
	return e == -ENOSPC || e == -EDQUOT || e == -EFBIG ? reserve_to(w, need) : e;
}

void gt_writer_stop(struct gt_writer *w, int error)
{
	int running = 0;

	if (!atomic_compare_exchange_strong(&w->error, &running, error))
		return;
	w->header->error = (uint32_t)-error;
	w->header->end_ns = gt_now_ns();
	__atomic_store_n(&w->header->state, GT_TRACE_STOPPED, __ATOMIC_RELEASE);
	if (w->options.stopped)
		w->options.stopped(w, w->options.context, error);
}

static struct gt_block_header *map_block(struct gt_writer *w, size_t size)
{
	struct gt_block_header *block;
	int e = make_room(w, size), fd;

	if (e)
		goto fail;
	fd = descriptor(w);
	if (fd < 0) {
		e = fd;
		goto fail;
	}
	block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		     (off_t)w->end);
	if (block != MAP_FAILED)
		return block;
	e = -errno;
fail:
	gt_writer_stop(w, e);
	return NULL;
}

int gt_block_open(struct gt_lane *lane)
{
	struct gt_writer *w = lane->writer;
	uint32_t size = lane->block ? lane->block->size * 2 : GT_BLOCK_MIN;
	struct gt_block_header *block = NULL;

	if (size > GT_BLOCK_MAX)
		size = GT_BLOCK_MAX;
	gt_block_close(lane);
	pthread_mutex_lock(&w->room);
	if (!atomic_load(&w->error) && (block = map_block(w, size))) {
		/* numbered by first blocks, so that a reader can tell a far number for garbage */
		if (!lane->number && lane != &w->definitions)
			lane->number = ++w->lane_count;
		block->size = size;
		block->lane = lane->number;
		block->sequence = lane->sequence++;
		block->time_ns = lane->time_ns;
		block->handle = lane->handle;
		block->owner = lane->owner;
		block->tid = lane->tid;
		/* the magic last: readers walk from block to block by what is whole */
		__atomic_store_n(&block->magic, GT_BLOCK_MAGIC, __ATOMIC_RELEASE);
		w->end += size;
		w->header->blocks_end = w->end;
	}
	pthread_mutex_unlock(&w->room);
	if (!block)
		return -EIO;
	lane->block = block;
	lane->at = (uint8_t *)(block + 1);
	lane->limit = (uint8_t *)block + size;
	return 0;
}

void gt_block_close(struct gt_lane *lane)
{
	struct gt_block_header *block = lane->block;

	if (!block)
		return;
	block->inflight.function = 0;
	block->hash = gt_block_hash(block, block + 1, block->used);
	munmap(block, block->size);
	lane->block = NULL;
	lane->at = lane->limit = NULL;
}

/* One definition; the caller holds the definitions' lock. False when it could not be written. */
static bool define(struct gt_writer *w, enum gt_definition tag, const uint8_t *payload, size_t size)
{
	struct gt_lane *lane = &w->definitions;
	size_t whole = size + 2 * GT_VARINT_MAX;

	if (size > GT_RECORD_MAX)
		return false;
	if ((size_t)(lane->limit - lane->at) < whole && gt_block_open(lane))
		return false;
	lane->at = gt_put_varint(lane->at, tag);
	lane->at = gt_put_varint(lane->at, size);
	memcpy(lane->at, payload, size);
	lane->at += size;
	gt_lane_commit(lane);
	return true;
}

/* Text is cut, never refused: half a path still tells more than none. */
static uint8_t *put_blob(uint8_t *at, const void *data, size_t size, size_t most)
{
	if (size > most)
		size = most;
	at = gt_put_varint(at, size);
	if (size)
		memcpy(at, data, size);
	return at + size;
}

void gt_writer_info(struct gt_writer *w, const char *key, const void *value, size_t size)
{
	uint8_t buffer[GT_RECORD_MAX], *at = buffer;

	at = put_blob(at, key, strlen(key), 64);
	at = put_blob(at, value, size, GT_RECORD_MAX - 128);
	pthread_mutex_lock(&w->defining);
	define(w, GT_DEF_INFO, buffer, (size_t)(at - buffer));
	pthread_mutex_unlock(&w->defining);
}

void gt_writer_module(struct gt_writer *w, uint32_t number, const struct gt_module *m)
{
	uint8_t buffer[GT_RECORD_MAX], *at = buffer;

	at = gt_put_varint(at, number);
	at = gt_put_varint(at, m->start);
	at = gt_put_varint(at, m->size);
	at = gt_put_varint(at, m->bias);
	at = put_blob(at, m->path, strlen(m->path), GT_RECORD_MAX - 256);
	at = put_blob(at, m->build_id, m->build_id_size, 64);
	at = gt_put_varint(at, m->file_size);
	at = gt_put_varint(at, gt_zigzag(m->mtime_ns));
	define(w, GT_DEF_MODULE, buffer, (size_t)(at - buffer));
}

void gt_writer_unload(struct gt_writer *w, uint32_t number)
{
	uint8_t buffer[GT_VARINT_MAX];

	define(w, GT_DEF_UNLOAD, buffer, (size_t)(gt_put_varint(buffer, number) - buffer));
}

void gt_writer_place(struct gt_writer *w, uint16_t number, enum gt_api api, const char *name)
{
	uint8_t buffer[GT_RECORD_MAX], *at = gt_put_varint(buffer, number);

	at = put_blob(at, gt_api_keys[api], strlen(gt_api_keys[api]), 64);
	at = put_blob(at, name, strlen(name), 256);
	pthread_mutex_lock(&w->defining);
	define(w, GT_DEF_PLACE, buffer, (size_t)(at - buffer));
	pthread_mutex_unlock(&w->defining);
}

void gt_writer_name(struct gt_writer *w, uint64_t time_ns, uint64_t handle, const char *name)
{
	uint8_t buffer[GT_RECORD_MAX], *at = gt_put_varint(buffer, time_ns);

	at = gt_put_varint(at, handle);
	at = put_blob(at, name, strlen(name), GT_RECORD_MAX - 64);
	pthread_mutex_lock(&w->defining);
	define(w, GT_DEF_NAME, buffer, (size_t)(at - buffer));
	pthread_mutex_unlock(&w->defining);
}

uint32_t gt_function_define(struct gt_writer *w, uint16_t function)
{
	const struct gt_function *fn = &gt_functions[function];
	const char *api = gt_api_keys[fn->api], *kind = gt_kinds[fn->kind].name;
	uint8_t buffer[GT_RECORD_MAX], *at;
	uint32_t number;

	pthread_mutex_lock(&w->defining);
	number = atomic_load(&w->functions[function]);
	if (!number) {
		at = gt_put_varint(buffer, w->functions_defined + 1);
		*at++ = fn->effect;
		at = put_blob(at, api, strlen(api), 64);
		at = put_blob(at, kind, strlen(kind), 64);
		at = put_blob(at, gt_function_names[function],
			      strlen(gt_function_names[function]), 256);
		if (define(w, GT_DEF_FUNCTION, buffer, (size_t)(at - buffer))) {
			number = ++w->functions_defined;
			atomic_store(&w->functions[function], number);
		}
	}
	pthread_mutex_unlock(&w->defining);
	return number;
}

/* A stack that has no number yet; the caller holds the definitions' lock. */
static uint32_t define_stack(struct gt_writer *w, uint64_t key, const uint64_t *frames,
			     size_t count)
{
	uint8_t buffer[GT_RECORD_MAX], *at = buffer;
	uint64_t before = 0;

	if (w->stacks_defined >= STACKS_MAX)
		return 0;
	if (w->options.modules)
		w->options.modules(w, w->options.context);
	for (size_t i = 0; i < count && at + GT_VARINT_MAX < buffer + sizeof buffer; i++) {
		at = gt_put_varint(at, gt_delta(before, frames[i]));
		before = frames[i];
	}
	if (!define(w, GT_DEF_STACK, buffer, (size_t)(at - buffer)))
		return 0;
	/* the number is spent even when it cannot be remembered: the reader counts records */
	w->stacks_defined++;
	if (gt_stacks_add(&w->stacks, key, w->stacks_defined))
		return 0;
	return w->stacks_defined;
}

uint32_t gt_writer_stack(struct gt_writer *w, const uint64_t *frames, size_t count)
{
	uint64_t key;
	uint32_t number;

	if (!count)
		return 0;
	if (count > GT_STACK_FRAMES_MAX)
		count = GT_STACK_FRAMES_MAX;
	key = gt_stack_key(frames, count);
	number = gt_stacks_find(&w->stacks, key);
	if (number)
		return number;
	pthread_mutex_lock(&w->defining);
	number = gt_stacks_find(&w->stacks, key);
	if (!number)
		number = define_stack(w, key, frames, count);
	pthread_mutex_unlock(&w->defining);
	if (!number)
		__atomic_add_fetch(&w->header->lost_stacks, 1, __ATOMIC_RELAXED);
	return number;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	return put_blob(at, text ? text : "", text ? strlen(text) : 0, TEXT_MAX);
}

/* The number of a definition that is known by its bytes; the first use writes it. */
static uint32_t number_text(struct gt_writer *w, enum gt_definition tag, const uint8_t *payload,
			    size_t size, uint32_t *defined, uint32_t most)
{
	uint8_t buffer[GT_RECORD_MAX];
	uint64_t key = gt_hash_bytes(payload, size) ^ tag;
	uint32_t number;
	uint8_t *at;

	key += !key;
	number = gt_stacks_find(&w->texts, key);
	if (number)
		return number;
	pthread_mutex_lock(&w->defining);
	number = gt_stacks_find(&w->texts, key);
	if (!number && *defined < most) {
		at = gt_put_varint(buffer, *defined + 1);
		memcpy(at, payload, size);
		if (define(w, tag, buffer, (size_t)(at - buffer) + size)) {
			++*defined;
			number = gt_stacks_add(&w->texts, key, *defined) ? 0 : *defined;
		}
	}
	pthread_mutex_unlock(&w->defining);
	return number;
}

uint64_t gt_writer_text_frame(struct gt_writer *w, const struct gt_text_frame *frame)
{
	uint8_t payload[GT_RECORD_MAX - GT_VARINT_MAX], *at = payload;
	uint32_t number;

	at = put_text(at, frame->function);
	at = put_text(at, frame->file);
	at = gt_put_varint(at, frame->line);
	at = put_text(at, frame->module);
	number = number_text(w, GT_DEF_TEXT_FRAME, payload, (size_t)(at - payload),
			     &w->text_frames_defined, STACKS_MAX);
	return number ? GT_TEXT_FRAMES + number : 0;
}

uint16_t gt_writer_series(struct gt_writer *w, const struct gt_series *series)
{
	uint8_t payload[GT_RECORD_MAX - GT_VARINT_MAX], *at = payload;

	at = put_text(at, series->name);
	at = put_text(at, series->unit);
	at = put_text(at, series->subject);
	return (uint16_t)number_text(w, GT_DEF_SERIES, payload, (size_t)(at - payload),
				     &w->series_defined, UINT16_MAX);
}

void gt_writer_forget_stacks(struct gt_writer *w)
{
	pthread_mutex_lock(&w->defining);
	gt_stacks_clear(&w->stacks);
	pthread_mutex_unlock(&w->defining);
}

void gt_writer_lose(struct gt_writer *w, uint64_t events)
{
	__atomic_add_fetch(&w->header->lost, events, __ATOMIC_RELAXED);
}

/* The file with its first page: created, never overwritten, private to the user. */
static int create_file(struct gt_writer *w)
{
	int fd = open(w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), e;

	if (fd < 0)
		return -errno;
	w->fd = fd = gt_fd_aside(fd);
	if (!gt_file_id_of(&w->id, fd)) {
		e = -errno;
		goto remove_file;
	}
	w->end = GT_TRACE_HEADER;
	e = make_room(w, 2 * GT_BLOCK_MIN);
	if (e)
		goto remove_file;
	w->header = mmap(NULL, GT_TRACE_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (w->header != MAP_FAILED)
		return 0;
	e = -errno;
remove_file:
	unlink(w->path);
	close(fd);
	return e;
}

int gt_writer_open(struct gt_writer **out, const char *path,
		   const struct gt_writer_options *options)
{
	struct gt_writer *w = calloc(1, sizeof *w);
	int e;

	if (!w)
		return -ENOMEM;
	w->options = *options;
	w->fd = -1;
	w->definitions.writer = w;
	pthread_mutex_init(&w->room, NULL);
	pthread_mutex_init(&w->defining, NULL);
	w->path = strdup(path);
	if (!w->path) {
		e = -ENOMEM;
		goto free_writer;
	}
	e = create_file(w);
	if (e)
		goto free_writer;
	w->header->version = GT_TRACE_VERSION;
	w->header->header_size = GT_TRACE_HEADER;
	w->header->pid = options->pid;
	w->header->ppid = options->ppid;
	w->header->start_ns = options->start_ns ? options->start_ns : gt_now_ns();
	w->header->start_real_ns =
		options->start_ns ? options->start_real_ns : gt_clock_ns(CLOCK_REALTIME);
	memcpy(w->header->magic, GT_TRACE_MAGIC, sizeof w->header->magic);
	w->definitions.time_ns = w->header->start_ns;
	*out = w;
	return 0;
free_writer:
	free(w->path);
	free(w);
	return e;
}

void gt_writer_end(struct gt_writer *w)
{
	gt_writer_end_at(w, gt_now_ns());
}

void gt_writer_end_at(struct gt_writer *w, uint64_t end_ns)
{
	int fd;

	if (atomic_load(&w->error))
		return;
	w->header->end_ns = end_ns;
	__atomic_store_n(&w->header->state, GT_TRACE_ENDED, __ATOMIC_RELEASE);
	pthread_mutex_lock(&w->room);
	fd = descriptor(w);
	/* a failure leaves zeroes at the end, which readers know */
	if (fd >= 0 && !ftruncate(fd, (off_t)w->end))
		w->reserved = w->end;
	pthread_mutex_unlock(&w->room);
}

static void unmap_lane(struct gt_lane *lane)
{
	if (lane->block)
		munmap(lane->block, lane->block->size);
	lane->block = NULL;
	lane->at = lane->limit = NULL;
}

void gt_writer_abandon(struct gt_writer *w)
{
	for (struct gt_lane *lane = w->lanes; lane; lane = lane->next)
		unmap_lane(lane);
	unmap_lane(&w->definitions);
	munmap(w->header, GT_TRACE_HEADER);
	gt_fd_let_go(w->fd, &w->id);
	w->fd = -1;
}

void gt_writer_free(struct gt_writer *w)
{
	gt_writer_abandon(w);
	while (w->lanes) {
		struct gt_lane *next = w->lanes->next;

		free(w->lanes);
		w->lanes = next;
	}
	gt_stacks_free(&w->stacks);
	gt_stacks_free(&w->texts);
	pthread_mutex_destroy(&w->room);
	pthread_mutex_destroy(&w->defining);
	free(w->path);
	free(w);
}
