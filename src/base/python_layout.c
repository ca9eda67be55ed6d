/* SPDX-License-Identifier: MIT */
/* python_layout.c - the offsets of what we read in CPython, and its line tables. */
#include "base/python_layout.h"

#include <string.h>

/* Up to 3.10 a frame is an object, and the thread state points to it. */
/* clang-format off */
static const struct gt_python_layout layout_3_8 = {
	.frame = 24, .frame_in = -1, .code = 32, .previous = 24, .instruction = 104,
	.file = 104, .name = 112, .lines = 120, .first_line = 40, .ascii = 48, .text = 72,
	.key = 0x570,
};
static const struct gt_python_layout layout_3_9 = {
	.frame = 24, .frame_in = -1, .code = 32, .previous = 24, .instruction = 104,
	.file = 104, .name = 112, .lines = 120, .first_line = 40, .ascii = 48, .text = 72,
	.key = 0x248,
};
static const struct gt_python_layout layout_3_10 = {
	.frame = 24, .frame_in = -1, .code = 32, .previous = 24, .instruction = 96,
	.file = 104, .name = 112, .lines = 120, .first_line = 40, .ascii = 48, .text = 72,
	.key = 0x248,
};
static const struct gt_python_layout layout_3_11 = {
	.frame = 56, .frame_in = 8, .code = 32, .previous = 48, .instruction = 56, .owner = 69,
	.file = 112, .name = 128, .lines = 136, .first_line = 72, .bytecode = 184, .ascii = 48,
	.text = 72, .key = 0x250,
};
static const struct gt_python_layout layout_3_12 = {
	.frame = 56, .frame_in = 0, .code = 0, .previous = 8, .instruction = 56, .owner = 70,
	.file = 112, .name = 128, .lines = 136, .first_line = 68, .bytecode = 192, .ascii = 40,
	.text = 56, .key = 0x608,
};
/* clang-format on */

/*
 * The published offsets are 64-bit numbers, in an order that depends on the version. The key is not
 * published: 3.13 has it at this offset, 3.14 has none.
 */
struct published {
	uint16_t key;
	uint8_t thread, thread_frame, frame_previous, frame_code, frame_instruction, frame_owner;
	uint8_t code_file, code_name, code_lines, code_first_line, code_bytecode;
};

enum { COOKIE = 0, FREE_THREADED = 2, INTERPRETERS = 5, NEXT_INTERPRETER = 8, THREADS = 9 };

/* Indices of these numbers: the runtime has 3; interpreter, thread, frame and code follow. */
#define PUBLISHED(interpreter, frame, key_at)                                                      \
	{                                                                                          \
		.key = (key_at), .thread = 6 + (interpreter),                                      \
		.thread_frame = 6 + (interpreter) + 4,                                             \
		.frame_previous = 6 + (interpreter) + 9 + 1,                                       \
		.frame_code = 6 + (interpreter) + 9 + 2,                                           \
		.frame_instruction = 6 + (interpreter) + 9 + 3,                                    \
		.frame_owner = 6 + (interpreter) + 9 + 5,                                          \
		.code_file = 6 + (interpreter) + 9 + (frame) + 1,                                  \
		.code_name = 6 + (interpreter) + 9 + (frame) + 3,                                  \
		.code_lines = 6 + (interpreter) + 9 + (frame) + 4,                                 \
		.code_first_line = 6 + (interpreter) + 9 + (frame) + 5,                            \
		.code_bytecode = 6 + (interpreter) + 9 + (frame) + 9,                              \
	}
static const struct published published_3_13 = PUBLISHED(13, 6, 0x870);
static const struct published published_3_14 = PUBLISHED(16, 8, 0);

static uint64_t word_at(const void *runtime, unsigned index)
{
	uint64_t number;

	memcpy(&number, (const char *)runtime + index * sizeof number, sizeof number);
	return number;
}

static uint16_t number_at(const void *runtime, unsigned index)
{
	uint64_t number = word_at(runtime, index);

	return number < 4096 ? (uint16_t)number : UINT16_MAX;
}

static bool take_published(struct gt_python_layout *l, const struct published *p,
			   const void *runtime)
{
	if (memcmp((const char *)runtime + COOKIE, "xdebugpy", 8) ||
	    number_at(runtime, FREE_THREADED))
		return false;
	*l = (struct gt_python_layout){
		.frame = number_at(runtime, p->thread_frame),
		.frame_in = -1,
		.code = number_at(runtime, p->frame_code),
		.previous = number_at(runtime, p->frame_previous),
		.instruction = number_at(runtime, p->frame_instruction),
		.owner = number_at(runtime, p->frame_owner),
		.file = number_at(runtime, p->code_file),
		.name = number_at(runtime, p->code_name),
		.lines = number_at(runtime, p->code_lines),
		.first_line = number_at(runtime, p->code_first_line),
		.bytecode = number_at(runtime, p->code_bytecode),
		.ascii = 40,
		.text = 56,
		.key = p->key,
		.interpreters = number_at(runtime, INTERPRETERS),
		.next_interpreter = (uint32_t)word_at(runtime, NEXT_INTERPRETER),
		.threads = (uint32_t)word_at(runtime, THREADS),
		.thread_previous = number_at(runtime, p->thread + 1u),
		.thread_next = number_at(runtime, p->thread + 2u),
		.thread_id = number_at(runtime, p->thread + 5u),
		.thread_status = number_at(runtime, p->thread + 8u),
	};
	return l->frame < 4096 && l->code < 256 && l->previous < 256 && l->instruction < 256 &&
	       l->owner < 256 && l->file < 512 && l->name < 512 && l->lines < 512 &&
	       l->first_line < 512 && l->bytecode < 512;
}

