#!/bin/sh
# SPDX-License-Identifier: MIT
# held.sh - what PyTorch, NVIDIA's libraries and its runtime hold until a program ends: needs a GPU.
# usage: tests/gpu/held.sh BUILD_DIR   (a build that runs here; LIBS=DIR holds libraries it may lack)
#
# Runs correct programs (held_cases.py, held_others.py, held_libraries.cu beside it) and leaking twins.
# A correct one must end with "No leaks", a twin with its leak. The leakage reports of all, with full
# stacks, go into $OUT/held.json (a temporary folder if OUT is not set): entries of
# data/held-by-libraries.supp are written from these, and from nothing else.
. "$(dirname "$0")/begin.sh"
OUT=${OUT:-$work}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
	{ echo "skip: no GPU here"; exit 77; }
cd "$work" || exit 1
mkdir reports

# judge NAME: a correct program must have no leaks, a twin those that it says
judge() {
	wanted=$(sed -n 's/^expect: //p' "$1.out")
	wanted=${wanted:-No leaks}
	if grep -q "^$wanted" "$1.txt"; then
		echo "ok   $1: $wanted"
	else
		echo "FAIL $1: expected \"$wanted\""
		failed=1
	fi
}

# collect NAME COMMAND…: one program, and its report
collect() {
	name=$1
	shift
	timeout 120 "$gputrack" run -o "$name.gt" "$@" >"$name.out" 2>"$name.txt"
	status=$?
	echo "== $name: status $status; $(tail -1 "$name.out")"
	if [ $status = 77 ]; then
		echo "skip $name: $(sed -n 's/^skipped: //p' "$name.out")"
		return
	fi
	if [ ! -d "$name.gt" ] || [ $status != 0 ]; then
		tail -n 5 "$name.out"
		# what the program said comes before the report
		sed '/^gputrack /,$d' "$name.txt" | tail -n 20
		echo "FAIL $name: status $status"
		failed=1
		return
	fi
	sed -n '/LEAKED\|No leaks\|held by/,/^$/p' "$name.txt" | head -12
	# shellcheck disable=SC2086
	"$gputrack" report "$name.gt" -a leakage --all-frames --format json $no_held \
		>"reports/$name.json" 2>>errors.txt
	judge "$name"
}

# older builds have no list to leave out
no_held=
"$gputrack" report --help | grep -q -- --no-held && no_held=--no-held

if command -v nvcc >/dev/null; then
	nvcc --version | tail -2
	if nvcc -g -O1 -Wno-deprecated-gpu-targets -o libraries "$top/tests/gpu/held_libraries.cu" \
		-lcublas -lcublasLt -lcufft -lcusolver -lcusparse -lcurand 2>nvcc.txt; then
		for name in runtime cublas cublaslt cufft cusolver cusparse curand; do
			collect cuda_$name ./libraries $name
		done
	else
		head -5 nvcc.txt
		echo "skip: nvcc cannot build held_libraries.cu here"
	fi
fi
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	cases=$top/tests/gpu/held_cases.py
	python3 "$cases" --versions | tee reports/versions.json
	for name in $(python3 "$cases"); do
		collect "torch_$name" python3 "$cases" "$name"
	done
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True \
		collect torch_training_expandable python3 "$cases" training
	PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync \
		collect torch_training_async python3 "$cases" training
	PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync \
		collect torch_leak_async python3 "$cases" leak_async
else
	echo "skip: no PyTorch with CUDA here"
fi

# Each skips itself where its package is missing or has no GPU.
others=$top/tests/gpu/held_others.py
for name in $(python3 "$others" | grep -v '^opencv_'); do
	collect "$name" python3 "$others" "$name"
done

# OpenCV, with NVIDIA's OpenCL driver alone: the machine may have no .icd file. The toolkit brings a
# loader of its own that knows no layers: the distribution's goes first, and for no other program,
# since other libraries of the distribution would go first, too.
driver=$(ldconfig -p | awk '/libnvidia-opencl.so.1/ { print $NF; exit }')
if [ -n "$driver" ]; then
	mkdir vendors
	echo "$driver" >vendors/nvidia.icd
	OCL_ICD_VENDORS=$work/vendors
	LD_LIBRARY_PATH=${LIBS:+$LIBS:}/usr/lib/$(uname -m)-linux-gnu:$LD_LIBRARY_PATH
	export OCL_ICD_VENDORS
fi
collect opencv_images python3 "$others" opencv_images

# All in one file, without the resources of each group, which would fill it.
python3 - reports >"$OUT/held.json" <<'PYTHON'
import json, os, sys
folder, reports = sys.argv[1], {}
for name in sorted(os.listdir(folder)):
    try:
        report = json.load(open(os.path.join(folder, name)))
    except ValueError:
        continue
    for key in ("groups", "lasting"):
        for group in report.get(key, []):
            group["objects"] = group.get("objects", [])[:2]
    reports[name.removesuffix(".json")] = report
json.dump(reports, sys.stdout, indent=1)
PYTHON
cat ./*.txt >"$OUT/held.txt"
# the recordings themselves, for other views of the same runs
tar -czf "$OUT/held-recordings.tar.gz" ./*.gt
ls -l "$OUT"
[ "$OUT" = "$work" ] || rm -rf "$work"
exit $failed
