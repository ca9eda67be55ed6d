/* SPDX-License-Identifier: MIT */
/* metrics.c - a host's totals for Prometheus: a fixed number of series, whatever runs. */
#include "agent/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "export/metric_text.h"

enum {
	SINGLE = 10,    /* metrics with one series */
	SUSPECTS = 3,   /* growing call sites that are named */
	GPUS = 8,       /* GPUs that have series of their own */
	GPU_SERIES = 3, /* of each */
	PROCESSES = 10, /* the largest ones, fewer where there are many GPUs */
	PROCESS_SERIES = 2,
	CONTAINER = 12, /* characters of its id, as tools show it */
	COMMAND = 120,  /* characters of a command line */
};

_Static_assert(SINGLE + SUSPECTS + GPUS * GPU_SERIES + PROCESS_SERIES <= GT_METRICS_SERIES,
	       "there is room for a process beside all GPUs");

struct page {
	FILE *out;
	const struct gt_agent_totals *totals;
	enum gt_metrics_form form;
};

/* In OpenMetrics the name of a counter ends before _total, except where its value is. */
static void head(const struct page *p, const char *name, const char *type, const char *help)
{
	char family[96];
	size_t size = strlen(name);

	if (p->form == GT_METRICS_OPEN && !strcmp(type, "counter"))
		size -= strlen("_total");
	snprintf(family, sizeof family, "%.*s", (int)size, name);
	gt_metric_head(p->out, family, type, help);
}

static void one(const struct page *p, const char *name, const char *type, const char *help,
		uint64_t value)
{
	head(p, name, type, help);
	fprintf(p->out, "%s %" PRIu64 "\n", name, value);
}

/* One GPU, or all that have no series of their own. */
struct gpu {
	const char *name;
	struct gt_agent_sums sums;
	uint64_t capacity;
};

