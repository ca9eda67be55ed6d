#!/bin/sh
# SPDX-License-Identifier: MIT
# cuda.sh - gputrack on NVIDIA's CUDA driver: needs a GPU; prints what happened, fails if it is wrong.
# usage: tests/gpu/cuda.sh BUILD_DIR   (a build that runs here; LIBS=DIR holds libraries it may lack)
#
# Programs of ours for each kind of memory and object, with the static and the shared runtime: leaked
# bytes are compared, to the byte, with what compute-sanitizer says of the same program (it looks
# when the device is reset, so it gets --reset); then PyTorch; then what a call costs.
. "$(dirname "$0")/begin.sh"

# A number of a JSON report: EXPRESSION over the object r. Python is asked; jq may not be there.
ask() {
	file=$1
	shift
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
		"$file" "$*"
}

command -v nvcc >/dev/null || { echo "skip: no nvcc here"; exit 77; }
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
	{ echo "skip: no GPU here"; exit 77; }
nvcc --version | tail -2
cd "$work" || exit 1
"$gputrack" doctor

# The driver to link with, under the name that linkers look for: toolkits' stubs may be missing.
for folder in $(ldconfig -p | awk '/libcuda.so.1 / { sub("/[^/]*$", "", $NF); print $NF }') \
	/usr/local/nvidia/lib64 $(echo "$LD_LIBRARY_PATH" | tr : ' '); do
	if [ -f "$folder/libcuda.so.1" ]; then
		ln -sf "$folder/libcuda.so.1" libcuda.so
		break
	fi
done
for runtime in static shared; do
	nvcc -g -O1 -Wno-deprecated-gpu-targets -cudart $runtime -o kinds_$runtime \
		"$top/tests/gpu/cuda_kinds.cu" -L. -lcuda || exit 1
done

kinds="device pitch managed pinned registered async pool virtual striped array mipmap streams graphs
textures kernel contexts"
# compute-sanitizer has all code loaded at once: so do we, to see the same variables
CUDA_MODULE_LOADING=EAGER
export CUDA_MODULE_LOADING
for runtime in static shared; do
	program=./kinds_$runtime
	echo "== $runtime runtime"
	# shellcheck disable=SC2086
	$program $kinds >bare.txt || exit 1
	# shellcheck disable=SC2086
	"$gputrack" run -o clean.gt $program $kinds >traced.txt 2>clean.txt
	cat clean.txt
	check "the same output" cmp bare.txt traced.txt
	check "nothing leaked when everything is given back" grep -q "No leaks" clean.txt
	for kind in $kinds; do
		"$gputrack" run -q -o kind.gt $program --keep $kind >out.txt 2>err.txt
		"$gputrack" report kind.gt -a leakage --format json >leak.json
		"$gputrack" report kind.gt -a summary --format json >summary.json
		"$gputrack" run -q -o reset.gt $program --keep --reset $kind >/dev/null 2>&1
		"$gputrack" report reset.gt -a leakage --format json >reset.json
		compute-sanitizer --leak-check full $program --keep --reset $kind >sanitizer.txt 2>&1
		theirs=$(sed -n 's/.*LEAK SUMMARY: \([0-9,]*\) bytes.*/\1/p' sanitizer.txt | tr -d ,)
		asked=$(awk -v k=$kind '$1 == k { print $2 }' out.txt)
		device=$(ask summary.json 'r["device_bytes"]')
		all=$(ask leak.json 'r["totals"]["bytes"]')
		variables=$(ask leak.json 'sum(g["bytes"] for g in r["lasting"]
			if g["kind"] == "static managed memory")')
		count=$(ask leak.json 'r["totals"]["count"]')
		reset=$(ask reset.json 'r["freed_with_context"]["device_bytes"]')
		top_frame=$(ask leak.json '[str(g["stack"][0]["file"]).rsplit("/", 1)[-1] + ":" + str(g["stack"][0]["line"]) for g in r["groups"] if g["stack"]][:1]')
		echo "$kind: asked $asked; gputrack leaked $count, $all bytes ($device device);" \
			"managed variables $variables; freed by reset $reset; compute-sanitizer ${theirs:-nothing}; $top_frame"
		case $kind in
		device | pitch | managed | kernel)
			# it calls __managed__ variables leaks too; ours are listed apart
			check "$kind: leaked bytes as compute-sanitizer's" \
				test "$((device + variables))" = "$theirs"
			check "$kind: and as asked for" test "$device" = "$asked" ;;
		async | pool | virtual | striped | array | mipmap | textures | pinned | registered)
			check "$kind: bytes as asked for" test "$all" = "$asked"
			[ -z "$theirs" ] || [ "$theirs" = "$all" ] ||
				echo "note $kind: compute-sanitizer says $theirs" ;;
		streams) check "$kind: three objects" test "$count" = 3 ;;
		graphs) check "$kind: two graphs and one executable" test "$count" = 3 ;;
		contexts) check "$kind: nothing" test "$count" = 0 ;;
		esac
		# the device's pool outlives contexts, and what was taken from it does too
		case $kind in
		device) check "$kind: freed by a reset" test "$reset" = "$asked" ;;
		async) check "$kind: not freed by a reset" test "$reset" = 0 ;;
		esac
		case $kind in contexts) ;; *)
			check "$kind: file and line on top" \
				sh -c "echo \"$top_frame\" | grep -q 'cuda_kinds.cu:[0-9]'" ;;
		esac
	done
