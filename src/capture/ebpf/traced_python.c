/* SPDX-License-Identifier: MIT */
/* traced_python.c - the Python frames of a traced process: numbers from BPF programs, and texts. */
#include "capture/ebpf/traced_python.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/containers.h"
#include "base/mem.h"
#include "capture/ebpf/modules.h"

/* A process decides how many different places in code it has; more than these have no names. */
enum { CODES_MAX = 16384, PLACES_MAX = 65536 };

/* A code object; those of one process are told apart by address and identity. */
struct code_key {
	uint64_t code, identity;
};

struct code {
	char *file, *name; /* NULL: unknown */
	uint32_t first_line;
	uint8_t *lines;
	size_t line_bytes;
};

/* The Python stack of a call whose own record has not arrived yet. */
struct pending {
	uint32_t tid;
	uint64_t begun_ns;
	size_t count;
	struct gt_probe_python_frame frames[GT_PROBE_FRAMES];
};

struct gt_traced_python {
	uint32_t pid;
	struct gt_python_layout layout;
	uint64_t begin, end;     /* the interpreter's code */
	struct gt_intern *codes; /* struct code_key -> index of `code_list` */
	struct code *code_list;
	size_t code_count, code_room;
	struct gt_intern *places; /* struct gt_probe_python_frame -> index of `numbers` */
	uint64_t *numbers;        /* of frames */
	size_t number_count, number_room;
	struct gt_intern *strings, *frames; /* texts; struct gt_text_frame of such */
	struct gt_map texts;                /* number of a frame -> struct gt_text_frame */
	struct pending **pending;
	size_t pending_count, pending_room;
};

static void forget_codes(struct gt_traced_python *p)
{
	for (size_t i = 0; i < p->code_count; i++) {
		free(p->code_list[i].file);
		free(p->code_list[i].name);
		free(p->code_list[i].lines);
	}
	p->code_count = 0;
	if (p->codes)
		gt_intern_free(p->codes);
	p->codes = NULL;
}

void gt_traced_python_free(struct gt_traced_python *p)
{
	if (!p)
		return;
	forget_codes(p);
	free(p->code_list);
	gt_intern_free(p->places);
	free(p->numbers);
	gt_map_fini(&p->texts);
	gt_intern_free(p->strings);
	gt_intern_free(p->frames);
	for (size_t i = 0; i < p->pending_count; i++)
		free(p->pending[i]);
	free(p->pending);
	free(p);
}

static struct gt_traced_python *python_new(const struct gt_modules *modules, uint32_t pid)
{
	uint64_t bias;
	const struct gt_python_image *image = gt_python_find(modules, &bias);
	struct gt_traced_python *p;

	if (!image)
		return NULL;
	p = gt_alloc(sizeof *p);
	p->pid = pid;
	p->layout = image->layout;
	p->begin = image->begin + bias;
	p->end = image->end + bias;
	p->places = gt_intern_new();
	p->strings = gt_intern_new();
	p->frames = gt_intern_new();
	return p;
}

/* A str as UTF-8; NULL if it is none. */
static char *text_of(const struct gt_python_layout *layout, const struct gt_probe_python_str *s)
{
	const struct gt_python_str str = { .length = s->length, .state = s->state };
	struct gt_python_text text;
	char out[GT_PYTHON_TEXT];
	size_t size;

	if (!gt_python_text_of(layout, &text, 0, &str))
		return NULL;
	size = (size_t)text.count * text.width;
	if (s->kept > sizeof s->raw || size > s->kept)
		return NULL;
	gt_python_utf8(out, &text, s->raw + (s->kept - size));
	return gt_strdup(out);
}

/* The process's memory, as far as it can be read. */
static bool read_memory(int fd, uint64_t from, void *to, size_t size)
{
	return pread(fd, to, size, (off_t)from) == (ssize_t)size;
}

static void read_str(int fd, const struct gt_python_layout *layout, uint64_t object,
		     struct gt_probe_python_str *to)
{
	struct gt_python_text text;
	struct gt_python_str str;

	*to = (struct gt_probe_python_str){ 0 };
	if (!read_memory(fd, object + 16, &str, sizeof str) ||
	    !gt_python_text_of(layout, &text, object, &str) ||
	    !read_memory(fd, text.at, to->raw, (size_t)text.count * text.width))
		return;
	to->length = str.length;
	to->state = str.state;
	to->kept = text.count * text.width;
}

