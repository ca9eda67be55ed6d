/* SPDX-License-Identifier: MIT */
/* pickle_opcodes.c - the names of the opcodes that are refused. */
#include "capture/snapshot/pickle_opcodes.h"

#include <stddef.h>

static const struct {
	uint8_t opcode;
	const char *name;
} refused[] = {
	/* objects of classes, and calls */
	{ 'c', "GLOBAL" },
	{ 'i', "INST" },
	{ 'o', "OBJ" },
	{ 'R', "REDUCE" },
	{ 'b', "BUILD" },
	{ 0x81, "NEWOBJ" },
	{ 0x92, "NEWOBJ_EX" },
	{ 0x93, "STACK_GLOBAL" },
	{ 0x82, "EXT1" },
	{ 0x83, "EXT2" },
	{ 0x84, "EXT4" },
	{ 'P', "PERSID" },
	{ 'Q', "BINPERSID" },
	{ 0x97, "NEXT_BUFFER" },
	{ 0x98, "READONLY_BUFFER" },
	/* sets, and what only protocols 0 and 1 or odd writers use */
	{ 0x8f, "EMPTY_SET" },
	{ 0x90, "ADDITEMS" },
	{ 0x91, "FROZENSET" },
	{ '0', "POP" },
	{ '1', "POP_MARK" },
	{ '2', "DUP" },
	{ 'F', "FLOAT" },
	{ 'I', "INT" },
	{ 'L', "LONG" },
	{ 'S', "STRING" },
	{ 'T', "BINSTRING" },
	{ 'U', "SHORT_BINSTRING" },
	{ 'V', "UNICODE" },
	{ 'd', "DICT" },
	{ 'l', "LIST" },
	{ 'g', "GET" },
	{ 'p', "PUT" },
};

const char *gt_pickle_opcode_name(uint8_t opcode)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (refused[i].opcode == opcode)
			return refused[i].name;
	return NULL;
}
