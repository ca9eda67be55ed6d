#!/bin/sh
# SPDX-License-Identifier: MIT
# epilog.sh - for Slurm's Epilog: ends the recording of prolog.sh and leaves the user a summary beside it.
job=${SLURM_JOB_ID:?}
folder=${GPUTRACK_JOBS:-/var/spool/gputrack}

cd "$folder" 2>/dev/null && [ -f "$job.pid" ] && read -r pid <"$job.pid" || exit 0
rm -f "$job.pid"
kill -TERM "$pid" 2>/dev/null
# it is no child of ours: until it has written the last calls, for at most ten seconds
tries=100
while kill -0 "$pid" 2>/dev/null && [ $((tries -= 1)) -gt 0 ]; do
	sleep 0.1
done
gputrack report "$job.gt" >"$job.txt" 2>>"$job.log"
chown -R "${SLURM_JOB_USER:-root}" "$job.gt" "$job.txt" "$job.log" 2>/dev/null
# recordings of the last two weeks
find . -maxdepth 1 -mtime +14 -exec rm -rf {} + 2>/dev/null
exit 0
