/* SPDX-License-Identifier: MIT */
/* writer.c - the file of a trace: room and blocks. Records: records.c. */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cancellation.h"
#include "base/guest_file.h"
#include "base/process.h"
#include "base/small_printf.h"
#include "base/table_memory.h"
#include "trace/room.h"
#include "trace/writer_state.h"

enum {
	ROOM_MIN = 64 << 10, /* reserved ahead: a quarter of what is there, within these */
	ROOM_MAX = 16 << 20,
	SAME_PID_MAX = 10000,
};

/*
 * Our descriptor, opened again if the program has closed it or reused its number. Where the
 * file is read-only, that goes for us, too.
 */
static int descriptor(struct gt_writer *w)
{
	if (gt_fd_is(w->fd, &w->id))
		return w->fd;
	if (w->options.read_only && gt_path_is(w->path, &w->id))
		fchmodat(AT_FDCWD, w->path, 0600, 0);
	w->fd = gt_fd_reopen(w->fd, &w->id, w->path, O_RDWR | O_NOFOLLOW);
	if (w->fd < 0)
		return -ENOENT;
	if (w->options.read_only)
		fchmod(w->fd, 0400);
	return w->fd;
}

/* For file systems without fallocate: slower, but as safe. */
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

static _Atomic uint64_t *taken_room(struct gt_writer *w)
{
	return w->options.taken ? w->options.taken : &w->taken;
}

/* Counts space against the limit; returns false, and counts nothing, when it exceeds the limit. */
static bool take_room(struct gt_writer *w, uint64_t size)
{
	_Atomic uint64_t *taken = taken_room(w);
	uint64_t before = atomic_load(taken);

	if (!w->options.max_bytes)
		return true;
	if (w->options.room)
		return gt_room_take(w->options.room, size, w->options.max_bytes);
	do
		if (before > w->options.max_bytes || size > w->options.max_bytes - before)
			return false;
	while (!atomic_compare_exchange_weak(taken, &before, before + size));
	return true;
}

static void give_room(struct gt_writer *w, uint64_t size)
{
	if (!w->options.max_bytes)
		return;
	if (w->options.room)
		gt_room_give(w->options.room, size);
	else
		atomic_fetch_sub(taken_room(w), size);
}

/* While nobody reserves or gives back space: the caller holds `space_lock`. */
static bool is_whole_locked(struct gt_writer *w)
{
	int fd = descriptor(w); /* the program may have closed it */
	int64_t size = fd < 0 ? -1 : gt_fd_size(fd);

	/* removed, too: what is mapped stays, and the next block fails */
	return size < 0 || (uint64_t)size >= atomic_load(&w->reserved);
}

static int allocate(int fd, int mode, uint64_t from, uint64_t end)
{
	int e;

	do
		e = fallocate(fd, mode, (off_t)from, (off_t)(end - from)) ? errno : 0;
	while (e == EINTR);
	return e;
}

static int reserve_to(struct gt_writer *w, uint64_t end)
{
	int fd = descriptor(w), e;
	bool may_signal = gt_file_size_is_limited();
	struct gt_held_signals held;

	if (fd < 0)
		return fd;
	/* first: a file that was shortened would be of its full length again, with a hole */
	if (!is_whole_locked(w))
		return -ESTALE;
	if (!take_room(w, end - w->reserved))
		return -EFBIG;
	if (may_signal)
		gt_signals_hold(&held);
	e = allocate(fd, FALLOC_FL_KEEP_SIZE, w->reserved, end);
	/* again: this may have waited for somebody who shortened it; what follows does not wait */
	if (!e)
		e = is_whole_locked(w) ? allocate(fd, 0, w->reserved, end) : ESTALE;
	if (e == EOPNOTSUPP || e == ENOSYS)
		e = -write_zeroes(fd, (off_t)w->reserved, end - w->reserved);
	if (may_signal)
		gt_signals_release(&held);
	if (e) {
		give_room(w, end - w->reserved);
		return -e;
	}
	w->reserved = end;
	return 0;
}

/* Makes sure that `size` bytes at the end are really allocated in the file, and some more. */
static int make_room(struct gt_writer *w, size_t size)
{
	uint64_t ahead = w->reserved ? w->end / 4 : w->options.first_bytes;
	int e;

	ahead = ahead < ROOM_MIN ? ROOM_MIN : ahead > ROOM_MAX ? ROOM_MAX : ahead;
	/* a nearly full disk may still have space for the block that is needed now */
	do {
		ahead &= ~(uint64_t)(GT_BLOCK_MIN - 1);
		e = reserve_to(w, w->end + (ahead < size ? size : ahead));
		ahead /= 4;
	} while ((e == -ENOSPC || e == -EDQUOT || e == -EFBIG) && ahead * 4 > size);
	return e;
}

