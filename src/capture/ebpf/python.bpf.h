/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * python.bpf.h - the Python frames of the thread that makes a call, as numbers.
 *
 * Only a thread itself changes its frames, and it is in a call: they hold still, whether it holds
 * the GIL or not. Texts are sent once for each code object. Functions that are not static are
 * verified once, apart from their callers, for which they may be given NULL: a loop that calls one
 * is verified quickly.
 */
#pragma once

#include "python_records.h"

enum {
	PYTHON_WORDS = 32,    /* room for those of a code object */
	PYTHON_WINDOW = 256,  /* words of the frames' memory, … */
	PYTHON_BEFORE = 1024, /* … of which so many bytes are read before a frame */
	PYTHON_STEPS = 256,   /* frames that are looked at, the interpreter's own included */
	PYTHON_THREADS = 128, /* of a list of thread states that are searched */
	PYTHON_KEYS = 1024,   /* PTHREAD_KEYS_MAX */
	PYTHON_KEYS_IN_BLOCK = 32,
	PYTHON_KNOWN = 64, /* code objects that a thread remembers */
	PYTHON_FRESH_NS = 1000000,
	PYTHON_WRONG_KEY = 1, /* in place of a thread state: where the key should be is none */
	PYTHON_BOUND = 8,     /* in a thread state's status: it is the one that its thread uses */
};

const volatile bool has_python; /* Python's frames are wanted */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_PROBE_PYTHONS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct gt_probe_python);
} pythons SEC(".maps");

uint32_t pythons_known; /* 1: `pythons` has had an entry */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_PROBE_PYTHON_ENTRIES);
	__type(key, uint32_t);
	__type(value, struct gt_probe_python_entry);
} python_entries SEC(".maps");

struct python_code_key {
	uint32_t pid, exec;
	uint64_t code, identity;
};

/* Code objects whose texts have been sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_PROBE_CODES);
	__type(key, struct python_code_key);
	__type(value, uint32_t);
} python_codes SEC(".maps");

/*
 * A code object that a thread has met. Reading it takes longer than all else: one that is part of a
 * file is believed to be there still, for a millisecond, when a frame with the same code comes
 * again.
 */
struct python_known {
	uint64_t code, words;
	uint64_t sent;       /* the identity under which its texts have been sent */
	uint64_t checked_ns; /* when it was read; 0: it must be read each time */
	uint64_t met_ns;
	uint64_t is_made; /* as the program runs: it has no file */
};

/* Buffers of a thread. */
struct python_thread {
	uint64_t thread, state, interpreter;
	uint64_t ring;          /* that the call's records go to */
	uint64_t slot, slot_ns; /* where the thread's state is, and when that was looked up */
	uint64_t at;            /* the frame that the walk has come to */
	uint64_t identity;      /* of the code object that was met last */
	uint64_t window_at, window_bytes;
	uint64_t window[PYTHON_WINDOW]; /* frames lie side by side, from 3.11 on */
	uint64_t code[PYTHON_WORDS];
	struct gt_python_marks marks;
	struct python_known known[PYTHON_KNOWN];
	struct gt_probe_python_stack stack;
	struct gt_probe_python_frame frames[GT_PROBE_FRAMES + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct python_thread);
} python_threads SEC(".maps");

static __always_inline bool is_python_pointer(uint64_t word)
{
	return word >= 4096 && word < USER_END && !(word & 7);
}

static __always_inline uint64_t python_word(uint64_t from)
{
	uint64_t word = 0;

	bpf_probe_read_user(&word, sizeof word, (void *)from);
	return word;
}

/* The field at an offset of what was read into words. */
#define PYTHON_FIELD(words, offset) ((words)[WITHIN((offset) / 8, PYTHON_WORDS)])

/* As pthread_getspecific returns it. */
static __always_inline uint64_t python_state_by_key(const struct gt_probe_python *row,
						    struct python_thread *t)
{
	uint64_t tss, key, block;

