/* SPDX-License-Identifier: MIT */
/* test_unwind_walk.c - attach's unwinders, in BPF programs and in the tool, find what the recorder
 * does. */
#include "../interrupted.h"
#include "../read_own_memory.h"
#include "bpf_walk.h"
#include "kernel_maps.h"

#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/machine.h"
#include "capture/ebpf/unwind.h"
#include "capture/ebpf/unwind_tables.h"
#include "guest/own_stack.h"

enum { DEPTH = 64, COPY_BYTES = 256 << 10 };

static struct gt_images images = { .keep_open = true };
static struct gt_modules modules;
static struct gt_unwind_tables *tables;
static struct gt_space *space;
static struct bpf_walk_from hidden; /* a probed call, of the stacks that are walked next */
static size_t walks, last_count;
static uint32_t last_end;
static uint64_t last[GT_PROBE_FRAMES];

/* Tells the tables what is mapped now. */
static void look_at_code(void)
{
	const struct gt_space_user self = { .pid = (uint32_t)getpid() };

	gt_modules_look(&modules, &images, self.pid);
	space = gt_space_update(tables, space, &modules, &self);
	assert_non_null(space);
}

/* The registers where getcontext returned to, as where a probed call returns to. */
static struct gt_probe_stack registers_of(const ucontext_t *c)
{
	struct gt_probe_stack s = { .other_count = 0 };
	const mcontext_t *m = &c->uc_mcontext;

#if defined(__x86_64__)
	static const int places[GT_REGISTERS] = {
		[3] = REG_RBX,  [6] = REG_RBP,  [7] = REG_RSP,  [12] = REG_R12,
		[13] = REG_R13, [14] = REG_R14, [15] = REG_R15, [16] = REG_RIP
	};

	for (int i = 0; i < GT_REGISTERS; i++)
		s.registers[i] = places[i] ? (uint64_t)m->gregs[places[i]] : 0;
#else
	for (int i = 0; i < GT_RETURN; i++)
		s.registers[i] = m->regs[i];
	s.registers[GT_RETURN] = m->pc;
	s.registers[GT_STACK] = m->sp;
#endif
	return s;
}

static void walk_from(const struct gt_probe_stack *s)
{
	struct bpf_walk_from from = hidden;

	from.pc = s->registers[GT_RETURN];
	from.sp = s->registers[GT_STACK];
	from.fp = s->registers[GT_FRAME];
	/* the rows of large images are made when they are needed */
	while ((last_end = bpf_walk(&from, last, &last_count)) == GT_WALK_ROWS) {
		uint64_t address = last[last_count - 1];
		const struct gt_mapped *at = gt_modules_find(&modules, address);

		assert_non_null(at);
		gt_unwind_tables_need(tables, at->image, address - at->bias);
	}
	walks++;
}

/* The tool's own unwinding of a copy of the stack gives the same. */
static void compare_copy(const struct gt_probe_stack *s)
{
	static uint8_t copy[COPY_BYTES];
	uint64_t frames[GT_PROBE_FRAMES];
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t size = pread(fd, copy, sizeof copy, (off_t)s->registers[GT_STACK]);
	size_t count;

	close(fd);
	assert_true(size > 0);
	count = gt_unwind_copy(&modules, s, copy, (size_t)size, frames, GT_PROBE_FRAMES);
	for (size_t i = 0; i < count && i < last_count; i++)
		if (frames[i] != last[i])
			fail_msg("frame %zu of a copy is %#llx, not %#llx", i,
				 (unsigned long long)frames[i], (unsigned long long)last[i]);
	assert_int_equal(count, last_count);
}

/* Both, from here on; a copy does not say where a probed call returns to. */
__attribute__((noinline)) static void walk_here(void)
{
	struct gt_probe_stack here;
	ucontext_t context;

	assert_int_equal(getcontext(&context), 0);
	here = registers_of(&context);
	walk_from(&here);
	if (!hidden.probed_sp)
		compare_copy(&here);
	__asm__ volatile("" ::: "memory");
}