/* One user of a window less; the last one unmaps it. The caller holds `space_lock`. */
static void leave_window(struct gt_writer *w, struct gt_window *window)
{
	struct gt_window **at = &w->windows;

	if (--window->users)
		return;
	while (*at != window)
		at = &(*at)->next;
	/* first: a child forked in between unmaps what it finds in the list */
	__atomic_store_n(at, window->next, __ATOMIC_SEQ_CST);
	gt_window_close(window);
	gt_table_free(window);
}

/*
 * Reserves space for `size` bytes and more, and maps it: new blocks lie there. What is left of the
 * window before is mapped once more, because blocks follow each other without a gap.
 */
static int open_window(struct gt_writer *w, size_t size)
{
	struct gt_window *before = w->windows, *window;
	uint64_t from = w->end;
	int e = make_room(w, size), fd;

	if (e)
		return e;
	fd = descriptor(w);
	if (fd < 0)
		return fd;
	e = gt_window_open(&window, fd, (off_t)from, w->reserved - from, &w->has_failed);
	if (e)
		return e;
	window->next = before;
	w->window_from = from;
	__atomic_store_n(&w->windows, window, __ATOMIC_SEQ_CST);
	/* for good: a block may stay in this window as long as its thread is idle */
	if (window->number < 0 || !w->options.is_guarded || !w->options.is_guarded())
		atomic_store(&w->is_guarded, false);
	if (before)
		leave_window(w, before);
	return 0;
}

__attribute__((noinline)) void gt_writer_stop(struct gt_writer *w, int error)
{
	int running = 0;

	gt_cancellation_hold();
	if (!atomic_compare_exchange_strong(&w->error, &running, error))
		return;
	w->header->error = (uint32_t)-error;
	w->header->end_ns = gt_now_ns();
	__atomic_store_n(&w->header->state, GT_TRACE_STOPPED, __ATOMIC_RELEASE);
	if (w->options.stopped)
		w->options.stopped(w, w->options.context, error);
}

/*
 * Stops for good when the file cannot be written to as before. If it is not what we wrote, its
 * header gives way to memory of our own, so that what is lost can still be counted somewhere.
 */