	if (t->stack.begun_ns - t->slot_ns < PYTHON_FRESH_NS)
		return python_word(t->slot);
	t->slot_ns = 0;
	tss = python_word(row->runtime + row->layout.key);
	key = tss >> 32;
	/* a flag, which is 1, and the key */
	if ((uint32_t)tss != 1 || key >= PYTHON_KEYS)
		return PYTHON_WRONG_KEY;
	block = python_word(t->thread + (int64_t)row->specific + 8 * (key / PYTHON_KEYS_IN_BLOCK));
	if (!block)
		return 0;
	t->slot = block + 16 * (key % PYTHON_KEYS_IN_BLOCK) + 8;
	t->slot_ns = t->stack.begun_ns;
	return python_word(t->slot);
}

/* True if a thread state belongs to the thread. */
static __always_inline bool is_python_state_of(const struct gt_probe_python *row, uint64_t state,
					       uint64_t thread)
{
	return python_word(state + row->layout.thread_id) == thread &&
	       python_word(state + row->layout.thread_status) & PYTHON_BOUND;
}

/* True if a thread state is in the list: what has been freed is not. */
static __always_inline bool is_python_state_listed(const struct gt_probe_python *row,
						   uint64_t state)
{
	uint64_t previous = python_word(state + row->layout.thread_previous);
	uint64_t interpreter;

	if (previous)
		return python_word(previous + row->layout.thread_next) == state;
	interpreter = python_word(row->runtime + row->layout.interpreters);
	for (int i = 0; i < 8 && interpreter; i++) {
		if (python_word(interpreter + row->layout.threads) == state)
			return true;
		interpreter = python_word(interpreter + row->layout.next_interpreter);
	}
	return false;
}

/* One step through the lists of thread states; 1: t->state is the thread's own, 2: the end. */
__attribute__((noinline)) int step_python_states(const struct gt_probe_python *row,
						 struct python_thread *t)
{
	if (!row || !t)
		return 2;
	if (t->state && is_python_state_of(row, t->state, t->thread))
		return 1;
	t->state = t->state ? python_word(t->state + row->layout.thread_next) : 0;
	if (t->state)
		return 0;
	t->interpreter = python_word(t->interpreter + row->layout.next_interpreter);
	if (!t->interpreter)
		return 2;
	t->state = python_word(t->interpreter + row->layout.threads);
	return 0;
}

/* Sets t->state, which is where the last call of the thread found it. */
static __always_inline void find_python_state(const struct gt_probe_python *row,
					      struct python_thread *t)
{
	int found = 0;

	if (t->state && is_python_state_of(row, t->state, t->thread) &&
	    is_python_state_listed(row, t->state))
		return;
	t->interpreter = python_word(row->runtime + row->layout.interpreters);
	t->state = t->interpreter ? python_word(t->interpreter + row->layout.threads) : 0;
	for (int i = 0; i < PYTHON_THREADS && t->interpreter && !found; i++)
		found = step_python_states(row, t);
	if (found != 1)
		t->state = 0;
}

/* The frame in which the calling thread is; 0: it is not in Python. */
static __always_inline uint64_t python_frame(const struct gt_probe_python *row,
					     struct python_thread *t, struct task_struct *task)
{
	uint64_t frame, state;

	t->thread = thread_pointer_of(task);
	state = row->layout.key ? python_state_by_key(row, t) : PYTHON_WRONG_KEY;
	/* the list is slower to search, but its place is published: the key may have moved */
	if (row->layout.threads && state &&
	    (state == PYTHON_WRONG_KEY || !is_python_state_of(row, state, t->thread)))
		find_python_state(row, t);
	else
		t->state = state;
	if (!is_python_pointer(t->state))
		return 0;
	frame = python_word(t->state + row->layout.frame);
	if (row->layout.frame_in >= 0)
		frame = frame ? python_word(frame + row->layout.frame_in) : 0;
	return frame;
}

/* Reads a code object into t->code; false if there is none. */
static __always_inline bool read_python_code(const struct gt_probe_python *row,
					     struct python_thread *t, uint64_t code)
{
	uint64_t size = row->code_bytes;

	if (!is_python_pointer(code))
		return false;
	if (size > sizeof t->code)
		return false;
	return !bpf_probe_read_user(t->code, WITHIN(size, 2 * sizeof t->code), (void *)code) &&
	       t->code[1] == row->code_type;
}

