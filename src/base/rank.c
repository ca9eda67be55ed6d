/* SPDX-License-Identifier: MIT */
/* rank.c - this process's rank in a parallel job, by the variables of whatever launched it. */
#include "base/rank.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 10 };

const char *gt_rank_get(void)
{
	/* names that mean other things too need company */
	/* clang-format off */
	static const struct {
		const char *rank, *with;
	} launchers[] = {
		{ "OMPI_COMM_WORLD_RANK", NULL }, { "PMIX_RANK", NULL }, { "PMI_RANK", NULL },
		{ "MV2_COMM_WORLD_RANK", NULL },  { "PALS_RANKID", NULL },
		{ "JSM_NAMESPACE_RANK", NULL },   { "FLUX_TASK_RANK", NULL },
		{ "ALPS_APP_PE", NULL },          { "SLURM_PROCID", "SLURM_STEP_ID" },
		{ "RANK", "WORLD_SIZE" },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		const char *rank = secure_getenv(launchers[i].rank);
		size_t size = rank ? strlen(rank) : 0;

		if (size && size <= DIGITS_MAX && strspn(rank, "0123456789") == size &&
		    (!launchers[i].with || secure_getenv(launchers[i].with)))
			return rank;
	}
	return NULL;
}
