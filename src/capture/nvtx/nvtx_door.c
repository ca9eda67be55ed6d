/* SPDX-License-Identifier: MIT */
/*
 * nvtx_door.c - takes the ranges of NVTX: what it loads and asks to fill its tables of functions.
 *
 * Another tool's library that was set before `gputrack run` (GPUTRACK_NVTX_NEXT) fills the tables
 * first. Its functions are called after ours, with the same arguments, and their results are the
 * program's: handles and ids are then the other tool's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/small_printf.h"
#include "capture/nvtx/nvtx_memory.h"
#include "guest/ranges.h"

enum {
	TEXT_MOST = 256, /* bytes of a text that are looked at */
	SLOTS = 1 << 13, /* of each of the tables below */
	PROBES = 32,
	FUNCTIONS = 16, /* of each module; above those that we fill in */
	HANDLE_LEAST = 8,
};

/* Numbers of texts by what the program passes in their place; one that is full knows no more. */
struct numbers {
	struct {
		_Atomic uint64_t key; /* 0: free */
		_Atomic uint32_t number;
	} slots[SLOTS];
};

static struct numbers domains, strings, categories;

static void set_number(struct numbers *n, uint64_t key, uint32_t number)
{
	for (uint64_t i = 0, at = gt_mix64(key); i < PROBES && key; i++) {
		_Atomic uint64_t *slot = &n->slots[(at + i) % SLOTS].key;
		uint64_t found = atomic_load_explicit(slot, memory_order_acquire);

		if (!found && atomic_compare_exchange_strong(slot, &found, key))
			found = key;
		if (found != key)
			continue;
		/* another tool's handle may come again, with another text */
		atomic_store_explicit(&n->slots[(at + i) % SLOTS].number, number,
				      memory_order_release);
		return;
	}
}

static uint32_t get_number(struct numbers *n, uint64_t key)
{
	for (uint64_t i = 0, at = gt_mix64(key); i < PROBES; i++) {
		uint64_t found =
			atomic_load_explicit(&n->slots[(at + i) % SLOTS].key, memory_order_acquire);

		if (found == key)
			return atomic_load_explicit(&n->slots[(at + i) % SLOTS].number,
						    memory_order_acquire);
		if (!found)
			break;
	}
	return 0;
}

static uint32_t text_of(const char *text)
{
	return text ? gt_range_text(text, strnlen(text, TEXT_MOST)) : 0;
}