static __always_inline uint32_t python_first_line(const struct gt_probe_python *row,
						  struct python_thread *t)
{
	uint32_t at = row->layout.first_line;
	uint64_t word = PYTHON_FIELD(t->code, at);

	return at & 4 ? word >> 32 : word;
}

/* What the texts of the code object in t->code contain, as far as it is cheap to tell. */
static __always_inline uint64_t python_content(const struct gt_probe_python *row,
					       struct python_thread *t)
{
	struct gt_python_marks *m = &t->marks;

	m->file_hash = python_word(PYTHON_FIELD(t->code, row->layout.file) + GT_PYTHON_STR_HASH);
	m->name_hash = python_word(PYTHON_FIELD(t->code, row->layout.name) + GT_PYTHON_STR_HASH);
	if (bpf_probe_read_user(
		    m->lines, sizeof m->lines,
		    (void *)(PYTHON_FIELD(t->code, row->layout.lines) + GT_PYTHON_BYTES_SIZE)))
		__builtin_memset(m->lines, 0, sizeof m->lines);
	return gt_python_content(m);
}

/* True for a text in brackets: the file "<string>", the function "<module>". */
static __always_inline bool is_python_bracketed(const struct gt_probe_python *row, uint64_t object)
{
	char first = 0;

	bpf_probe_read_user(&first, sizeof first, (void *)(object + row->layout.ascii));
	return first == '<';
}

/* Copies the end of a str; false if it cannot be read. */
static __always_inline bool read_python_str(const struct gt_probe_python *row,
					    struct gt_probe_python_str *to, uint64_t object)
{
	uint64_t length = python_word(object + 16), kept, from;
	uint32_t form, width, state = 0;

	bpf_probe_read_user(&state, sizeof state, (void *)(object + 32));
	to->length = length;
	to->state = state;
	to->kept = 0;
	form = state >> (row->layout.state_shift & 31);
	width = form & 7;
	if (!width || length > 1 << 20)
		return false;
	kept = length * width;
	if (kept > GT_PYTHON_TEXT)
		kept = GT_PYTHON_TEXT;
	from = object + (form >> 4 & 1 ? row->layout.ascii : row->layout.text) + length * width -
	       kept;
	to->kept = kept;
	return !kept ||
	       !bpf_probe_read_user(to->raw, WITHIN(kept, 2 * GT_PYTHON_TEXT), (void *)from);
}

/* What a code record says before its lines. */
static __always_inline void fill_python_code(const struct gt_probe_python *row,
					     struct python_thread *t,
					     struct gt_probe_python_code *c,
					     const struct python_code_key *key)
{
	c->head = t->stack.head;
	c->head.kind = GT_PYTHON_CODE;
	c->code = key->code;
	c->identity = key->identity;
	c->first_line = python_first_line(row, t);
	c->unread = !read_python_str(row, &c->file, PYTHON_FIELD(t->code, row->layout.file));
	c->unread |= !read_python_str(row, &c->name, PYTHON_FIELD(t->code, row->layout.name));
}

/* For a record that is about to be sent. */
static __always_inline uint64_t time_between_rings(void)
{
	return ring_mask ? bpf_ktime_get_ns() : 0;
}

/* Sends a code object's texts in a record with room for `room` bytes of lines. */
#define SEND_PYTHON_CODE(room)                                                                     \
	({                                                                                         \
		uint64_t now = time_between_rings();                                               \
		uint32_t number = t->ring;                                                         \
		void *ring = bpf_map_lookup_elem(&calls, &number);                                 \
		if (!ring)                                                                         \
			return 0;                                                                  \
		hold();                                                                            \
		struct {                                                                           \
			struct gt_probe_python_code code;                                          \
			uint8_t lines[room];                                                       \
		} *w = bpf_ringbuf_reserve(ring, sizeof *w, 0);                                    \
		if (w) {                                                                           \
			fill_python_code(row, t, &w->code, &key);                                  \
			w->code.head.time_ns = now;                                                \
			w->code.line_bytes = size;                                                 \
			if (size > (room)) {                                                       \
				w->code.line_bytes = 0;                                            \
				w->code.unread = 1;                                                \
			} else if (bpf_probe_read_user(w->lines, WITHIN(size, 2 * (room)),         \
						       (void *)(lines + GT_PYTHON_BYTES))) {       \
				w->code.line_bytes = 0;                                            \
				w->code.unread = 1;                                                \
			}                                                                          \
			bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);                                   \
		}                                                                                  \
		let_go();                                                                          \
		w != 0;                                                                            \
	})