/* Where a code object has its texts; false if there is no such object any more. */
static bool read_words(int fd, const struct gt_traced_python *p, const struct code_key *key,
		       uint64_t words[GT_PYTHON_CODE_WORDS])
{
	const struct gt_python_layout *l = &p->layout;
	struct gt_python_marks marks = { 0 };
	uint64_t identity;

	memset(words, 0, GT_PYTHON_CODE_WORDS * sizeof *words);
	if (!read_memory(fd, key->code, words, gt_python_code_bytes(l)))
		return false;
	identity = gt_probe_python_words(words, l->minor);
	if (identity == key->identity)
		return true;
	read_memory(fd, words[l->file / 8] + GT_PYTHON_STR_HASH, &marks.file_hash, 8);
	read_memory(fd, words[l->name / 8] + GT_PYTHON_STR_HASH, &marks.name_hash, 8);
	read_memory(fd, words[l->lines / 8] + GT_PYTHON_BYTES_SIZE, marks.lines,
		    sizeof marks.lines);
	return identity + gt_python_content(&marks) == key->identity;
}

/* Reads a code object from the process; false if it is gone. */
static bool read_code(const struct gt_traced_python *p, const struct code_key *key,
		      struct code *out)
{
	const struct gt_python_layout *l = &p->layout;
	uint64_t words[GT_PYTHON_CODE_WORDS], lines, size;
	struct gt_probe_python_str str;
	char path[64];
	bool is_there;
	int fd;

	snprintf(path, sizeof path, "/proc/%u/mem", p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is_there = read_words(fd, p, key, words);
	if (is_there) {
		memcpy(&out->first_line, (const char *)words + l->first_line,
		       sizeof out->first_line);
		read_str(fd, l, words[l->file / 8], &str);
		out->file = text_of(l, &str);
		read_str(fd, l, words[l->name / 8], &str);
		out->name = text_of(l, &str);
		lines = words[l->lines / 8];
		if (read_memory(fd, lines + GT_PYTHON_BYTES_SIZE, &size, sizeof size) &&
		    size <= GT_PYTHON_LINES) {
			out->lines = gt_alloc(size + 1);
			out->line_bytes =
				read_memory(fd, lines + GT_PYTHON_BYTES, out->lines, size) ? size :
											     0;
		}
	}
	close(fd);
	return is_there;
}

static struct code *add_code(struct gt_traced_python *p, const struct code_key *key)
{
	if (p->code_count >= CODES_MAX)
		forget_codes(p);
	if (!p->codes)
		p->codes = gt_intern_new();
	gt_intern(p->codes, key, sizeof *key);
	GT_GROW(p->code_list, p->code_count, p->code_room);
	p->code_list[p->code_count] = (struct code){ 0 };
	return &p->code_list[p->code_count++];
}

static struct code *find_code(const struct gt_traced_python *p, const struct code_key *key)
{
	uint32_t number = p->codes ? gt_intern_find(p->codes, key, sizeof *key) : GT_NOT_INTERNED;

	return number == GT_NOT_INTERNED ? NULL : &p->code_list[number];
}

static void take_code(struct gt_traced_python *p, const struct gt_probe_python_code *c, size_t size)
{
	struct code_key key;
	struct code *code;

	if (size < sizeof *c || c->line_bytes > size - sizeof *c)
		return;
	key = (struct code_key){ c->code, c->identity };
	if (find_code(p, &key))
		return;
	code = add_code(p, &key);
	if (c->unread && read_code(p, &key, code))
		return;
	code->first_line = c->first_line;
	code->file = text_of(&p->layout, &c->file);
	code->name = text_of(&p->layout, &c->name);
	code->lines = gt_alloc(c->line_bytes + 1);
	memcpy(code->lines, c + 1, c->line_bytes);
	code->line_bytes = c->line_bytes;
}

/* A new call of a thread replaces one whose record was lost. */
static void take_stack(struct gt_traced_python *p, const struct gt_probe_python_stack *s,
		       size_t size)
{
	struct pending *at = NULL;

	if (size < sizeof *s || s->count > GT_PROBE_FRAMES ||
	    size - sizeof *s < s->count * sizeof *at->frames)
		return;
	for (size_t i = 0; i < p->pending_count && !at; i++)
		if (p->pending[i]->tid == s->head.tid)
			at = p->pending[i];
	if (!at) {
		GT_GROW(p->pending, p->pending_count, p->pending_room);
		at = p->pending[p->pending_count++] = gt_alloc(sizeof *at);
	}
	at->tid = s->head.tid;
	at->begun_ns = s->begun_ns;
	at->count = s->count;
	memcpy(at->frames, s + 1, s->count * sizeof *at->frames);
}

void gt_traced_python_take(struct gt_traced_python **python, const struct gt_modules *modules,
			   uint32_t pid, const void *record, size_t size)
{
	const struct gt_probe_python_head *head = record;

	if (!*python)
		*python = python_new(modules, pid);
	if (!*python)
		return;
	if (head->kind == GT_PYTHON_CODE)
		take_code(*python, record, size);
	else
		take_stack(*python, record, size);
}

/* The text of a place in code, with strings that stay; its every byte is set. */
static void describe(struct gt_traced_python *p, const struct gt_probe_python_frame *at,
		     struct gt_text_frame *frame)
{
	const struct code_key key = { at->code, at->identity };
	struct code *code = find_code(p, &key);