/* One character as UTF-8: how many bytes; what is none becomes '?'. */
static size_t put_character(char *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t wide_text_of(const wchar_t *text)
{
	char bytes[TEXT_MOST + 4];
	size_t used = 0;

	for (; text && *text && used < TEXT_MOST; text++)
		used += put_character(bytes + used, (uint32_t)*text);
	return gt_range_text(bytes, used);
}

/* What stands for a range without a text. */
static uint32_t payload_text(const struct gt_nvtx_attributes *a)
{
	char text[32] = "";

	switch (a->payload_type) {
	case GT_NVTX_UINT64:
		gt_snprintf(text, sizeof text, "%lu", (unsigned long)a->payload.u64);
		break;
	case GT_NVTX_INT64: gt_snprintf(text, sizeof text, "%ld", (long)a->payload.i64); break;
	case GT_NVTX_UINT32: gt_snprintf(text, sizeof text, "%u", a->payload.u32); break;
	case GT_NVTX_INT32: gt_snprintf(text, sizeof text, "%d", a->payload.i32); break;
	default: break;
	}
	return gt_range_text(text, strlen(text));
}

/* Other tools' functions, which are called after ours; NULL: there are none. */
static _Atomic(gt_nvtx_fn *) next_core[FUNCTIONS], next_core2[FUNCTIONS];
static _Atomic bool has_next;

/* Our own handles are numbers of texts. */
static uint32_t number_of(struct numbers *numbers, const void *handle)
{
	uint64_t word = (uint64_t)(uintptr_t)handle;

	if (atomic_load_explicit(&has_next, memory_order_relaxed))
		return word ? get_number(numbers, word) : 0;
	return word >= HANDLE_LEAST && word <= UINT32_MAX ? (uint32_t)word : 0;
}

static void *handle_of(uint32_t number)
{
	return (void *)(uintptr_t)(number ? number : 1);
}

uint32_t gt_nvtx_text(uint32_t type, const union gt_nvtx_text_value *message)
{
	switch (type) {
	case GT_NVTX_ASCII: return text_of(message->ascii);
	case GT_NVTX_WIDE: return wide_text_of(message->wide);
	case GT_NVTX_REGISTERED: return number_of(&strings, message->registered);
	default: return 0;
	}
}

static uint32_t message_of(const struct gt_nvtx_attributes *a)
{
	if (a->size < sizeof *a)
		return 0;
	if (a->message_type < GT_NVTX_ASCII || a->message_type > GT_NVTX_REGISTERED)
		return payload_text(a);
	return gt_nvtx_text((uint32_t)a->message_type, &a->message);
}

static uint64_t category_key(uint32_t domain, uint32_t category)
{
	return (uint64_t)domain << 32 | category;
}

static struct gt_range_name name_of(const void *domain, const struct gt_nvtx_attributes *a)
{
	struct gt_range_name name = { .domain = number_of(&domains, domain) };

	if (!a)
		return name;
	name.text = message_of(a);
	if (a->category)
		name.category = get_number(&categories, category_key(name.domain, a->category));
	if (name.category == GT_RANGE_NO_ROOM)
		name.category = 0;
	return name;
}

/* A function of ours, and the other tool's that is called after it. */
#define CORE(id)                                                                                   \
	((typeof(&wrap_##id))(void *)atomic_load_explicit(&next_core[GT_NVTX_##id],                \
							  memory_order_relaxed))
#define CORE2(id)                                                                                  \
	((typeof(&wrap_##id))(void *)atomic_load_explicit(&next_core2[GT_NVTX_##id],               \
							  memory_order_relaxed))

static int wrap_RangePushA(const char *message)
{
	int depth = gt_range_push(&(struct gt_range_name){ .text = text_of(message) });

	return CORE(RangePushA) ? CORE(RangePushA)(message) : depth;
}

static int wrap_RangePushW(const wchar_t *message)
{
	int depth = gt_range_push(&(struct gt_range_name){ .text = wide_text_of(message) });

	return CORE(RangePushW) ? CORE(RangePushW)(message) : depth;
}

static int wrap_RangePushEx(const struct gt_nvtx_attributes *a)
{
	struct gt_range_name name = name_of(NULL, a);
	int depth = gt_range_push(&name);

	return CORE(RangePushEx) ? CORE(RangePushEx)(a) : depth;
}

static int wrap_RangePop(void)
{
	int depth = gt_range_pop(0);

	return CORE(RangePop) ? CORE(RangePop)() : depth;
}

static int wrap_DomainRangePushEx(const void *domain, const struct gt_nvtx_attributes *a)
{
	struct gt_range_name name = name_of(domain, a);
	int depth = gt_range_push(&name);

	return CORE2(DomainRangePushEx) ? CORE2(DomainRangePushEx)(domain, a) : depth;
}

static int wrap_DomainRangePop(const void *domain)
{
	int depth = gt_range_pop(number_of(&domains, domain));

	return CORE2(DomainRangePop) ? CORE2(DomainRangePop)(domain) : depth;
}

/* The other tool's id is needed first: it is what the program ends the range by. */
static uint64_t wrap_RangeStartA(const char *message)
{
	const struct gt_range_name name = { .text = text_of(message) };

	return gt_range_start(&name, CORE(RangeStartA) ? CORE(RangeStartA)(message) : 0);
}

static uint64_t wrap_RangeStartW(const wchar_t *message)
{
	const struct gt_range_name name = { .text = wide_text_of(message) };

	return gt_range_start(&name, CORE(RangeStartW) ? CORE(RangeStartW)(message) : 0);
}

static uint64_t wrap_RangeStartEx(const struct gt_nvtx_attributes *a)
{
	const struct gt_range_name name = name_of(NULL, a);

	return gt_range_start(&name, CORE(RangeStartEx) ? CORE(RangeStartEx)(a) : 0);
}

static void wrap_RangeEnd(uint64_t id)
{
	gt_range_end(id);
	if (CORE(RangeEnd))
		CORE(RangeEnd)(id);
}

static uint64_t wrap_DomainRangeStartEx(const void *domain, const struct gt_nvtx_attributes *a)
{
	const struct gt_range_name name = name_of(domain, a);

	return gt_range_start(&name,
			      CORE2(DomainRangeStartEx) ? CORE2(DomainRangeStartEx)(domain, a) : 0);
}

static void wrap_DomainRangeEnd(const void *domain, uint64_t id)
{
	gt_range_end(id);
	if (CORE2(DomainRangeEnd))
		CORE2(DomainRangeEnd)(domain, id);
}

static void wrap_NameCategoryA(uint32_t category, const char *name)
{
	set_number(&categories, category_key(0, category), text_of(name));
	if (CORE(NameCategoryA))
		CORE(NameCategoryA)(category, name);
}

static void wrap_NameCategoryW(uint32_t category, const wchar_t *name)
{
	set_number(&categories, category_key(0, category), wide_text_of(name));
	if (CORE(NameCategoryW))
		CORE(NameCategoryW)(category, name);
}

static void wrap_DomainNameCategoryA(const void *domain, uint32_t category, const char *name)
{
	set_number(&categories, category_key(number_of(&domains, domain), category), text_of(name));
	if (CORE2(DomainNameCategoryA))
		CORE2(DomainNameCategoryA)(domain, category, name);
}

static void wrap_DomainNameCategoryW(const void *domain, uint32_t category, const wchar_t *name)
{
	set_number(&categories, category_key(number_of(&domains, domain), category),
		   wide_text_of(name));
	if (CORE2(DomainNameCategoryW))
		CORE2(DomainNameCategoryW)(domain, category, name);
}

/* Gives the program the other tool's handle, or ours. */
static void *register_text(struct numbers *numbers, void *theirs, uint32_t number)
{
	if (!atomic_load_explicit(&has_next, memory_order_relaxed))
		return handle_of(number);
	set_number(numbers, (uint64_t)(uintptr_t)theirs, number);
	return theirs;
}

static void *wrap_DomainRegisterStringA(const void *domain, const char *text)
{
	void *theirs =
		CORE2(DomainRegisterStringA) ? CORE2(DomainRegisterStringA)(domain, text) : NULL;

	return register_text(&strings, theirs, text_of(text));
}

static void *wrap_DomainRegisterStringW(const void *domain, const wchar_t *text)
{
	void *theirs =
		CORE2(DomainRegisterStringW) ? CORE2(DomainRegisterStringW)(domain, text) : NULL;

	return register_text(&strings, theirs, wide_text_of(text));
}

static uint32_t domain_text(uint32_t number)
{
	/* 0 is the default domain */
	return number ? number : text_of("(unnamed)");
}

static void *wrap_DomainCreateA(const char *name)
{
	void *theirs = CORE2(DomainCreateA) ? CORE2(DomainCreateA)(name) : NULL;

	return register_text(&domains, theirs, domain_text(text_of(name)));
}

static void *wrap_DomainCreateW(const wchar_t *name)
{
	void *theirs = CORE2(DomainCreateW) ? CORE2(DomainCreateW)(name) : NULL;

	return register_text(&domains, theirs, domain_text(wide_text_of(name)));
}

#define OURS(id) [GT_NVTX_##id] = (gt_nvtx_fn *)(void *)wrap_##id
/* clang-format off */
static gt_nvtx_fn *const core[FUNCTIONS] = {
	OURS(RangeStartEx), OURS(RangeStartA), OURS(RangeStartW), OURS(RangeEnd),
	OURS(RangePushEx), OURS(RangePushA), OURS(RangePushW), OURS(RangePop),
	OURS(NameCategoryA), OURS(NameCategoryW),
}, *const core2[FUNCTIONS] = {
	OURS(DomainRangeStartEx), OURS(DomainRangeEnd), OURS(DomainRangePushEx),
	OURS(DomainRangePop), OURS(DomainNameCategoryA), OURS(DomainNameCategoryW),
	OURS(DomainRegisterStringA), OURS(DomainRegisterStringW), OURS(DomainCreateA),
	OURS(DomainCreateW),
};
/* clang-format on */

/* A table of an instance of NVTX: there is one in each library that uses it. */
struct table {
	gt_nvtx_fn ***entries;
	unsigned size;
	gt_nvtx_fn *before[FUNCTIONS]; /* another tool was asked */
};

static void read_table(struct table *t, gt_nvtx_export_fn *get, enum gt_nvtx_module module)
{
	const struct gt_nvtx_callbacks *c = get(GT_NVTX_CALLBACKS);

	*t = (struct table){ 0 };
	if (!c || c->struct_size < sizeof *c || !c->get_table ||
	    !c->get_table(module, &t->entries, &t->size) || !t->entries)
		t->size = 0;
	for (unsigned i = 0; i < t->size && i < FUNCTIONS; i++)
		t->before[i] = t->entries[i] ? *t->entries[i] : NULL;
}

/*
 * Our functions do not know from which instance they are called, so all instances must have the
 * same next ones. Where they have not, the other tool's function stays, and we miss the range.
 */
static void fill_table(const struct table *t, gt_nvtx_fn *const *ours, _Atomic(gt_nvtx_fn *) *next,
		       bool is_chained)
{
	for (unsigned i = 0; i < t->size && i < FUNCTIONS; i++) {
		gt_nvtx_fn *theirs, *known = NULL;

		if (!ours[i] || !t->entries[i])
			continue;
		theirs = is_chained && *t->entries[i] != t->before[i] ? *t->entries[i] : NULL;
		if (theirs && atomic_compare_exchange_strong(&next[i], &known, theirs))
			known = theirs;
		else
			known = atomic_load(&next[i]);
		if (known == theirs)
			*t->entries[i] = ours[i];
	}
}

/* Another tool's function of this name, from the library that was set before; NULL: none. */
static void *next_function(const char *name)
{
	const char *path = secure_getenv("GPUTRACK_NVTX_NEXT");
	void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;

	return library ? dlsym(library, name) : NULL;
}

GT_EXPORT int InitializeInjectionNvtx2(gt_nvtx_export_fn *get_export_table);

/* A tool may be linked into the program: NVTX would call it if no library were set. */
static gt_nvtx_init_fn *next_init(void)
{
	gt_nvtx_init_fn *init = (gt_nvtx_init_fn *)next_function("InitializeInjectionNvtx2");
	gt_nvtx_init_fn **linked =
		init ? NULL : dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2_fnptr");

	if (linked)
		init = *linked;
	return init == InitializeInjectionNvtx2 ? NULL : init;
}

int InitializeInjectionNvtx2(gt_nvtx_export_fn *get_export_table)
{
	struct table in_core, in_core2;
	gt_nvtx_init_fn *next;
	int saved = errno;
	bool is_chained;

	read_table(&in_core, get_export_table, GT_NVTX_CORE);
	read_table(&in_core2, get_export_table, GT_NVTX_CORE2);
	next = next_init();
	is_chained = next && next(get_export_table);
	errno = saved;
	if (!gt_settings_get()->recording || !gt_ranges_start())
		return is_chained;
	if (is_chained)
		atomic_store(&has_next, true);
	fill_table(&in_core, core, next_core, is_chained);
	fill_table(&in_core2, core2, next_core2, is_chained);
	errno = saved;
	return 1;
}

/* Of NVTX's extensions, payloads of structures and counters are the other tool's alone. */
GT_EXPORT int InitializeInjectionNvtxExtension(struct gt_nvtx_extension *module);

int InitializeInjectionNvtxExtension(struct gt_nvtx_extension *module)
{
	int (*next)(void *) = (int (*)(void *))next_function("InitializeInjectionNvtxExtension");
	int saved = errno,
	    status = next && next != (int (*)(void *))InitializeInjectionNvtxExtension ?
			     next(module) :
			     0;

	if (gt_nvtx_memory_start(module, status))
		status = 1;
	errno = saved;
	return status;
}
