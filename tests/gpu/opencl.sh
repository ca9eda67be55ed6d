#!/bin/sh
# SPDX-License-Identifier: MIT
# opencl.sh - gputrack on NVIDIA's OpenCL driver: needs a GPU; prints what happened, fails if it is wrong.
# usage: tests/gpu/opencl.sh BUILD_DIR   (a build that runs here; LIBS=DIR holds libraries it may lack)
. "$(dirname "$0")/begin.sh"
# The toolkit brings a loader of its own that knows no layers: the distribution's goes first.
system=/usr/lib/$(uname -m)-linux-gnu
LD_LIBRARY_PATH=${LIBS:+$LIBS:}$system:$LD_LIBRARY_PATH

# A folder of our own with the one driver: the machine may have others, or no .icd file at all.
driver=$(ldconfig -p | awk '/libnvidia-opencl.so.1/ { print $NF; exit }')
[ -n "$driver" ] || { echo "skip: no libnvidia-opencl.so.1 here"; exit 77; }
mkdir "$work/vendors"
echo "$driver" >"$work/vendors/nvidia.icd"
OCL_ICD_VENDORS=$work/vendors
export OCL_ICD_VENDORS
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cd "$work" || exit 1
for program in objects threads killed; do
	[ -x "$build/tests/e2e/programs/$program" ] ||
		{ echo "FAIL: $build has no tests/e2e/programs/$program: bring it along"; exit 1; }
done

"$build/gputrack" doctor
"$build/gputrack" run -o leaky.gt "$build/samples/leaky" 2>leaky.txt
cat leaky.txt
check "the sample's 20 events and its buffer are found" \
	grep -q "1 buffer (1.00 MiB), 20 events" leaky.txt
check "with file and line" grep -q "leaky.c:[0-9]" leaky.txt

OPENCL_LAYERS=$build/libgputrack_opencl.so "$build/samples/live_objects" >live.txt
check "the live-object extension lists 20 events" test "$(grep -c 'Live cl_event' live.txt)" = 20

"$build/tests/e2e/programs/objects" --log bare.log >bare.txt
"$build/gputrack" run -o objects.gt "$build/tests/e2e/programs/objects" --log traced.log \
	>traced.txt 2>objects.txt
cat objects.txt
check "every kind of object, the same output" cmp bare.txt traced.txt
check "and nothing leaked" grep -q "No leaks" objects.txt

# NVIDIA's driver (580) does not come back from releasing what waits for a user event that was never
# set: a program that does not end on its own is no test of ours.
if timeout 20 "$build/tests/e2e/programs/threads" --threads 8 --rounds 200 >/dev/null; then
	"$build/gputrack" run -o threads.gt "$build/tests/e2e/programs/threads" --threads 8 \
		--rounds 20000 >threads.txt 2>threads.err
	cat threads.txt threads.err
	check "8 threads end at zero" grep -q "No leaks" threads.err
	sh "$top/bench/opencl.sh" "$build"
else
	echo "skip: the bare program does not end on this driver"
fi

"$build/gputrack" run -q -o killed.gt "$build/tests/e2e/programs/killed" --how kill9 --calls 1000 \
	--log killed.log
"$build/gputrack" report killed.gt | tee killed.txt | head -30
check "what was alive at kill -9 is found" grep -q "ALIVE WHEN KILLED  84 resources" killed.txt
rm -rf "$work"
exit $failed
