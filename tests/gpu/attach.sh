#!/bin/sh
# SPDX-License-Identifier: MIT
# attach.sh - gputrack attach on an NVIDIA GPU, as root: prints what happened, fails if it is wrong.
#
# usage: tests/gpu/attach.sh BUILD_DIR   (the folder of a gputrack that runs here: `./dev static` makes
#        build-static/, whose program needs no library). Takes nvcc and compute-sanitizer from PATH or
#        /usr/local/cuda/bin, PyTorch from PYTHON (python3); what is missing is skipped, and said.
. "$(dirname "$0")/begin.sh"
here=$top/tests/gpu
PATH=$PATH:/usr/local/cuda/bin
PYTHON=${PYTHON:-python3}
cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT

# Waits for a line in a file: what hangs is given up after two minutes.
wait_for() { # TEXT FILE
	for _ in $(seq 1200); do
		grep -q "$1" "$2" 2>/dev/null && return 0
		sleep 0.1
	done
	echo "FAIL '$1' never came: $(cat "$2")"
	exit 1
}

command -v nvidia-smi >/dev/null || { echo "skip: no nvidia-smi here"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skip: only root may attach"; exit 77; }
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
uname -r

# field NAME FILE: a number of a JSON report, by a path with dots.
field() {
	"$PYTHON" -c 'import functools, json, sys
print(functools.reduce(lambda o, k: o[int(k) if isinstance(o, list) else k],
      sys.argv[1].split("."), json.load(open(sys.argv[2]))))' "$1" "$2"
}

# Starts a program that says "ready", attaches, lets it go on, and waits for both.
# attach_to NAME OPTIONS -- COMMAND…
attach_to() {
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	rm -f "$name.in"
	mkfifo "$name.in"
	"$@" <"$name.in" >"$name.out" 2>"$name.err" &
	program=$!
	exec 3>"$name.in"
	wait_for ready "$name.out"
	# shellcheck disable=SC2086
	"$gputrack" attach -i 0 -o "$name.gt" $options -p $program >"$name.txt" 2>"$name.say" &
	tracer=$!
	wait_for tracking "$name.say"
	echo go >&3
	wait_for done "$name.out"
	echo go >&3
	exec 3>&-
	wait $program
	wait $tracer || { echo "FAIL attach: $(cat "$name.say")"; failed=1; }
	"$gputrack" report "$name.gt" -a leakage --no-held --format json >"$name.json"
	"$gputrack" report "$name.gt" -a summary --format json >"$name.summary"
	cat "$name.txt"
}

if command -v nvcc >/dev/null; then
	nvcc -g -o leaky "$here/attach_leaky.cu" || exit 1
	for way in auto perf; do
		attach_to "leaky-$way" --probes $way -- ./leaky
		check "$way: 20,007 allocations and 20,010 frees, none lost" \
			test "$(field recording.events "leaky-$way.summary") $(field lost "leaky-$way.json")" = \
			"40017 0"
		check "$way: 7 blocks are left" test "$(field totals.count "leaky-$way.json")" = 7
		check "$way: frees of what was there before are counted apart" \
			grep -q "10 releases of resources created before" "leaky-$way.txt"
		check "$way: keep_block is named" grep -q keep_block "leaky-$way.txt"
	done
	attach_to leaky-dwarf --unwind dwarf --ring-size 256M -- ./leaky
	check "dwarf: main is found behind the runtime" grep -q "main .*attach_leaky.cu" leaky-dwarf.txt
	check "by default, too" grep -q "main .*attach_leaky.cu" leaky-auto.txt
	if command -v compute-sanitizer >/dev/null; then
		printf 'go\ngo\n' | compute-sanitizer --leak-check full ./leaky >sanitizer.txt 2>&1
		grep "LEAK SUMMARY" sanitizer.txt
		theirs=$(sed -n 's/.*LEAK SUMMARY: \([0-9]*\) bytes leaked in \([0-9]*\).*/\1 \2/p' sanitizer.txt)
		check "compute-sanitizer finds the same bytes and blocks: $theirs" test "$theirs" = \
			"$(field totals.bytes leaky-auto.json) $(field totals.count leaky-auto.json)"
	else
		echo "skip: no compute-sanitizer"
	fi
else
	echo "skip: no nvcc"
fi

if "$PYTHON" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	cat >grow.py <<-'END'
		import sys, torch
		x = torch.randn(1024, 1024, device="cuda")
		y = (x @ x).sum().item()
		before = torch.cuda.memory_reserved()
		print("ready", flush=True)
		sys.stdin.readline()
		kept = [torch.empty(32 << 20, dtype=torch.uint8, device="cuda") for _ in range(8)]
		for _ in range(100):
		    z = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
		    del z
		torch.cuda.synchronize()
		print("done", torch.cuda.memory_reserved() - before, flush=True)
		sys.stdin.readline()
	END
	for how in auto fp dwarf; do
		attach_to "torch-$how" --unwind $how -- "$PYTHON" grow.py
		# when Python has ended, its blocks are given back
		"$gputrack" report "torch-$how.gt" -a watermark --format json >"torch-$how-peak.json"
		check "PyTorch, $how: the peak is what its allocator took after the attach" test \
			"$(field totals.bytes "torch-$how-peak.json") $(field lost "torch-$how.json")" = \
			"$(sed -n 's/^done //p' "torch-$how.out") 0"
	done
	for how in auto dwarf; do
		check "PyTorch, $how: frames of libtorch or libc10 are seen" grep -qE "c10|at::" "torch-$how.json"
	done
	grep unwind_ torch-auto.gt/info
else
	echo "skip: no PyTorch with CUDA"
fi
exit $failed
