/* SPDX-License-Identifier: MIT */
/* pickle_opcodes.h - the opcodes of pickles, by the names that Python's pickletools gives them. */
#pragma once

#include <stdint.h>

/* Plain data of protocols 2 to 5. */
enum {
	GT_OP_MARK = '(',
	GT_OP_STOP = '.',
	GT_OP_NONE = 'N',
	GT_OP_BINFLOAT = 'G',
	GT_OP_BININT = 'J',
	GT_OP_BININT1 = 'K',
	GT_OP_BININT2 = 'M',
	GT_OP_BINUNICODE = 'X',
	GT_OP_APPEND = 'a',
	GT_OP_APPENDS = 'e',
	GT_OP_BINGET = 'h',
	GT_OP_LONG_BINGET = 'j',
	GT_OP_BINPUT = 'q',
	GT_OP_LONG_BINPUT = 'r',
	GT_OP_SETITEM = 's',
	GT_OP_SETITEMS = 'u',
	GT_OP_TUPLE = 't',
	GT_OP_EMPTY_TUPLE = ')',
	GT_OP_EMPTY_LIST = ']',
	GT_OP_EMPTY_DICT = '}',
	GT_OP_BINBYTES = 'B',
	GT_OP_SHORT_BINBYTES = 'C',
	GT_OP_PROTO = 0x80,
	GT_OP_TUPLE1 = 0x85,
	GT_OP_TUPLE2 = 0x86,
	GT_OP_TUPLE3 = 0x87,
	GT_OP_NEWTRUE = 0x88,
	GT_OP_NEWFALSE = 0x89,
	GT_OP_LONG1 = 0x8a,
	GT_OP_LONG4 = 0x8b,
	GT_OP_SHORT_BINUNICODE = 0x8c,
	GT_OP_BINUNICODE8 = 0x8d,
	GT_OP_BINBYTES8 = 0x8e,
	GT_OP_MEMOIZE = 0x94,
	GT_OP_FRAME = 0x95,
	GT_OP_BYTEARRAY8 = 0x96,
};

/* The name of an opcode that is refused; NULL: there is no such opcode. */
const char *gt_pickle_opcode_name(uint8_t opcode);
