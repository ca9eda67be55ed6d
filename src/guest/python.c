/* SPDX-License-Identifier: MIT */
/* python.c - the calling thread's Python frames, read without the GIL. */
#include "guest/python.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cancellation.h"
#include "base/machine.h"
#include "base/python_layout.h"
#include "base/table_memory.h"
#include "guest/fork_guard.h"
#include "guest/loaded_modules.h"
#include "guest/own_stack.h"

enum {
	SETS = 1024,         /* of places in code whose number is cached, */
	WAYS = 2,            /* and that may take each other's slot */
	CHECKED_STACKS = 64, /* stacks whose every word is read through the kernel, at first */
};

#define SEARCH_EVERY_NS UINT64_C(1000000000)

static struct {
	void *(*thread_state)(void);
	const void *code_type;
	struct gt_python_layout layout;
	uint64_t begin, end; /* the interpreter's code */
} python;
static _Atomic bool found, is_unsupported;
static _Atomic uint64_t searched_ns;
static _Atomic int checked_stacks = CHECKED_STACKS;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A place in code and its number; the rest differs when new code has an old one's address. */
struct code_place {
	uint32_t first_line;
	uint64_t code, instruction, file, name, lines;
	uint64_t number;
};

/*
 * Written under the lock, and read without it: `version` is odd while an entry is written, and has
 * changed since then. So threads that make blocks at the same time do not wait for each other. One
 * line of the processor's cache, from which the program has driven it since the last block.
 */
static struct cached_place {
	_Atomic uint32_t version;
	struct code_place place;
} __attribute__((aligned(64))) cache[SETS * WAYS];
_Static_assert(sizeof *cache == 64, "one line each");
static uint64_t contents[SETS * WAYS]; /* content_of() each; guarded by the lock */

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static void cache_put(struct cached_place *c, const struct code_place *p)
{
	uint32_t version = atomic_load_explicit(&c->version, memory_order_relaxed);

	atomic_store_explicit(&c->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	store(&c->place.code, p->code);
	store(&c->place.instruction, p->instruction);
	store(&c->place.file, p->file);
	store(&c->place.name, p->name);
	store(&c->place.lines, p->lines);
	store(&c->place.number, p->number);
	__atomic_store_n(&c->place.first_line, p->first_line, __ATOMIC_RELAXED);
	atomic_store_explicit(&c->version, version + 2, memory_order_release);
}

/* Reads memory that may not be mapped. */
static bool read_safely(void *to, uint64_t from, size_t size)
{
	/* cppcheck-suppress ctuuninitvar; it is what is filled in */
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	/* a sandbox forbids the call: we rely on the offsets of this version */
	if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
		memcpy(to, (const void *)(uintptr_t)from, size);
		return true;
	}
	return n == (ssize_t)size;
}

static bool is_pointer(uint64_t word)
{
	return word - 4096 < GT_USER_END - 4096 && !(word & 7);
}

static bool read_bytes(void *out, uint64_t from, size_t size)
{
	if (!is_pointer(from & ~UINT64_C(7)))
		return false;
	if (atomic_load_explicit(&checked_stacks, memory_order_relaxed) > 0)
		return read_safely(out, from, size);
	memcpy(out, (const void *)(uintptr_t)from, size);
	return true;
}

static bool read_word(uint64_t *out, uint64_t from)
{
	return read_bytes(out, from, sizeof *out);
}

/* A str as UTF-8, cut to GT_PYTHON_TEXT at its start. */
static bool read_text(char out[GT_PYTHON_TEXT], uint64_t object)
{
	static uint8_t raw[GT_PYTHON_TEXT]; /* guarded by the lock */
	struct gt_python_str head;
	struct gt_python_text text;

	if (!is_pointer(object) || !read_safely(&head, object + 16, sizeof head) ||
	    !gt_python_text_of(&python.layout, &text, object, &head) ||
	    (text.count && !read_safely(raw, text.at, (size_t)text.count * text.width)))
		return false;
	gt_python_utf8(out, &text, raw);
	return true;
}

static uint32_t read_line(uint64_t code, uint64_t lines, uint64_t instruction)
{
	int32_t first;
	uint64_t size;
	uint8_t *table;
	uint32_t line = 0;

	if (!read_safely(&first, code + python.layout.first_line, sizeof first) ||
	    !is_pointer(lines) || !read_safely(&size, lines + 16, sizeof size) ||
	    size > GT_PYTHON_LINES)
		return 0;
	table = gt_table_alloc(size ? size : 1);
	if (table && read_safely(table, lines + 32, size))
		line = gt_python_line(&python.layout, table, size, (uint32_t)first,
				      gt_python_index(&python.layout, code, instruction));
	gt_table_free(table);
	return line;
}

