/* SPDX-License-Identifier: MIT */
/* python.c - the calling thread's Python frames, read without the GIL. */
#include "guest/python.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest/fork_guard.h"
#include "guest/loaded_modules.h"

enum {
	KNOWN = 1024, /* places in code that are remembered */
	CAREFUL = 64, /* stacks of which every word is asked of the kernel */
	TEXT_MAX = 512,
	LINES_MAX = 1 << 20,  /* bytes of a line table that are believed */
	OWNER_OF_NO_CODE = 3, /* from here on frames are the interpreter's own */
};

#define LOOK_EVERY_NS UINT64_C(1000000000)

static struct {
	void *(*thread_state)(void);
	const void *code_type;
	struct gt_python_layout layout;
	uint64_t begin, end; /* the interpreter's code */
} python;
static _Atomic bool found, given_up;
static _Atomic uint64_t looked_ns;
static _Atomic int careful = CAREFUL;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A place in code and its number; the pointers tell code that took an old one's address. */
static struct place {
	uint64_t code, instruction, file, name, lines;
	uint64_t number;
} known[KNOWN];

/* Reads memory that may not be there. */
static bool read_safely(void *to, uint64_t from, size_t size)
{
	/* cppcheck-suppress ctuuninitvar; it is what is filled in */
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	/* a sandbox that forbids the call: the offsets are known to be right for this version */
	if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
		memcpy(to, (const void *)(uintptr_t)from, size);
		return true;
	}
	return n == (ssize_t)size;
}

static bool is_pointer(uint64_t word)
{
	return word >= 4096 && word < UINT64_C(1) << 47 && !(word & 7);
}

static bool read_word(uint64_t *out, uint64_t from)
{
	if (!is_pointer(from & ~UINT64_C(7)))
		return false;
	if (atomic_load_explicit(&careful, memory_order_relaxed) > 0)
		return read_safely(out, from, sizeof *out);
	memcpy(out, (const void *)(uintptr_t)from, sizeof *out);
	return true;
}

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* A str as UTF-8, cut at TEXT_MAX; its end is kept, where a path has its file's name. */
static bool read_text(char out[TEXT_MAX], uint64_t object)
{
	struct {
		uint64_t length, hash;
		uint32_t state;
	} head;
	uint8_t raw[TEXT_MAX];
	unsigned form, width;
	bool ascii, compact;
	uint64_t from, count, most;
	size_t used = 0;

	if (!is_pointer(object) || !read_safely(&head, object + 16, sizeof head))
		return false;
	form = head.state >> python.layout.state_shift;
	width = form & 7;
	compact = form >> 3 & 1;
	ascii = form >> 4 & 1;
	if (!compact || (width != 1 && width != 2 && width != 4) || head.length > 1 << 20)
		return false;
	most = (TEXT_MAX - 5) / (ascii ? 1 : width == 1 ? 2 : 4);
	count = head.length < most ? head.length : most;
	from = object + (ascii ? python.layout.ascii : python.layout.text) +
	       (head.length - count) * width;
	if (count * width > sizeof raw || (count && !read_safely(raw, from, count * width)))
		return false;
	for (uint64_t i = 0; i < count; i++)
		used += put_utf8(out + used,
				 width == 1 ? raw[i] :
				 width == 2 ? (uint32_t)(raw[2 * i] | raw[2 * i + 1] << 8) :
					      (uint32_t)raw[4 * i] | (uint32_t)raw[4 * i + 1] << 8 |
						      (uint32_t)raw[4 * i + 2] << 16);
	out[used] = '\0';
	return true;
}

/* The number of an instruction in its code, in units of two bytes (3.8, 3.9: of one). */
static int64_t instruction_number(uint64_t code, uint64_t instruction)
{
	if (!python.layout.bytecode)
		return (int32_t)instruction;
	return ((int64_t)instruction - (int64_t)(code + python.layout.bytecode)) / 2;
}

static uint32_t read_line(uint64_t code, uint64_t lines, uint64_t instruction)
{
	int32_t first;
	uint64_t size;
	uint8_t *table;
	uint32_t line = 0;

	if (!read_safely(&first, code + python.layout.first_line, sizeof first) ||
	    !is_pointer(lines) || !read_safely(&size, lines + 16, sizeof size) || size > LINES_MAX)
		return 0;
	table = malloc(size ? size : 1);
	if (table && read_safely(table, lines + 32, size))
		line = gt_python_line(&python.layout, table, size, (uint32_t)first,
				      instruction_number(code, instruction));
	free(table);
	return line;
}

static uint64_t describe(const struct place *p, gt_python_number_fn *number)
{
	char file[TEXT_MAX], name[TEXT_MAX];
	struct gt_text_frame frame = { .function = name, .file = file, .module = GT_PYTHON };

	if (!read_text(file, p->file) || !read_text(name, p->name))
		return 0;
	frame.line = read_line(p->code, p->lines, p->instruction);
	return number(&frame);
}