bool gt_python_layout_of(struct gt_python_layout *l, unsigned minor, const void *runtime)
{
	switch (minor) {
	case 8: *l = layout_3_8; break;
	case 9: *l = layout_3_9; break;
	case 10: *l = layout_3_10; break;
	case 11: *l = layout_3_11; break;
	case 12: *l = layout_3_12; break;
	case 13:
	case 14:
		if (!runtime ||
		    !take_published(l, minor == 13 ? &published_3_13 : &published_3_14, runtime))
			return false;
		break;
	default: return false;
	}
	l->minor = (uint8_t)minor;
	/* 3.14 put 16 bits before a str's form */
	l->state_shift = minor >= 14 ? 16 : 2;
	return true;
}

/* 3.8, 3.9: pairs (bytes of code, lines), the second signed. */
static uint32_t line_of_pairs(const uint8_t *table, size_t size, int64_t line, int64_t at)
{
	int64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

/* 3.10: pairs (bytes of code, lines); -128 lines mean that this code has no line. */
static uint32_t line_of_ranges(const uint8_t *table, size_t size, int64_t line, int64_t at)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t step = (int8_t)table[i + 1];

		end += table[i];
		if (step != -128)
			line += step;
		if (at < end)
			return step != -128 && line > 0 ? (uint32_t)line : 0;
	}
	return 0;
}

/* A number in groups of six bits, lowest first; its lowest bit is the sign. */
static int64_t signed_number(const uint8_t *table, size_t size, size_t *at)
{
	uint64_t number = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		if (*at >= size || shift > 56)
			return 0;
		byte = table[(*at)++];
		number |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* 3.11 and later: each entry starts with a byte whose top bit is set. */
static uint32_t line_of_entries(const uint8_t *table, size_t size, int64_t line, int64_t at)
{
	int64_t end = 0;

	for (size_t i = 0; i < size && table[i] & 0x80;) {
		unsigned form = table[i] >> 3 & 15;
		bool has_line = form != 15;

		end += (table[i++] & 7) + 1;
		if (form == 13 || form == 14)
			line += signed_number(table, size, &i);
		else if (form >= 10 && form <= 12)
			line += form - 10;
		while (i < size && !(table[i] & 0x80)) /* columns */
			i++;
		if (at < end)
			return has_line && line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
	}
	return 0;
}

uint32_t gt_python_line(const struct gt_python_layout *l, const uint8_t *table, size_t size,
			uint32_t first_line, int64_t at)
{
	if (at < 0)
		return first_line;
	if (l->minor >= 11)
		return line_of_entries(table, size, first_line, at);
	/* 3.10 counts instructions, older ones bytes */
	return l->minor == 10 ? line_of_ranges(table, size, first_line, at * 2) :
				line_of_pairs(table, size, first_line, at);
}

int64_t gt_python_index(const struct gt_python_layout *l, uint64_t code, uint64_t instruction)
{
	if (!l->bytecode)
		return (int32_t)instruction;
	return ((int64_t)instruction - (int64_t)(code + l->bytecode)) / 2;
}

bool gt_python_text_of(const struct gt_python_layout *l, struct gt_python_text *text,
		       uint64_t object, const struct gt_python_str *str)
{
	unsigned form = str->state >> l->state_shift, width = form & 7;
	bool is_compact = form >> 3 & 1, is_ascii = form >> 4 & 1;
	uint64_t most;

	if (!is_compact || (width != 1 && width != 2 && width != 4) || str->length > 1 << 20)
		return false;
	/* as UTF-8 */
	most = (GT_PYTHON_TEXT - 5) / (is_ascii ? 1 : width == 1 ? 2 : 4);
	text->width = width;
	text->count = (uint32_t)(str->length < most ? str->length : most);
	text->at = object + (is_ascii ? l->ascii : l->text) + (str->length - text->count) * width;
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

void gt_python_utf8(char out[GT_PYTHON_TEXT], const struct gt_python_text *t, const uint8_t *raw)
{
	size_t used = 0;

	for (uint32_t i = 0; i < t->count; i++)
		used += put_utf8(out + used,
				 t->width == 1 ? raw[i] :
				 t->width == 2 ? (uint32_t)(raw[2 * i] | raw[2 * i + 1] << 8) :
						 (uint32_t)raw[4 * i] |
							 (uint32_t)raw[4 * i + 1] << 8 |
							 (uint32_t)raw[4 * i + 2] << 16);
	out[used] = '\0';
}

size_t gt_python_splice(uint64_t *frames, size_t count, size_t most, const uint64_t *python,
			size_t python_count, uint64_t begin, uint64_t end)
{
	size_t native = 0;

	while (native < count && (frames[native] < begin || frames[native] >= end))
		native++;
	/* too deep for the room: the innermost frames of both kinds say most */
	if (native + python_count > most && native > most / 2)
		native = python_count < most / 2 ? most - python_count : most / 2;
	if (native + python_count > most)
		python_count = most - native;
	memcpy(frames + native, python, python_count * sizeof *frames);
	return native + python_count;
}