/* The one with this name: a process's own number may be the machine's, or another process's. */
static struct gpu *find_gpu(struct gpu *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

/* Those that anything was allocated on. */
static size_t list_gpus(const struct page *p, const struct gt_agent_figures *f,
			struct gpu list[GPUS])
{
	struct gt_agent_sums sums;
	const char *name;
	size_t count = 0;

	for (uint16_t i = 0; (name = gt_agent_totals_gpu(p->totals, i, &sums)); i++) {
		const char *shown = *name ? name : "unknown";
		struct gpu *gpu = find_gpu(list, count, shown);

		if (!sums.allocated_objects || (!*name && !sums.device_bytes && !sums.cached_bytes))
			continue;
		if (!gpu && count >= GPUS) {
			gpu = &list[GPUS - 1];
			gpu->name = "other";
			gpu->capacity = 0;
		}
		if (gpu) {
			gpu->sums.device_bytes += sums.device_bytes;
			gpu->sums.cached_bytes += sums.cached_bytes;
			continue;
		}
		gpu = &list[count];
		*gpu = (struct gpu){ .name = shown, .sums = sums };
		if (f->capacity && *name)
			gpu->capacity = f->capacity(f->context, name);
		count++;
	}
	return count;
}

static void put_gpus(const struct page *p, const char *name, const char *help,
		     const struct gpu *list, size_t count, uint64_t (*value)(const struct gpu *))
{
	bool has_head = false;

	for (size_t i = 0; i < count; i++) {
		/* a capacity that is not known is not zero */
		if (value == NULL && !list[i].capacity)
			continue;
		if (!has_head)
			head(p, name, "gauge", help);
		has_head = true;
		fprintf(p->out, "%s{", name);
		gt_metric_label(p->out, "gpu", list[i].name, "} ");
		fprintf(p->out, "%" PRIu64 "\n", value ? value(&list[i]) : list[i].capacity);
	}
}

static uint64_t live_of(const struct gpu *gpu)
{
	return gpu->sums.device_bytes;
}

static uint64_t cached_of(const struct gpu *gpu)
{
	return gpu->sums.cached_bytes;
}

static size_t put_all_gpus(const struct page *p, const struct gt_agent_figures *f)
{
	struct gpu list[GPUS];
	size_t count = list_gpus(p, f, list);

	put_gpus(p, "gputrack_gpu_live_bytes",
		 "Bytes on the GPU that processes have allocated, without pools' caches.", list,
		 count, live_of);
	put_gpus(p, "gputrack_gpu_cached_bytes",
		 "Bytes on the GPU that allocators such as PyTorch's keep for later.", list, count,
		 cached_of);
	put_gpus(p, "gputrack_gpu_capacity_bytes", "Memory of the GPU.", list, count, NULL);
	return count;
}

/* The processes that hold most, the largest first. */
struct largest {
	const struct gt_agent_process *process[PROCESSES];
	struct gt_agent_sums sums[PROCESSES];
	size_t count, most;
	uint64_t all; /* that run */
};

static uint64_t weight(const struct gt_agent_sums *s)
{
	return s->device_bytes + s->cached_bytes;
}

static void add_process(void *context, const struct gt_agent_process *process,
			const struct gt_agent_sums *sums)
{
	struct largest *l = context;
	size_t at;

	l->all++;
	if (l->count == l->most && weight(sums) <= weight(&l->sums[l->count - 1]))
		return;
	if (l->count < l->most)
		l->count++;
	for (at = l->count - 1; at && weight(&l->sums[at - 1]) < weight(sums); at--) {
		l->process[at] = l->process[at - 1];
		l->sums[at] = l->sums[at - 1];
	}
	l->process[at] = process;
	l->sums[at] = *sums;
}

/* The labels of a process, and `end`. */
static void put_who(FILE *out, const struct gt_agent_process *who, const char *end)
{
	char text[COMMAND + 1];

	snprintf(text, sizeof text, "%u", who->pid);
	gt_metric_label(out, "pid", text, ",");
	snprintf(text, sizeof text, "%s", *who->command ? who->command : who->comm);
	gt_metric_label(out, "command", text, ",");
	gt_metric_label(out, "user", who->user, ",");
	snprintf(text, sizeof text, "%.*s", CONTAINER, who->container);
	gt_metric_label(out, "container", text, ",");
	gt_metric_label(out, "pod", *who->pod_name ? who->pod_name : who->pod, end);
}

static void put_processes(const struct page *p, const struct largest *l)
{
	if (!l->count)
		return;
	head(p, "gputrack_process_live_bytes", "gauge",
	     "Bytes on GPUs that the largest processes have allocated, without caches.");
	for (size_t i = 0; i < l->count; i++) {
		fputs("gputrack_process_live_bytes{", p->out);
		put_who(p->out, l->process[i], "} ");
		fprintf(p->out, "%" PRIu64 "\n", l->sums[i].device_bytes);
	}
	head(p, "gputrack_process_cached_bytes", "gauge",
	     "Bytes on GPUs that allocators of the largest processes keep for later.");
	for (size_t i = 0; i < l->count; i++) {
		fputs("gputrack_process_cached_bytes{", p->out);
		put_who(p->out, l->process[i], "} ");
		fprintf(p->out, "%" PRIu64 "\n", l->sums[i].cached_bytes);
	}
}

/* The call sites that grow fastest. */
struct suspects {
	struct gt_agent_row rows[SUSPECTS];
	size_t count;
};

static void add_suspect(void *context, const struct gt_agent_row *row)
{
	struct suspects *s = context;
	size_t at;

	if (!row->grows || !gt_kind_has_bytes(row->kind) || row->process->end_ns)
		return;
	if (s->count == SUSPECTS &&
	    row->growth_per_second <= s->rows[SUSPECTS - 1].growth_per_second)
		return;
	if (s->count < SUSPECTS)
		s->count++;
	for (at = s->count - 1; at && s->rows[at - 1].growth_per_second < row->growth_per_second;
	     at--)
		s->rows[at] = s->rows[at - 1];
	s->rows[at] = *row;
}

static void put_suspects(const struct page *p)
{
	static const char name[] = "gputrack_place_growth_bytes_per_second";
	struct suspects s = { .count = 0 };

	gt_agent_totals_each_row(p->totals, add_suspect, &s);
	if (!s.count)
		return;
	head(p, name, "gauge",
	     "How fast the call sites grow that hold more and more, the fastest ones.");
	for (size_t i = 0; i < s.count; i++) {
		fprintf(p->out, "%s{", name);
		gt_metric_label(p->out, "place", s.rows[i].place, ",");
		gt_metric_label(p->out, "kind", gt_kinds[s.rows[i].kind].name, ",");
		gt_metric_label(p->out, "gpu", s.rows[i].gpu, ",");
		put_who(p->out, s.rows[i].process, "} ");
		fprintf(p->out, "%.3f\n", s.rows[i].growth_per_second);
	}
}

static void put_agent(const struct page *p, const struct gt_agent_figures *f)
{
	head(p, "gputrack_agent_cpu_seconds_total", "counter",
	     "Processor time that the agent has used.");
	fprintf(p->out, "gputrack_agent_cpu_seconds_total %.3f\n", f->cpu_seconds);
	one(p, "gputrack_agent_resident_bytes", "gauge", "Memory that the agent uses.",
	    f->resident_bytes);
	one(p, "gputrack_folded_places_total", "counter",
	    "Call sites that were added to \"other call sites\" for want of memory.",
	    gt_agent_totals_folded(p->totals));
	one(p, "gputrack_lost_events_total", "counter", "Calls that could not be recorded.",
	    f->lost_events);
}

void gt_agent_metrics(FILE *out, const struct gt_agent_totals *t, const struct gt_agent_figures *f,
		      enum gt_metrics_form form)
{
	const struct page p = { .out = out, .totals = t, .form = form };
	struct gt_agent_sums sums = gt_agent_totals_sums(t);
	struct largest l = { .count = 0 };
	size_t gpus, left;

	head(&p, "gputrack_build_info", "gauge", "The version of gputrack; always 1.");
	fputs("gputrack_build_info{", out);
	gt_metric_label(out, "version", f->version, "} 1\n");
	gpus = put_all_gpus(&p, f);
	left = (GT_METRICS_SERIES - SINGLE - SUSPECTS - gpus * GPU_SERIES) / PROCESS_SERIES;
	l.most = left < PROCESSES ? left : PROCESSES;
	gt_agent_totals_each_process(t, add_process, &l);
	put_processes(&p, &l);
	one(&p, "gputrack_processes", "gauge", "Processes that have used a GPU and run.", l.all);
	one(&p, "gputrack_allocations_total", "counter", "Resources allocated.",
	    sums.allocated_objects);
	one(&p, "gputrack_allocated_bytes_total", "counter", "Bytes allocated.",
	    sums.allocated_bytes);
	one(&p, "gputrack_out_of_memory_total", "counter",
	    "Calls that failed because memory ran out.", f->out_of_memory);
	one(&p, "gputrack_growing_places", "gauge", "Call sites that hold more and more.",
	    sums.growing);
	put_suspects(&p);
	put_agent(&p, f);
	if (form == GT_METRICS_OPEN)
		fputs("# EOF\n", out);
}