static uint64_t describe(const struct code_place *p, gt_python_number_fn *number)
{
	static char file[GT_PYTHON_TEXT], name[GT_PYTHON_TEXT]; /* guarded by the lock */
	struct gt_text_frame frame = { .function = name, .file = file, .module = GT_PYTHON };

	if (!read_text(file, p->file) || !read_text(name, p->name))
		return 0;
	frame.line = read_line(p->code, p->lines, p->instruction);
	return number(&frame);
}

/* What the texts of code contain that is of no file ("<string>"): 0 for other code. */
static uint64_t content_of(const struct code_place *p)
{
	struct gt_python_marks m = { 0 };
	size_t size;
	char first = 0;

	if (!read_bytes(&first, p->file + python.layout.ascii, 1) || first != '<' ||
	    !read_word(&m.file_hash, p->file + GT_PYTHON_STR_HASH) ||
	    !read_word(&m.name_hash, p->name + GT_PYTHON_STR_HASH) ||
	    !read_word(&m.lines[0], p->lines + GT_PYTHON_BYTES_SIZE))
		return 0;
	size = m.lines[0] < sizeof m.lines - 16 ? m.lines[0] : sizeof m.lines - 16;
	if (!size || !read_bytes(&m.lines[2], p->lines + GT_PYTHON_BYTES, size))
		return 0;
	return gt_python_content(&m);
}

/* The first of the WAYS slots that a place may have. */
static struct cached_place *slots_of(uint64_t code, uint64_t instruction)
{
	return &cache[((code >> 4) * 31 + (instruction >> 1)) % SETS * WAYS];
}

/* The slot of a place, or that which it takes from another; under the lock. */
static struct cached_place *slot_of(uint64_t code, uint64_t instruction)
{
	static unsigned taken;
	struct cached_place *slots = slots_of(code, instruction);

	for (int i = 0; i < WAYS; i++)
		if (!slots[i].place.number ||
		    (slots[i].place.code == code && slots[i].place.instruction == instruction))
			return &slots[i];
	return &slots[taken++ % WAYS];
}

/* The number of a place in code; 0 if there is no code object. */
static uint64_t number_of(uint64_t code, uint64_t instruction, gt_python_number_fn *number)
{
	struct code_place fresh = { .code = code, .instruction = instruction };
	struct cached_place *cached = slot_of(code, instruction);
	const struct code_place *p = &cached->place;
	uint64_t type, content;

	if (!read_word(&type, code + 8) || type != (uint64_t)(uintptr_t)python.code_type ||
	    !read_word(&fresh.file, code + python.layout.file) ||
	    !read_word(&fresh.name, code + python.layout.name) ||
	    !read_word(&fresh.lines, code + python.layout.lines) ||
	    !read_bytes(&fresh.first_line, code + python.layout.first_line,
			sizeof fresh.first_line))
		return 0;
	content = content_of(&fresh);
	if (p->number && p->code == code && p->instruction == instruction &&
	    p->file == fresh.file && p->name == fresh.name && p->lines == fresh.lines &&
	    p->first_line == fresh.first_line && contents[cached - cache] == content)
		return p->number;
	fresh.number = describe(&fresh, number);
	cache_put(cached, &fresh);
	contents[cached - cache] = content;
	return fresh.number;
}

/* Reads one frame: its number if it has code, and the frame that called it. */
static bool read_frame(uint64_t frame, uint64_t *next, uint64_t *number, gt_python_number_fn *fn)
{
	const struct gt_python_layout *l = &python.layout;
	uint64_t code, instruction, owner = 0;

	*number = 0;
	if (!is_pointer(frame) || !read_word(next, frame + l->previous) ||
	    !read_word(&code, frame + l->code) || !read_word(&instruction, frame + l->instruction))
		return false;
	if (l->owner && !read_word(&owner, (frame + l->owner) & ~UINT64_C(7)))
		return false;
	owner = owner >> 8 * ((frame + l->owner) & 7) & 0xff;
	if (l->owner && owner >= GT_PYTHON_NO_CODE && l->minor >= 12)
		return true;
	code &= ~UINT64_C(7); /* 3.14 keeps tags in the low bits */
	if (!is_pointer(code))
		return false;
	*number = number_of(code, instruction, fn);
	return *number != 0;
}