/* Sends the texts of the code object in t->code, unless they have been; 1: they have. */
__attribute__((noinline)) int send_python_code(const struct gt_probe_python *row,
					       struct python_thread *t, uint64_t code,
					       uint64_t identity)
{
	struct python_code_key key = { .code = code, .identity = identity };
	uint32_t one = 1;
	uint64_t lines, size;
	bool sent;

	if (!row || !t)
		return 0;
	key.pid = t->stack.head.pid;
	key.exec = t->stack.head.exec;
	if (bpf_map_lookup_elem(&python_codes, &key))
		return 1;
	lines = PYTHON_FIELD(t->code, row->layout.lines);
	size = python_word(lines + GT_PYTHON_BYTES_SIZE);
	if (size <= GT_PROBE_LINES)
		sent = SEND_PYTHON_CODE(GT_PROBE_LINES);
	else
		sent = SEND_PYTHON_CODE(GT_PROBE_LONG_LINES);
	if (sent)
		bpf_map_update_elem(&python_codes, &key, &one, BPF_ANY);
	return sent;
}

/* Reads a code object; its texts have been sent then, unless there was no room. */
static __always_inline bool know_python_code(const struct gt_probe_python *row,
					     struct python_thread *t, struct python_known *k,
					     uint64_t code)
{
	uint64_t words, identity;
	bool lasts;

	if (!read_python_code(row, t, code))
		return false;
	identity = words = gt_probe_python_words(t->code, row->layout.minor);
	if (k->code != code || k->words != words) {
		k->code = code;
		k->words = words;
		k->sent = 0;
		k->is_made = is_python_bracketed(row, PYTHON_FIELD(t->code, row->layout.file));
		/* that of a module is freed when it has run */
		lasts = !k->is_made &&
			!is_python_bracketed(row, PYTHON_FIELD(t->code, row->layout.name));
		k->checked_ns = lasts;
	}
	if (k->is_made && row->layout.minor < GT_PYTHON_NUMBERED)
		identity += python_content(row, t);
	if (k->checked_ns)
		k->checked_ns = t->stack.begun_ns;
	if (k->sent != identity)
		k->sent = send_python_code(row, t, code, identity) ? identity : 0;
	t->identity = identity;
	return true;
}

/* Sees to it that the frame at t->at is in the window; false if it cannot be read. */
static __always_inline bool open_python_window(const struct gt_probe_python *row,
					       struct python_thread *t)
{
	uint64_t at = t->at, from, size = row->frame_bytes;

	if (!is_python_pointer(at) || size > GT_PYTHON_FRAME_WORDS * 8)
		return false;
	if (at - t->window_at < PYTHON_BEFORE + 8 && at - t->window_at + size <= t->window_bytes)
		return true;
	/* not beyond its page, which may be the first that is mapped */
	from = row->layout.minor < 11 ? at : at & ~4095ull;
	if (at - from > PYTHON_BEFORE)
		from = at - PYTHON_BEFORE;
	size += at - from;
	t->window_at = from;
	t->window_bytes = size;
	return size <= sizeof t->window &&
	       !bpf_probe_read_user(t->window, WITHIN(size, 2 * sizeof t->window), (void *)from);
}

/* A word of the frame at t->at. */
static __always_inline uint64_t python_frame_word(struct python_thread *t, uint64_t offset)
{
	return t->window[WITHIN((t->at - t->window_at + offset) / 8, PYTHON_WINDOW)];
}

/* Where a code object is remembered, or will be: in one of two places. */
static __always_inline struct python_known *find_known_python(struct python_thread *t,
							      uint64_t code)
{
	uint64_t at = code >> 5 ^ code >> 11;
	struct python_known *a = &t->known[WITHIN(at, PYTHON_KNOWN)];
	struct python_known *b = &t->known[WITHIN(at ^ 1, PYTHON_KNOWN)], *k;

	k = a->code == code || (b->code != code && a->met_ns <= b->met_ns) ? a : b;
	k->met_ns = t->stack.begun_ns;
	return k;
}

