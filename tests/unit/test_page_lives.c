/* SPDX-License-Identifier: MIT */
/* test_page_lives.c - a page's matrix of lives: however coarse it is, its sums are those of a
 * ledger. */
#include "test_ledger.h"

#include "page/life_matrix.h"

enum { SITES = 40, ROWS = 64, EVENTS = 20000, HANDLES = 500 };

/* What a ledger held at the end of each row, by stack. */
struct model {
	struct gt_page_lives lives;
	struct gt_ledger *ledger;
	int64_t bytes[ROWS][SITES];
	uint64_t alive[ROWS][SITES];
	uint64_t random;
};

static uint64_t key_of_stack(void *modulus, const struct gt_site *site)
{
	return site->stack % *(const uint32_t *)modulus;
}

static void start(struct model *m, size_t cells, size_t sites, const uint32_t *modulus)
{
	struct gt_page_lives_limits limits = { .rows = ROWS,
					       .cells = cells,
					       .sites = sites,
					       .row_key = key_of_stack,
					       .context = (void *)modulus };

	memset(m, 0, sizeof *m);
	m->random = 25;
	gt_page_lives_init(&m->lives, &limits);
	m->ledger = gt_ledger_new();
	m->ledger->observer = &m->lives.lives.observer;
}

static uint64_t any(struct model *m, uint64_t below)
{
	return random_word(&m->random) % below;
}

static void note_row(struct model *m, size_t row)
{
	for (size_t i = 0; i < m->ledger->site_count; i++) {
		const struct gt_site *site = &m->ledger->sites[i];

		m->bytes[row][site->stack] += (int64_t)site->bytes_live;
		m->alive[row][site->stack] += site->live;
	}
}

/* Stack 0 creates most; buffers of seven sizes by five threads are released at random. */
static void run(struct model *m)
{
	bool is_alive[HANDLES] = { false };

	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t handle = any(m, HANDLES);
		uint32_t stack = any(m, 3) ? (uint32_t)any(m, SITES) : 0;
		struct gt_event e =
			event_of(is_alive[handle] ? GT_FN_clReleaseMemObject : GT_FN_clCreateBuffer,
				 handle + 1, stack,
				 is_alive[handle] ? 0 : 1 + any(m, 7) * (stack ? 1 : 100));

		e.tid = (uint32_t)any(m, 5);
		is_alive[handle] = !is_alive[handle];
		m->lives.lives.ledger = m->ledger;
		m->lives.lives.now = (uint32_t)(i * ROWS / EVENTS);
		gt_ledger_apply(m->ledger, &e, 0);
		if ((i + 1) * ROWS / EVENTS != i * ROWS / EVENTS)
			note_row(m, i * ROWS / EVENTS);
	}
	gt_page_lives_end(&m->lives);
}

static const struct gt_life_origin *origin_of(const struct model *m, uint32_t origin)
{
	size_t size;

	return gt_intern_get(m->lives.origins, origin, &size);
}

/* The same as the matrix has it: by the stack of an origin's site; of the rest by none. */
static void sum_cells(const struct model *m, size_t step, int64_t bytes[SITES + 1],
		      uint64_t alive[SITES + 1])
{
	memset(bytes, 0, (SITES + 1) * sizeof *bytes);
	memset(alive, 0, (SITES + 1) * sizeof *alive);
	for (size_t i = 0; i < m->lives.cell_count; i++) {
		const struct gt_page_cell *cell = &m->lives.cells[i];
		uint32_t site = origin_of(m, cell->origin)->site;
		uint32_t stack = site == GT_LIFE_REST ? SITES : m->ledger->sites[site].stack;

		if (cell->born > step || cell->ended <= step)
			continue;
		bytes[stack] += cell->bytes;
		alive[stack] += cell->count;
	}
}

/* The stack that stands for one: the first of its row, or none. */
typedef uint32_t stand_in_fn(const struct model *m, uint32_t stack);

