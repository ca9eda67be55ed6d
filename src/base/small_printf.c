/* SPDX-License-Identifier: MIT */
/* small_printf.c - printf for the traced process: the C library's takes 2 KB of the stack. */
#include "base/small_printf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* `length` goes on when the room is used up. */
struct text {
	char *out;
	size_t size, length;
};

/* One conversion: what stands between % and its letter. */
struct conversion {
	bool sign, is_long;
	unsigned zeroes;  /* the width that is filled up with zeroes */
	size_t precision; /* most characters of a string */
	char letter;      /* 0: none of ours */
};

static void put(struct text *t, const char *from, size_t size)
{
	size_t room = t->size > t->length ? t->size - t->length : 0;

	if (room)
		memcpy(t->out + t->length, from, size < room ? size : room);
	t->length += size;
}

static void put_digits(struct text *t, const struct conversion *c, uint64_t value, bool is_negative)
{
	unsigned base = c->letter == 'x' ? 16 : 10, used = 0;
	char digits[24], *first = digits + sizeof digits;

	for (; value || !used; value /= base, used++)
		*--first = "0123456789abcdef"[value % base];
	if (is_negative || c->sign) {
		put(t, is_negative ? "-" : "+", 1);
		used++;
	}
	for (; used < c->zeroes; used++)
		put(t, "0", 1);
	put(t, first, (size_t)(digits + sizeof digits - first));
}

/* Reads what follows a %, and returns its end. */
static const char *read_conversion(struct conversion *c, const char *at, va_list *args)
{
	*c = (struct conversion){ .precision = SIZE_MAX };
	for (; *at == '+'; at++)
		c->sign = true;
	if (*at == '0')
		for (; *at >= '0' && *at <= '9'; at++)
			c->zeroes = c->zeroes * 10 + (unsigned)(*at - '0');
	if (*at == '.' && at[1] == '*') {
		c->precision = (size_t)va_arg(*args, int);
		at += 2;
	} else if (*at == '.') {
		c->precision = 0;
		for (at++; *at >= '0' && *at <= '9'; at++)
			c->precision = c->precision * 10 + (size_t)(*at - '0');
	}
	for (; *at == 'l' || *at == 'z'; at++)
		c->is_long = true;
	c->letter = *at && strchr("scdux%", *at) ? *at : '\0';
	return at + 1;
}

int gt_vsnprintf(char *out, size_t size, const char *format, va_list args)
{
	struct text t = { .out = out, .size = size };
	struct conversion c;
	va_list left; /* a parameter may be an array: only a copy has an address to pass on */

	va_copy(left, args);
	for (;;) {
		const char *string = strchrnul(format, '%');
		int64_t value;
		char one;

		put(&t, format, (size_t)(string - format));
		format = string;
		if (!*format)
			break;
		format = read_conversion(&c, format + 1, &left);
		if (!c.letter)
			break;
		switch (c.letter) {
		case '%': put(&t, "%", 1); break;
		case 'c':
			one = (char)va_arg(left, int);
			put(&t, &one, 1);
			break;
		case 's':
			string = va_arg(left, const char *);
			put(&t, string, strnlen(string, c.precision));
			break;
		case 'd':
			value = c.is_long ? va_arg(left, long) : va_arg(left, int);
			put_digits(&t, &c, value < 0 ? 0 - (uint64_t)value : (uint64_t)value,
				   value < 0);
			break;
		default:
			put_digits(&t, &c,
				   c.is_long ? va_arg(left, unsigned long) : va_arg(left, unsigned),
				   false);
		}
	}
	va_end(left);
	if (size)
		out[t.length < size ? t.length : size - 1] = '\0';
	return (int)t.length;
}

int gt_snprintf(char *out, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = gt_vsnprintf(out, size, format, args);
	va_end(args);
	return length;
}
