/* SPDX-License-Identifier: MIT */
/* nsight_rows.c - allocations and frees of memory in the columns of Nsight's scripts. */
#include "export/nsight_rows.h"

#include <inttypes.h>

#include "base/text.h"
#include "replay/nsight_words.h"

bool gt_nsight_has_row(const struct gt_event *event)
{
	const struct gt_function *fn = &gt_functions[event->function];

	return fn->api == GT_CUDA && !event->failed && !event->unfinished &&
	       (fn->effect == GT_CREATE || gt_function_ends(fn)) &&
	       gt_kind_has_bytes((enum gt_kind)fn->kind);
}

void gt_nsight_rows_begin(struct gt_nsight_rows *rows)
{
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		fputs("PID\taddress\tstart_time\tbytes\tmemkind\tmem_op_type\tvar_name"
		      "\tcall_stack\n",
		      rows->out[i]);
}

/* A free has the name of its allocation. */
static void put_name(FILE *out, const struct gt_recording *r, uint32_t process, uint64_t handle,
		     uint64_t born_ns)
{
	if (born_ns)
		gt_tsv_put(out, gt_recording_name(r, process, handle, born_ns));
}

/* The event that rows are made of. */
struct adding {
	struct gt_nsight_rows *rows;
	const struct gt_event *event;
	uint32_t process;
};

struct row {
	uint64_t address, bytes, born_ns; /* born: 0 when it is not known */
	enum gt_kind kind;
	bool allocates;
};

static void put_row(const struct adding *a, const struct row *row)
{
	const struct gt_recording *r = a->rows->recording;
	const struct gt_event *event = a->event;
	enum gt_origin origin = gt_recording_origin(r, event->function, event->stack);
	FILE *out = a->rows->out[origin];

	fprintf(out, "%" PRIu32 "\t0x%" PRIx64 "\t%" PRId64 "\t%" PRIu64 "\t%s\t%s\t",
		gt_recording_process(r, a->process)->pid, row->address,
		(int64_t)(event->time_ns - gt_recording_start_ns(r)), row->bytes,
		gt_nsight_kind(GT_CUDA, row->kind), gt_nsight_operation(row->allocates));
	put_name(out, r, a->process, row->address, row->born_ns);
	putc('\t', out);
	gt_nsight_stack(out, a->rows->frames, origin, event->function, event->stack,
			GT_WHERE_MODULE);
	putc('\n', out);
}

static bool is_cuda_memory(const struct gt_entry *e)
{
	return gt_functions[e->function].api == GT_CUDA && gt_kind_has_bytes(gt_entry_kind(e));
}

static void born(void *context, const struct gt_entry *e, uint32_t slot)
{
	(void)slot;
	if (is_cuda_memory(e))
		put_row(context, &(struct row){ .address = e->handle,
						.bytes = e->size,
						.born_ns = e->time_ns,
						.kind = gt_entry_kind(e),
						.allocates = true });
}

static void ended(void *context, const struct gt_entry *e, uint32_t slot, enum gt_ended_by by)
{
	const struct adding *a = context;
	struct row row = { .address = e->handle,
			   .bytes = e->size,
			   .born_ns = e->time_ns,
			   .kind = gt_entry_kind(e) };

	(void)slot;
	/* a second allocation at a living address says nothing of a free */
	if (!is_cuda_memory(e) || by == GT_ENDED_BY_CREATION)
		return;
	/* an export says of a free what it frees; a call for all kinds does not */
	if (by == GT_ENDED_BY_CALL && a->event->size) {
		row.bytes = a->event->size;
		row.kind = (enum gt_kind)gt_functions[a->event->function].kind;
	}
	put_row(a, &row);
}

void gt_nsight_rows_add(struct gt_nsight_rows *rows, const struct gt_event *event, uint32_t process)
{
	const enum gt_kind kind = (enum gt_kind)gt_functions[event->function].kind;
	struct adding a = { rows, event, process };
	const struct gt_live_observer observer = { .born = born, .ended = ended, .context = &a };
	enum gt_change change =
		gt_live_apply_all(&rows->live, event, (uint16_t)process, &observer, NULL);

	/* its allocation was not seen: only the call says what it was */
	if (change == GT_CHANGE_UNKNOWN && gt_nsight_has_row(event))
		put_row(&a, &(struct row){
				    .address = event->handle, .bytes = event->size, .kind = kind });
}

void gt_nsight_rows_fini(struct gt_nsight_rows *rows)
{
	gt_live_fini(&rows->live);
}