static void assert_adds_up(struct model *m, stand_in_fn *stand_in)
{
	unsigned int width = 1u << m->lives.shift;

	gt_page_lives_list(&m->lives);
	for (size_t step = 0; step < ROWS / width; step++) {
		size_t row = (step + 1) * width - 1;
		int64_t bytes[SITES + 1], wanted[SITES + 1] = { 0 };
		uint64_t alive[SITES + 1], wanted_alive[SITES + 1] = { 0 };

		sum_cells(m, step, bytes, alive);
		for (uint32_t stack = 0; stack < SITES; stack++) {
			wanted[stand_in(m, stack)] += m->bytes[row][stack];
			wanted_alive[stand_in(m, stack)] += m->alive[row][stack];
		}
		for (size_t i = 0; i <= SITES; i++) {
			assert_int_equal(bytes[i], wanted[i]);
			assert_int_equal(alive[i], wanted_alive[i]);
		}
	}
	gt_page_lives_fini(&m->lives);
	gt_ledger_free(m->ledger);
}

static uint32_t itself(const struct model *m, uint32_t stack)
{
	return stack;
}

static void sums_stay_however_few_cells_there_are(void **state)
{
	static const enum gt_life_detail least[] = { GT_LIFE_BY_SIZE, GT_LIFE_BY_SITE };
	static const size_t cells[] = { 1 << 20, 100 };
	static struct model m;

	for (int i = 0; i < 2; i++) {
		start(&m, cells[i], SITES, NULL);
		run(&m);
		assert_int_equal(m.lives.detail, least[i]);
		assert_in_range(m.lives.cell_count, SITES, cells[i] + 2 * SITES);
		assert_int_equal(m.lives.merged_sites, 0);
		assert_int_equal(m.lives.shift != 0, i);
		assert_adds_up(&m, itself);
	}
}

static uint32_t first_of_seven(const struct model *m, uint32_t stack)
{
	/* the first that was seen stands for its row */
	for (size_t i = 0; i < m->ledger->site_count; i++)
		if (m->ledger->sites[i].stack % 7 == stack % 7 &&
		    origin_of(m, m->lives.origin_of[i] - 1)->site == i)
			return m->ledger->sites[i].stack;
	return SITES;
}

static void too_many_call_sites_become_their_rows(void **state)
{
	static const uint32_t seven = 7;
	static struct model m;

	start(&m, 1 << 10, SITES / 2, &seven);
	run(&m);
	assert_int_equal(m.lives.detail, GT_LIFE_BY_ROW);
	assert_int_equal(gt_intern_count(m.lives.origins), 7);
	assert_int_equal(m.lives.merged_sites, 0);
	assert_adds_up(&m, first_of_seven);
}

static uint32_t itself_or_rest(const struct model *m, uint32_t stack)
{
	for (size_t i = 0; i < m->ledger->site_count; i++)
		if (m->ledger->sites[i].stack == stack)
			return origin_of(m, m->lives.origin_of[i] - 1)->site == GT_LIFE_REST ?
				       SITES :
				       stack;
	return SITES;
}

static void the_smallest_of_too_many_rows_become_the_rest(void **state)
{
	static const uint32_t all = SITES;
	static struct model m;

	start(&m, 1 << 10, 12, &all);
	run(&m);
	assert_int_equal(m.lives.detail, GT_LIFE_BY_ROW);
	assert_in_range(gt_intern_count(m.lives.origins), 2, 13);
	assert_int_equal(m.lives.merged_sites, SITES - gt_intern_count(m.lives.origins) + 1);
	assert_int_equal(itself_or_rest(&m, 0), 0); /* the heaviest by far */
	assert_adds_up(&m, itself_or_rest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_stay_however_few_cells_there_are),
		cmocka_unit_test(too_many_call_sites_become_their_rows),
		cmocka_unit_test(the_smallest_of_too_many_rows_become_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
