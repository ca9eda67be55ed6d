/* nsight_rows.c - allocations and frees of memory in the columns of Nsight's scripts. */
#include "view/nsight_rows.h"

#include <inttypes.h>

#include "base/text.h"
#include "view/nsight.h"

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
		      "\tcall_stack\n", rows->out[i]);
}

/* What an allocation is called stays with its free. */
static void put_name(FILE *out, const struct gt_recording *r, uint32_t process, uint64_t handle,
		     uint64_t born_ns)
{
	if (born_ns)
		gt_tsv_put(out, gt_recording_name(r, process, handle, born_ns));
}

void gt_nsight_rows_add(struct gt_nsight_rows *rows, const struct gt_event *event,
			uint32_t process)
{
	const struct gt_recording *r = rows->recording;
	const struct gt_function *fn = &gt_functions[event->function];
	enum gt_origin origin = gt_recording_origin(r, event->function, event->stack);
	enum gt_kind kind = (enum gt_kind)fn->kind;
	bool allocates = fn->effect == GT_CREATE;
	uint64_t born_ns = allocates ? event->time_ns : 0, bytes = event->size;
	FILE *out = rows->out[origin];
	struct gt_entry gone = { 0 };
	enum gt_change change =
		gt_live_apply(&rows->live, event, (uint16_t)process, NULL, &gone);

	if (!gt_nsight_has_row(event) || change == GT_CHANGE_RELEASED)
		return;
	if (change == GT_CHANGE_ENDED) {
		born_ns = gone.time_ns;
		/* an export says of a free what it frees; a call for all kinds does not */
		if (!bytes) {
			bytes = gone.size;
			kind = gt_entry_kind(&gone);
		}
	}
	fprintf(out, "%" PRIu32 "\t0x%" PRIx64 "\t%" PRId64 "\t%" PRIu64 "\t%s\t%s\t",
		gt_recording_process(r, process)->pid, event->handle,
		(int64_t)(event->time_ns - gt_recording_start_ns(r)), bytes,
		gt_nsight_kind(GT_CUDA, kind), gt_nsight_operation(allocates));
	put_name(out, r, process, event->handle, born_ns);
	putc('\t', out);
	gt_nsight_stack(out, rows->frames, origin, event->function, event->stack, GT_WHERE_MODULE);
	putc('\n', out);
}

void gt_nsight_rows_fini(struct gt_nsight_rows *rows)
{
	gt_live_fini(&rows->live);
}