/* With what the recorder finds; the first frames are ours. */
__attribute__((noinline)) static void compare(const void *caller)
{
	uint64_t *frames;
	size_t count = gt_unwind(&frames, DEPTH, caller), first = 0;

	while (first < last_count && last[first] != (uint64_t)(uintptr_t)caller)
		first++;
	if (first == last_count)
		fail_msg("the caller is not among %zu frames; the walk ended by %u", last_count,
			 last_end);
	for (size_t i = 0; i < count && first + i < last_count; i++)
		if (frames[i] != last[first + i])
			fail_msg("frame %zu of %zu is %#llx, not %#llx", i, count,
				 (unsigned long long)last[first + i],
				 (unsigned long long)frames[i]);
	if (last_count - first != count || last_end != GT_WALK_WHOLE)
		fail_msg("%zu frames, not %zu; the walk ended by %u", last_count - first, count,
			 last_end);
}

__attribute__((noinline)) static void door(void)
{
	walk_here();
	compare(__builtin_return_address(0));
	__asm__ volatile("" ::: "memory");
}

typedef void step_fn(int depth);
static step_fn plain, with_alloca, wide, saving;
static step_fn *const steps[] = { plain, with_alloca, wide, saving };

__attribute__((noinline)) static void go_on(int depth)
{
	static unsigned state;

	if (depth <= 0)
		door();
	else
		steps[(state = state * 1103515245 + 12345) >> 16 & 3](depth - 1);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void plain(int depth)
{
	go_on(depth);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void with_alloca(int depth)
{
	volatile char *room = alloca(16u * (unsigned)(depth % 4 + 1));

	__asm__ volatile("" ::"r"(room) : "memory");
	go_on(depth);
	__asm__ volatile("" ::: "memory");
}

/* More than an instruction's offsets reach at once. */
__attribute__((noinline)) static void wide(int depth)
{
	volatile char room[6000];

	__asm__ volatile("" ::"r"(room) : "memory");
	go_on(depth);
	__asm__ volatile("" ::"r"(room) : "memory");
}

/* With the registers that calls preserve. */
__attribute__((noinline)) static void saving(int depth)
{
	volatile long words[] = { depth, depth + 1, depth + 2, depth + 3 };
	long a = words[0], b = words[1], c = words[2], d = words[3];

	go_on(depth);
	__asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

static int by_door(const void *a, const void *b)
{
	door();
	return *(const int *)a - *(const int *)b;
}

static void *deep(void *unused)
{
	int list[] = { 3, 1, 2 };

	for (int i = 0; i < 200; i++)
		go_on(i % 14);
	qsort(list, 3, sizeof *list, by_door);
	return unused;
}

static void stacks_of_all_shapes_are_those_of_the_recorder(void **state)
{
	size_t before = walks;
	pthread_t thread;

	look_at_code();
	deep(NULL);
	assert_int_equal(pthread_create(&thread, NULL, deep, NULL), 0);
	pthread_join(thread, NULL);
	assert_true(walks - before > 400);
}

static size_t handled;

static void on_signal(int number, siginfo_t *info, void *context)
{
	handled++;
	skip_trap(context);
	door();
}

/* A leaf: nothing is saved, and nothing on the stack. */
__attribute__((noinline)) static long trap_in_leaf(long a)
{
	__asm__ volatile(TRAP : "+r"(a));
	return a;
}

__attribute__((noinline)) static long trap_in_frame(long a)
{
	volatile char room[64];

	__asm__ volatile("" ::"r"(room) : "memory");
	a = trap_in_leaf(a);
	__asm__ volatile(TRAP : "+r"(a) : "r"(room) : "memory");
	return a;
}

static void a_signals_stack_goes_on_to_what_it_interrupted(void **state)
{
	const struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct sigaction before;

	look_at_code();
	assert_int_equal(sigaction(SIGILL, &action, &before), 0);
	assert_int_equal(trap_in_leaf(5), 5);
	assert_int_equal(trap_in_frame(6), 6);
	assert_int_equal(handled, 3);
	assert_int_equal(sigaction(SIGILL, &before, NULL), 0);
}

/* Code in no file that calls its argument: with a frame pointer. */
#if defined(__x86_64__)
static const unsigned char made_code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
					   0xe4, 0xf0, 0xff, 0xd7, 0xc9, 0xc3 };
#else
static const uint32_t made_code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0 };
#endif

/* Calls `fn` from such code. */
__attribute__((noinline)) static void call_by_made_code(void (*fn)(void))
{
	static void (*made)(void (*)(void));
	char *page;

	if (!made) {
		page = mmap(NULL, sizeof made_code, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(page, MAP_FAILED);
		memcpy(page, made_code, sizeof made_code);
		__builtin___clear_cache(page, page + sizeof made_code);
		*(void **)&made = page;
		look_at_code();
	}
	made(fn);
	__asm__ volatile("" ::: "memory");
}

static void code_without_rules_is_walked_by_its_frame_pointer(void **state)
{
	size_t direct;

	look_at_code();
	door();
	direct = last_count;
	call_by_made_code(door);
	/* from there on, frames without a frame pointer are missing where records lie low */
	if (HAS_FRAME_POINTERS || !GT_RECORD_IS_LOW)
		assert_int_equal(last_count, direct + 2);
}

static uint64_t *probed_word; /* that holds the return address of the call to be probed */
static uint64_t probed_sp;
static uint64_t probe[512] __attribute__((aligned(4096))) = { 0xd42000a0 };

/* Two walks from one place, the second with the word that the kernel puts there. */
__attribute__((noinline)) static void walk_twice(void)
{
	static uint64_t seen[GT_PROBE_FRAMES];
	volatile uint64_t *word = probed_word;
	size_t count = 0;

	for (int i = 0; i < 2; i++) {
		uint64_t address = *word;

		hidden = i ? (struct bpf_walk_from){ .probed_sp = probed_sp,
						     .probed_return = gt_code_address(address) } :
			     (struct bpf_walk_from){ .probed_sp = 0 };
		if (i)
			*word = (uint64_t)(uintptr_t)probe;
		walk_here();
		*word = address;
		if (i)
			break;
		memcpy(seen, last, sizeof seen);
		count = last_count;
	}
	hidden = (struct bpf_walk_from){ .probed_sp = 0 };
	assert_int_equal(last_end, GT_WALK_WHOLE);
	assert_int_equal(last_count, count);
	for (size_t i = 2; i < count; i++) /* behind walk_here and this */
		assert_int_equal(last[i], seen[i]);
}

/* The probed function itself, by rules: its return address is found by where its frame ends. */
__attribute__((noinline)) static void be_probed(void)
{
	uint64_t *record = __builtin_frame_address(0);

	probed_word = record + 1;
	probed_sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa() - (GT_RECORD_IS_LOW ? 0 : 8);
	walk_twice();
	__asm__ volatile("" ::: "memory");
}

/* Its caller is: code without rules. */
__attribute__((noinline)) static void have_probed_caller(void)
{
	uint64_t *own = __builtin_frame_address(0), *record = (uint64_t *)(uintptr_t)*own;

	probed_word = record + 1;
	probed_sp = (uint64_t)(uintptr_t)(GT_RECORD_IS_LOW ? record + 2 : record + 1);
	walk_twice();
	__asm__ volatile("" ::: "memory");
}

static void a_return_that_is_probed_hides_no_caller(void **state)
{
	be_probed();
	call_by_made_code(have_probed_caller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_all_shapes_are_those_of_the_recorder),
		cmocka_unit_test(a_signals_stack_goes_on_to_what_it_interrupted),
		cmocka_unit_test(code_without_rules_is_walked_by_its_frame_pointer),
		cmocka_unit_test(a_return_that_is_probed_hides_no_caller),
	};
	const struct gt_unwind_maps maps = { .space_of = SPACE_OF_MAP,
					     .spaces = SPACES_MAP,
					     .shards = SHARDS_MAP,
					     .rules = RULES_MAP,
					     .chunks = CHUNKS_MAP };
	int failed;

	tables = gt_unwind_tables_new(&maps);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	gt_space_release(tables, space, (uint32_t)getpid());
	gt_unwind_tables_free(tables);
	gt_modules_fini(&modules);
	gt_images_fini(&images);
	return failed;
}