/* The number of a place in code; 0 when what is there is no code. */
static uint64_t number_of(uint64_t code, uint64_t instruction, gt_python_number_fn *number)
{
	struct place fresh = { .code = code, .instruction = instruction };
	struct place *p = &known[((code >> 4) * 31 + (instruction >> 1)) % KNOWN];
	uint64_t type;

	if (!read_word(&type, code + 8) || type != (uint64_t)(uintptr_t)python.code_type ||
	    !read_word(&fresh.file, code + python.layout.file) ||
	    !read_word(&fresh.name, code + python.layout.name) ||
	    !read_word(&fresh.lines, code + python.layout.lines))
		return 0;
	if (p->number && p->code == code && p->instruction == instruction &&
	    p->file == fresh.file && p->name == fresh.name && p->lines == fresh.lines)
		return p->number;
	fresh.number = describe(&fresh, number);
	*p = fresh;
	return fresh.number;
}

/* One frame: its number where it has code, and the frame that it was called from. */
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
	if (l->owner && owner >= OWNER_OF_NO_CODE && l->minor >= 12)
		return true;
	code &= ~UINT64_C(7); /* 3.14 keeps marks in the low bits */
	if (!is_pointer(code))
		return false;
	*number = number_of(code, instruction, fn);
	return *number != 0;
}

static size_t read_frames(uint64_t *out, size_t most, gt_python_number_fn *fn)
{
	const struct gt_python_layout *l = &python.layout;
	uint64_t state = (uint64_t)(uintptr_t)python.thread_state(), frame, next, number;
	size_t count = 0;

	if (!is_pointer(state) || !read_word(&frame, state + l->frame))
		return 0;
	if (l->frame_in >= 0 &&
	    (!is_pointer(frame) || !read_word(&frame, frame + (uint16_t)l->frame_in)))
		return 0;
	for (size_t i = 0; i < 4 * most && count < most && frame; i++) {
		if (!read_frame(frame, &next, &number, fn))
			break;
		if (number)
			out[count++] = number;
		frame = next;
	}
	return count;
}

/* Where the object lies that an address is in. */
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

static bool look(void)
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
	unsigned major = 0, minor = 0;
	struct span span;

	if (!gt_modules_find_symbols(names, at, NAMES, &adds) || !at[THREAD_STATE])
		return false;
	python.thread_state = (void *(*)(void))at[THREAD_STATE];
	python.code_type = at[CODE_TYPE];
	version = (const char *(*)(void))at[VERSION];
	if (!python.code_type || !version || sscanf(version(), "%u.%u", &major, &minor) != 2 ||
	    major != 3 || !gt_python_layout_of(&python.layout, minor, at[RUNTIME])) {
		atomic_store(&given_up, true);
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
	uint64_t last = atomic_load_explicit(&looked_ns, memory_order_relaxed);

	/* another thread may have looked at a later time than this one's */
	return !atomic_load_explicit(&given_up, memory_order_relaxed) &&
	       (int64_t)(now_ns - last) >= (int64_t)LOOK_EVERY_NS;
}

/* Looks for Python once a second, until there is one. Who comes meanwhile waits for the answer. */
static bool is_here(uint64_t now_ns)
{
	_Atomic uint32_t *guard;

	if (atomic_load_explicit(&found, memory_order_acquire))
		return true;
	if (!is_due(now_ns))
		return false;
	guard = gt_fork_guard_enter();
	if (!guard)
		return false;
	pthread_mutex_lock(&lock);
	if (!atomic_load(&found) && is_due(now_ns)) {
		if (look())
			atomic_store_explicit(&found, true, memory_order_release);
		atomic_store(&looked_ns, now_ns);
	}
	pthread_mutex_unlock(&lock);
	gt_fork_guard_leave(guard);
	return atomic_load(&found);
}

size_t gt_python_merge(uint64_t *frames, size_t count, size_t most, gt_python_number_fn *number,
		       uint64_t now_ns)
{
	uint64_t read[256];
	size_t kept = 0, got, room = sizeof read / sizeof *read;

	if (!is_here(now_ns))
		return count;
	pthread_mutex_lock(&lock);
	got = read_frames(read, most < room ? most : room, number);
	if (got && atomic_load(&careful) > 0)
		atomic_fetch_sub(&careful, 1);
	pthread_mutex_unlock(&lock);
	if (!got)
		return count;
	while (kept < count && (frames[kept] < python.begin || frames[kept] >= python.end))
		kept++;
	/* a stack deeper than there is room for: the innermost frames of both say most */
	if (kept + got > most && kept > most / 2)
		kept = got < most / 2 ? most - got : most / 2;
	if (kept + got > most)
		got = most - kept;
	memcpy(frames + kept, read, got * sizeof *frames);
	return kept + got;
}

void gt_python_restart(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(known, 0, sizeof known);
}