done
"$gputrack" run -q -o kernel.gt ./kinds_static --keep kernel >/dev/null
"$gputrack" report kernel.gt -a leakage | tee kernel.txt
"$gputrack" export kernel.gt | head -40
for variable in counters table factors; do
	check "the variable $variable is named, and no leak" grep -q "$variable" kernel.txt
done
"$gputrack" run -o all.gt ./kinds_static --keep all 2>&1 >/dev/null | head -60

if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	echo "== PyTorch"
	python3 "$top/tests/gpu/keep_tensors.py" 60 >bare.txt
	"$gputrack" run -o torch.gt python3 "$top/tests/gpu/keep_tensors.py" 60 >traced.txt 2>torch.txt
	cat torch.txt
	check "the same output" cmp bare.txt traced.txt
	line=$(grep -n GROWS "$top/tests/gpu/keep_tensors.py" | cut -d : -f 1)
	check "the line that keeps tensors is named" grep -q "keep_tensors.py:$line" torch.txt
	"$gputrack" run -q -o slow.gt python3 "$top/tests/gpu/keep_tensors.py" 300 0.03 >/dev/null
	"$gputrack" report slow.gt -a growth >growth.txt
	head -30 growth.txt
	check "growth names it too" grep -q "keep_tensors.py:$line" growth.txt
	"$gputrack" report torch.gt --format json >torch.json
	check "what the GPU says is there" test "$(ask torch.json 'len(r["devices"]) > 0')" = True
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "$gputrack" run -o segments.gt \
		python3 "$top/tests/gpu/keep_tensors.py" 60 >traced.txt 2>segments.txt
	check "expandable segments: the same output" cmp bare.txt traced.txt
	check "expandable segments: the line is named" grep -q "keep_tensors.py:$line" segments.txt
	# a second subscriber: PyTorch's own profiler
	cat >profiled.py <<-'END'
	import torch
	from torch.profiler import profile, ProfilerActivity
	with profile(activities=[ProfilerActivity.CUDA]) as p:
	    x = torch.ones(1000, device="cuda").sum()
	print(float(x))
	END
	"$gputrack" run -q -o profiled.gt python3 profiled.py
	check "PyTorch's profiler beside us does no harm" test $? = 0
fi
compute-sanitizer --leak-check full "$gputrack" run -q -o two.gt ./kinds_static device 2>&1 |
	grep "gputrack:" | head -3

"$build/bench/cuda_calls" --probe >/dev/null 2>&1 && sh "$top/bench/cuda.sh" "$build"
rm -rf "$work"
exit $failed
