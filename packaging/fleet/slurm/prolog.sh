#!/bin/sh
# SPDX-License-Identifier: MIT
# prolog.sh - for Slurm's Prolog: records the GPU resources of a job on this node, until epilog.sh.
#
# Never fails a job: what goes wrong is in the journal. doc/slurm.md
job=${SLURM_JOB_ID:?}
folder=${GPUTRACK_JOBS:-/var/spool/gputrack}
# where slurmd of the cgroup/v2 plugin puts the job's processes
cgroup=${GPUTRACK_CGROUP:-system.slice/slurmstepd.scope/job_$job}

mkdir -p "$folder" && cd "$folder" || exit 0
setsid gputrack attach --cgroup "$cgroup" -o "$job.gt" --interval 0 --max-size "${GPUTRACK_SIZE:-200M}" --quiet \
	</dev/null >"$job.log" 2>&1 &
echo $! >"$job.pid"
exit 0