/* One step of the walk, from frame t->at; 0 at its end. */
__attribute__((noinline)) int step_python(const struct gt_probe_python *row,
					  struct python_thread *t)
{
	struct gt_probe_python_frame *to;
	struct python_known *k;
	uint64_t code, owner_at, previous, count;

	if (!row || !t || !open_python_window(row, t))
		return 0;
	owner_at = row->layout.owner;
	count = t->stack.count;
	code = python_frame_word(t, row->layout.code) & ~7ull;
	previous = python_frame_word(t, row->layout.previous);
	/* a frame of the interpreter's own, between C and Python */
	if (row->layout.minor >= 12 &&
	    (python_frame_word(t, owner_at) >> 8 * (owner_at & 7) & 0xff) >= GT_PYTHON_NO_CODE) {
		t->at = previous;
		return 1;
	}
	k = find_known_python(t, code);
	if (k->code == code && t->stack.begun_ns - k->checked_ns < PYTHON_FRESH_NS && k->sent)
		t->identity = k->sent;
	else if (!know_python_code(row, t, k, code))
		return 0;
	to = &t->frames[WITHIN(count, GT_PROBE_FRAMES + 1)];
	to->code = code;
	to->instruction = python_frame_word(t, row->layout.instruction);
	if (!row->layout.bytecode)
		to->instruction = (uint32_t)to->instruction;
	to->identity = t->identity;
	t->at = previous;
	t->stack.count = count + 1;
	return count + 1 < frames_max;
}

/* Sends the Python stack of a call, ahead of the call's own record, on the same ring. */
__attribute__((noinline)) int send_python_stack(uint64_t begun_ns, uint32_t number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t pid = process_of(task), count;
	const struct gt_probe_python *row = bpf_map_lookup_elem(&pythons, &pid);
	void *ring = bpf_map_lookup_elem(&calls, &number);
	struct python_thread *t;

	if (!row || !ring)
		return 0;
	t = bpf_task_storage_get(&python_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		return 0;
	t->ring = number;
	t->stack.head.zero = 0;
	t->stack.head.start = task->group_leader->start_boottime;
	t->stack.head.pid = pid;
	t->stack.head.tid = number_of(task);
	t->stack.head.exec = task->self_exec_id;
	t->stack.head.kind = GT_PYTHON_STACK;
	t->stack.begun_ns = begun_ns;
	t->stack.count = 0;
	t->window_bytes = 0;
	t->at = python_frame(row, t, task);
	for (int i = 0; i < PYTHON_STEPS && step_python(row, t); i++)
		;
	count = t->stack.count;
	if (!count || count > GT_PROBE_FRAMES)
		return 0;
	t->stack.head.time_ns = time_between_rings();
	output(ring, &t->stack,
	       sizeof t->stack +
		       WITHIN(count, GT_PROBE_FRAMES + 1) * sizeof(struct gt_probe_python_frame),
	       BPF_RB_NO_WAKEUP);
	return 0;
}

/* A process runs a function of a Python that is known: where it is says where all of it is. */
static __always_inline void meet_python(struct pt_regs *ctx, uint32_t pid, uint32_t number)
{
	const struct gt_probe_python_entry *e = bpf_map_lookup_elem(&python_entries, &number);
	struct gt_probe_python python;

	if (!e || bpf_map_lookup_elem(&pythons, &pid))
		return;
	python = e->python;
	python.runtime += REGISTER_ADDRESS(ctx) - e->function;
	python.code_type += REGISTER_ADDRESS(ctx) - e->function;
	bpf_map_update_elem(&pythons, &pid, &python, BPF_NOEXIST);
	pythons_known = 1;
}

/* A child has its parent's Python, at the same addresses. */
static __always_inline void inherit_python(uint32_t parent, uint32_t child)
{
	const struct gt_probe_python *row = bpf_map_lookup_elem(&pythons, &parent);

	if (row && child)
		bpf_map_update_elem(&pythons, &child, row, BPF_ANY);
}

static __always_inline void forget_python(uint32_t pid)
{
	bpf_map_delete_elem(&pythons, &pid);
}