static inline uint64_t word_at(uint64_t address)
{
	uint64_t word;

	memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
	return word;
}

/* The number of a place in code of a file if this slot has it, as it still is; 0: it has not. */
static inline __attribute__((always_inline)) uint64_t known_in(const struct cached_place *c,
							       const struct gt_python_layout *l,
							       uint64_t code, uint64_t instruction)
{
	const struct code_place *p = &c->place;
	uint32_t version = atomic_load_explicit(&c->version, memory_order_acquire), first_line;
	uint64_t number = load(&p->number), file = load(&p->file);

	/* code that was read before, and that a frame of this thread is in: it can be read */
	if (version & 1 || !number || load(&p->code) != code ||
	    load(&p->instruction) != instruction)
		return 0;
	memcpy(&first_line, (const void *)(uintptr_t)(code + l->first_line), sizeof first_line);
	if (word_at(code + 8) != (uint64_t)(uintptr_t)python.code_type ||
	    word_at(code + l->file) != file || word_at(code + l->name) != load(&p->name) ||
	    word_at(code + l->lines) != load(&p->lines) ||
	    first_line != __atomic_load_n(&p->first_line, __ATOMIC_RELAXED) ||
	    *(const char *)(uintptr_t)(file + l->ascii) == '<')
		return 0;
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&c->version, memory_order_relaxed) == version ? number : 0;
}

static inline __attribute__((always_inline)) uint64_t known_number(const struct gt_python_layout *l,
								   uint64_t code,
								   uint64_t instruction)
{
	const struct cached_place *slots = slots_of(code, instruction);
	uint64_t number = 0;

	for (int i = 0; i < WAYS && !number; i++)
		number = known_in(&slots[i], l, code, instruction);
	return number;
}

/*
 * The usual frame, as read_frame reads it, in a tenth of its time and without the lock: one whose
 * place is in the cache, in code of a file, or one without code. False: read_frame has to look.
 */
static inline __attribute__((always_inline)) bool read_known(const struct gt_python_layout *l,
							     uint64_t frame, uint64_t *next,
							     uint64_t *number)
{
	*number = 0;
	if (!is_pointer(frame))
		return false;
	*next = word_at(frame + l->previous);
	if (l->owner && l->minor >= 12 &&
	    *(const uint8_t *)(uintptr_t)(frame + l->owner) >= GT_PYTHON_NO_CODE)
		return true;
	/* 3.14 keeps tags in the low bits */
	*number = known_number(l, word_at(frame + l->code) & ~UINT64_C(7),
			       word_at(frame + l->instruction));
	return *number;
}

static bool innermost_frame(uint64_t *frame)
{
	const struct gt_python_layout *l = &python.layout;
	uint64_t state = (uint64_t)(uintptr_t)python.thread_state();

	return is_pointer(state) && read_word(frame, state + l->frame) &&
	       (l->frame_in < 0 ||
		(is_pointer(*frame) && read_word(frame, *frame + (uint16_t)l->frame_in)));
}

/* All frames without the lock, if every one is known; false: read_frames has to look. */
static bool read_known_frames(uint64_t *out, size_t most, size_t *count)
{
	/* its own: nothing that is stored here can change it */
	const struct gt_python_layout l = python.layout;
	uint64_t *const begin = out, *const end = out + most, frame, next, number;

	*count = 0;
	if (atomic_load_explicit(&checked_stacks, memory_order_relaxed) > 0)
		return false;
	if (!innermost_frame(&frame))
		return true;
	for (size_t left = 4 * most; left && out < end && frame; left--) {
		if (!read_known(&l, frame, &next, &number))
			return false;
		*out = number;
		out += number != 0;
		frame = next;
	}
	*count = (size_t)(out - begin);
	return true;
}

static size_t read_frames(uint64_t *out, size_t most, gt_python_number_fn *fn)
{
	uint64_t frame, next, number;
	bool is_checked = atomic_load_explicit(&checked_stacks, memory_order_relaxed) > 0;
	size_t count = 0;

	if (!innermost_frame(&frame))
		return 0;
	for (size_t i = 0; i < 4 * most && count < most && frame; i++) {
		if ((is_checked || !read_known(&python.layout, frame, &next, &number)) &&
		    !read_frame(frame, &next, &number, fn))
			break;
		if (number)
			out[count++] = number;
		frame = next;
	}
	return count;
}

/* The code of the module that an address lies in. */
struct span {
	uint64_t address, begin, end;
};

