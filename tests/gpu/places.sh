#!/bin/sh
# SPDX-License-Identifier: MIT
# places.sh - a training script of PyTorch that keeps tensors: every view names its line first. Needs a GPU.
# usage: tests/gpu/places.sh BUILD_DIR   (a build that runs here; LIBS=DIR holds libraries it may lack)
. "$(dirname "$0")/begin.sh"

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
	{ echo "skip: no GPU here"; exit 77; }
python3 -c 'import torch; print("torch", torch.__version__)' || { echo "skip: no PyTorch here"; exit 77; }
cd "$work" || exit 1
cp "$top/tests/gpu/keep_tensors.py" .
place="remember keep_tensors.py:$(grep -n GROWS keep_tensors.py | cut -d : -f 1)"

COLUMNS=120 "$gputrack" run -o torch.gt python3 keep_tensors.py 300 0.03 2>summary.txt
cat summary.txt
first_of() { grep -A 1 "$1" "$2" | grep -q "$3"; }
check "summary: the first row of GROWING" first_of ^GROWING summary.txt "$place"
check "summary: the first row of the peak" first_of ^PEAK summary.txt "$place"
COLUMNS=120 "$gputrack" report torch.gt -a growth | tee growth.txt
for view in growth sites watermark; do
	"$gputrack" report torch.gt -a $view --format json >$view.json
	check "$view: the first group" python3 -c '
import json, sys
at = json.load(open(sys.argv[1]))["groups"][0]["place"]["at"]
print("    ", at)
sys.exit(at != sys.argv[2])' $view.json "$place"
done
"$gputrack" html torch.gt -o torch.html
# the page is looked at where there is a browser
[ -z "${OUT:-}" ] || cp torch.html summary.txt growth.txt "$OUT"
rm -rf "$work"
exit $failed