static void lose_file(struct gt_writer *w, int error)
{
	if (error == -ESTALE)
		mmap(w->header, GT_TRACE_HEADER, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	else
		gt_writer_lose(w, 1); /* what the store that failed was part of */
	gt_writer_stop(w, error);
	/* last: whoever sees this needs no check of its own, and sees the error, too */
	atomic_store(&w->is_lost, true);
}

/* False if the file is shorter than what we reserved in it. */
static bool is_whole(struct gt_writer *w)
{
	/* first: another thread may reserve more meanwhile */
	uint64_t reserved = atomic_load(&w->reserved);
	bool is;

	if (gt_fd_holds(atomic_load(&w->fd), &w->id, reserved))
		return true;
	/* another thread may have given space back */
	pthread_mutex_lock(&w->space_lock);
	is = is_whole_locked(w);
	pthread_mutex_unlock(&w->space_lock);
	return is;
}

/* Why a store has failed. */
static int failure_locked(struct gt_writer *w)
{
	return is_whole_locked(w) ? -EIO : -ESTALE;
}

static int failure(struct gt_writer *w)
{
	int error;

	pthread_mutex_lock(&w->space_lock);
	error = failure_locked(w);
	pthread_mutex_unlock(&w->space_lock);
	return error;
}

/* False if a copy of an earlier state has been put over it. */
static bool is_ours(const struct gt_lane *lane)
{
	return !lane || !lane->block ||
	       lane->block->used == lane->at - (uint8_t *)(lane->block + 1);
}

static bool check(struct gt_writer *w, const struct gt_lane *lane, bool is_whole_known)
{
	if (gt_writer_is_lost(w))
		return false;
	if (!is_whole_known && !is_whole(w)) {
		lose_file(w, -ESTALE);
		return false;
	}
	if (is_ours(lane) && !atomic_load(&w->has_failed))
		return true;
	lose_file(w, atomic_load(&w->has_failed) ? failure(w) : -ESTALE);
	return false;
}

bool gt_writer_check(struct gt_writer *w, const struct gt_lane *lane)
{
	return check(w, lane, atomic_load_explicit(&w->is_guarded, memory_order_relaxed));
}

bool gt_writer_check_file(struct gt_writer *w, const struct gt_lane *lane)
{
	return check(w, lane, false);
}

static struct gt_block_header *take_block(struct gt_writer *w, uint32_t size)
{
	struct gt_block_header *block;
	int e = w->end + size > w->reserved ? open_window(w, size) : 0;

	if (e == -ESTALE) {
		lose_file(w, e);
		return NULL;
	}
	if (e) {
		gt_writer_stop(w, e);
		return NULL;
	}
	block = (struct gt_block_header *)(w->windows->start + (w->end - w->window_from));
	if (gt_window_populate(block, size)) {
		lose_file(w, failure_locked(w));
		return NULL;
	}
	w->windows->users++;
	return block;
}

/* What is in the block is no longer changed; its window can be left. */
static void close_block(struct gt_lane *lane)
{
	struct gt_block_header *block = lane->block;

	block->inflight.function = 0;
	block->hash = gt_block_hash(block, block + 1, (size_t)(lane->at - (uint8_t *)(block + 1)));
	lane->block = NULL;
	lane->at = lane->limit = NULL;
	gt_window_flush(block, lane->block_size);
}

__attribute__((noinline)) int gt_block_open(struct gt_lane *lane)
{
	struct gt_writer *w = lane->writer;
	uint32_t size = gt_block_size(lane->sequence);
	struct gt_window *before = lane->window;
	struct gt_block_header *block = NULL;

	gt_cancellation_hold();
	if (!gt_writer_check(w, lane))
		return -EIO;
	gt_lane_save_call(lane);
	if (lane->block)
		close_block(lane);
	pthread_mutex_lock(&w->space_lock);
	lane->window = NULL;
	if (before)
		leave_window(w, before);
	if (!atomic_load(&w->error) && (block = take_block(w, size))) {
		lane->window = w->windows;
		/* numbered in order of first blocks, so that readers can reject absurd numbers */
		if (!lane->number && lane != &w->definitions)
			lane->number = ++w->lane_count;
		block->size = size;
		block->lane = lane->number;
		block->sequence = lane->sequence++;
		block->time_ns = lane->time_ns;
		block->handle = lane->handle;
		block->owner = lane->owner;
		block->tid = lane->tid;
		/* the magic last: a block with a magic has a complete header */
		__atomic_store_n(&block->magic, GT_BLOCK_MAGIC, __ATOMIC_RELEASE);
		w->end += size;
		__atomic_store_n(&w->header->blocks_end, w->end, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&w->space_lock);
	if (!block)
		return -EIO;
	lane->block_size = size;
	lane->phase = 0; /* a block can be read by itself */
	lane->block = block;
	lane->at = (uint8_t *)(block + 1);
	lane->limit = (uint8_t *)block + size;
	memset(&lane->touched, 0, sizeof lane->touched);
	gt_origins_begin(&lane->origins, lane->owner);
	if (lane != &w->definitions) {
		lane->limit -= sizeof(struct gt_trace_arguments);
		gt_lane_publish_call(lane);
	}
	return 0;
}

/* Also in signal handlers. The count comes last: a count without times is a gap without end. */
void gt_writer_lose_between(struct gt_writer *w, uint64_t events, uint64_t first_ns,
			    uint64_t last_ns)
{
	uint64_t *first = &w->header->lost_first_ns, *last = &w->header->lost_last_ns;
	uint64_t was = __atomic_load_n(last, __ATOMIC_RELAXED);

	while (was < last_ns && !__atomic_compare_exchange_n(last, &was, last_ns, true,
							     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	was = __atomic_load_n(first, __ATOMIC_RELAXED);
	while ((!was || was > first_ns) &&
	       !__atomic_compare_exchange_n(first, &was, first_ns, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	__atomic_add_fetch(&w->header->lost, events, __ATOMIC_RELEASE);
}

void gt_writer_lose(struct gt_writer *w, uint64_t events)
{
	uint64_t now_ns = gt_now_ns();

	gt_writer_lose_between(w, events, now_ns, now_ns);
}

/*
 * A store to a block that fails takes the page away that the block is in. Where blocks share the
 * header's page, the header has a window of its own, so that it can still say what happened.
 */
static void open_header(struct gt_writer *w)
{
	struct gt_window *window = w->windows;

	if (sysconf(_SC_PAGESIZE) > GT_TRACE_HEADER &&
	    !gt_window_open(&window, w->fd, 0, GT_TRACE_HEADER, &w->has_failed))
		w->windows->next = window;
	else
		window->users++;
	w->header = (struct gt_trace_header *)window->start;
}

/*
 * Creates the file with its first page: never overwrites one, private to the user. If it is
 * to be read-only, it is so for everybody but us: a copy put over it, or anything else that
 * shortens it, would raise SIGBUS in the program. Only root can do that nonetheless:
 * gt_writer_check.
 */
static int create_file(struct gt_writer *w)
{
	int fd = open(w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		      w->options.read_only ? 0400 : 0600);
	int e;

	if (fd < 0)
		return -errno;
	w->fd = fd = gt_fd_move_high(fd);
	if (!gt_file_id_of(&w->id, fd)) {
		e = -errno;
		goto remove_file;
	}
	e = open_window(w, 3 * GT_BLOCK_MIN);
	if (!e) {
		w->end = GT_TRACE_HEADER;
		open_header(w);
		return 0;
	}
remove_file:
	give_room(w, w->reserved);
	unlink(w->path);
	close(fd);
	return e;
}

int gt_writer_open(struct gt_writer **out, const char *path,
		   const struct gt_writer_options *options)
{
	struct gt_writer *w = gt_table_alloc(sizeof *w);
	int e;

	if (!w)
		return -ENOMEM;
	w->options = *options;
	w->is_guarded = true; /* until open_window finds otherwise */
	w->fd = -1;
	w->definitions.writer = w;
	pthread_mutex_init(&w->space_lock, NULL);
	pthread_mutex_init(&w->definitions_lock, NULL);
	w->path = gt_table_alloc(strlen(path) + 1);
	if (!w->path) {
		e = -ENOMEM;
		goto free_writer;
	}
	strcpy(w->path, path);
	e = create_file(w);
	if (e)
		goto free_writer;
	w->header->version = GT_TRACE_VERSION;
	w->header->header_size = GT_TRACE_HEADER;
	w->header->arguments_size = sizeof(struct gt_trace_arguments);
	w->header->pid = options->pid;
	w->header->ppid = options->ppid;
	w->header->start_ns = options->start_ns ? options->start_ns : gt_now_ns();
	w->header->start_real_ns =
		options->start_ns ? options->start_real_ns : gt_clock_ns(CLOCK_REALTIME);
	/* the magic last: until then readers see a trace that has not begun */
	atomic_thread_fence(memory_order_release);
	memcpy(w->header->magic, GT_TRACE_MAGIC, sizeof w->header->magic);
	w->definitions.time_ns = w->header->start_ns;
	*out = w;
	return 0;
free_writer:
	gt_table_free(w->path);
	gt_table_free(w);
	return e;
}

const char *gt_writer_name_of(const struct gt_writer *w)
{
	const char *slash = strrchr(w->path, '/');

	return slash ? slash + 1 : w->path;
}

int gt_writer_open_in(struct gt_writer **out, const char *folder,
		      const struct gt_writer_options *options)
{
	char *path = gt_table_alloc(PATH_MAX); /* a child's stack may be small */
	int e = path ? -EEXIST : -ENOMEM;

	for (int i = 1; e == -EEXIST && i < SAME_PID_MAX; i++) {
		char number[16] = "";
		int n;

		if (i > 1)
			gt_snprintf(number, sizeof number, "-%d", i);
		n = gt_snprintf(path, PATH_MAX, "%s/%u%s.trace", folder, options->pid, number);
		e = n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : gt_writer_open(out, path, options);
	}
	gt_table_free(path);
	return e;
}

void gt_writer_end(struct gt_writer *w)
{
	gt_writer_end_at(w, gt_now_ns());
}

void gt_writer_start_at(struct gt_writer *w, uint64_t start_ns, uint64_t start_real_ns)
{
	w->header->start_ns = start_ns;
	w->header->start_real_ns = start_real_ns;
}

void gt_writer_end_at(struct gt_writer *w, uint64_t end_ns)
{
	uint64_t reserved;
	int fd;

	if (atomic_load(&w->error) || !gt_writer_check(w, NULL))
		return;
	w->header->end_ns = end_ns;
	__atomic_store_n(&w->header->state, GT_TRACE_ENDED, __ATOMIC_RELEASE);
	/* there may be no call any more that would find that this was not possible */
	if (!gt_writer_check(w, NULL) || w->options.leaves_tail)
		return;
	pthread_mutex_lock(&w->space_lock);
	fd = descriptor(w);
	/* a failure leaves zeroes at the end, which readers accept; less is reserved first, so that
	 * no check finds the file too short */
	reserved = atomic_exchange(&w->reserved, w->end);
	if (fd >= 0 && !ftruncate(fd, (off_t)w->end))
		give_room(w, reserved - w->end);
	else
		atomic_store(&w->reserved, reserved);
	pthread_mutex_unlock(&w->space_lock);
}

void gt_writer_abandon(struct gt_writer *w)
{
	for (struct gt_window *window = w->windows; window; window = window->next)
		gt_window_close(window);
	gt_fd_close(w->fd, &w->id);
	w->fd = -1;
}

void gt_writer_free(struct gt_writer *w)
{
	gt_writer_abandon(w);
	while (w->windows) {
		struct gt_window *next = w->windows->next;

		gt_table_free(w->windows);
		w->windows = next;
	}
	while (w->lanes) {
		struct gt_lane *next = w->lanes->next;

		gt_table_free(w->lanes);
		w->lanes = next;
	}
	gt_stacks_free(&w->stacks);
	gt_stacks_free(&w->texts);
	pthread_mutex_destroy(&w->space_lock);
	pthread_mutex_destroy(&w->definitions_lock);
	gt_table_free(w->path);
	gt_table_free(w);
}