static int find_span(struct dl_phdr_info *info, size_t size, void *context)
{
	struct span *s = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + h->p_vaddr, end = begin + h->p_memsz;

		if (h->p_type == PT_LOAD && h->p_flags & PF_X && s->address >= begin &&
		    s->address < end) {
			s->begin = begin;
			s->end = end;
			return 1;
		}
	}
	return 0;
}

/* Apart: later calls need none of this of their stacks. */
static __attribute__((noinline)) bool find_python(void)
{
	enum { THREAD_STATE, CODE_TYPE, VERSION, RUNTIME, NAMES };
	/* clang-format off */
	static const char *const names[NAMES] = {
		"PyGILState_GetThisThreadState", "PyCode_Type", "Py_GetVersion", "_PyRuntime",
	};
	/* clang-format on */
	static unsigned long long adds;
	void *at[NAMES];
	const char *(*version)(void);
	char *dot;
	unsigned long major, minor;
	struct span span;

	if (!gt_modules_find_symbols(names, at, NAMES, &adds) || !at[THREAD_STATE])
		return false;
	python.thread_state = (void *(*)(void))at[THREAD_STATE];
	python.code_type = at[CODE_TYPE];
	version = (const char *(*)(void))at[VERSION];
	/* "3.11.2 (main, …" */
	major = version ? strtoul(version(), &dot, 10) : 0;
	minor = major && *dot == '.' ? strtoul(dot + 1, NULL, 10) : 0;
	if (!python.code_type || major != 3 ||
	    !gt_python_layout_of(&python.layout, (unsigned)minor, at[RUNTIME])) {
		atomic_store(&is_unsupported, true);
		return false;
	}
	span = (struct span){ .address = (uint64_t)(uintptr_t)python.thread_state };
	dl_iterate_phdr(find_span, &span);
	python.begin = span.begin;
	python.end = span.end;
	return true;
}

static bool is_due(uint64_t now_ns)
{
	uint64_t last = atomic_load_explicit(&searched_ns, memory_order_acquire);

	/* another thread may have searched at a later time than `now_ns` */
	return !atomic_load_explicit(&is_unsupported, memory_order_relaxed) &&
	       (int64_t)(now_ns - last) >= (int64_t)SEARCH_EVERY_NS;
}

/* Searches for Python once a second until it is found; other threads wait for the answer. */
static bool has_python(uint64_t now_ns)
{
	_Atomic uint32_t *guard;

	if (atomic_load_explicit(&found, memory_order_acquire))
		return true;
	/* another thread may have found it since, just before it said that it has searched */
	if (!is_due(now_ns))
		return atomic_load(&found);
	guard = gt_fork_guard_enter();
	if (!guard)
		return false;
	gt_cancellation_hold();
	pthread_mutex_lock(&lock);
	if (!atomic_load(&found) && is_due(now_ns)) {
		if (find_python())
			atomic_store_explicit(&found, true, memory_order_release);
		atomic_store(&searched_ns, now_ns);
	}
	pthread_mutex_unlock(&lock);
	gt_fork_guard_leave(guard);
	return atomic_load(&found);
}

size_t gt_python_merge(uint64_t *frames, size_t count, size_t most, gt_python_number_fn *number,
		       uint64_t now_ns)
{
	static uint64_t read[256]; /* guarded by the lock: the stack may be small */
	size_t count_read, own_room, room = sizeof read / sizeof *read;
	uint64_t *own = gt_unwind_spare(&own_room);

	if (!has_python(now_ns))
		return count;
	if (own && read_known_frames(own, most < own_room ? most : own_room, &count_read))
		return count_read ? gt_python_splice(frames, count, most, own, count_read,
						     python.begin, python.end) :
				    count;
	gt_cancellation_hold();
	pthread_mutex_lock(&lock);
	count_read = read_frames(read, most < room ? most : room, number);
	if (count_read && atomic_load(&checked_stacks) > 0)
		atomic_fetch_sub(&checked_stacks, 1);
	if (!count_read) {
		pthread_mutex_unlock(&lock);
		return count;
	}
	count = gt_python_splice(frames, count, most, read, count_read, python.begin, python.end);
	pthread_mutex_unlock(&lock);
	return count;
}

size_t gt_python_read(uint64_t *frames, size_t most, gt_python_number_fn *number, uint64_t now_ns)
{
	size_t count;

	if (!has_python(now_ns))
		return 0;
	gt_cancellation_hold();
	pthread_mutex_lock(&lock);
	count = read_frames(frames, most, number);
	pthread_mutex_unlock(&lock);
	return count;
}

void gt_python_restart(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(cache, 0, sizeof cache);
}