	if (!code) {
		code = add_code(p, &key);
		read_code(p, &key, code);
	}
	memset(frame, 0, sizeof *frame);
	frame->module = GT_PYTHON;
	frame->function = gt_intern_string(p->strings, code->name ? code->name : "?");
	frame->file = gt_intern_string(p->strings, code->file ? code->file : "");
	if (code->lines)
		frame->line =
			gt_python_line(&p->layout, code->lines, code->line_bytes, code->first_line,
				       gt_python_index(&p->layout, at->code, at->instruction));
}

/* Two places in a line are one frame. */
static uint64_t define(struct gt_traced_python *p, struct gt_writer *writer,
		       const struct gt_text_frame *frame)
{
	uint32_t index = gt_intern(p->frames, frame, sizeof *frame);
	uint64_t number = writer ? gt_writer_text_frame(writer, frame) : GT_TEXT_FRAMES + index + 1;
	size_t size;

	if (number)
		*gt_map_at(&p->texts, number) = (void *)gt_intern_get(p->frames, index, &size);
	return number;
}

/* The frame of a place in code; 0: there is no room for it. */
static uint64_t number_of(struct gt_traced_python *p, struct gt_writer *writer,
			  const struct gt_probe_python_frame *at)
{
	uint32_t index = gt_intern_find(p->places, at, sizeof *at);
	struct gt_text_frame frame;

	if (index != GT_NOT_INTERNED)
		return p->numbers[index];
	if (p->number_count >= PLACES_MAX)
		return 0;
	gt_intern(p->places, at, sizeof *at);
	describe(p, at, &frame);
	GT_GROW(p->numbers, p->number_count, p->number_room);
	p->numbers[p->number_count] = define(p, writer, &frame);
	return p->numbers[p->number_count++];
}

static struct pending *take_pending(struct gt_traced_python *p, uint32_t tid, uint64_t begun_ns)
{
	for (size_t i = 0; i < p->pending_count; i++) {
		struct pending *at = p->pending[i];

		if (at->tid == tid && at->begun_ns == begun_ns) {
			p->pending[i] = p->pending[--p->pending_count];
			return at;
		}
	}
	return NULL;
}

size_t gt_traced_python_merge(struct gt_traced_python *p, struct gt_writer *writer, uint32_t tid,
			      uint64_t begun_ns, uint64_t *frames, size_t count, size_t most)
{
	struct pending *at = p ? take_pending(p, tid, begun_ns) : NULL;
	uint64_t python[GT_PROBE_FRAMES];
	size_t known = 0;

	if (!at)
		return count;
	for (size_t i = 0; i < at->count; i++) {
		python[known] = number_of(p, writer, &at->frames[i]);
		known += python[known] != 0;
	}
	free(at);
	return known ? gt_python_splice(frames, count, most, python, known, p->begin, p->end) :
		       count;
}

const struct gt_text_frame *gt_traced_python_text(const struct gt_traced_python *p, uint64_t frame)
{
	uint32_t index = p && p->texts.keys && frame >= GT_TEXT_FRAMES ?
				 gt_intern_find(p->texts.keys, &frame, sizeof frame) :
				 GT_NOT_INTERNED;

	return index == GT_NOT_INTERNED ? NULL : p->texts.values[index];
}
