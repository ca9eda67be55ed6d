# SPDX-License-Identifier: MIT
# begin.sh - what the scripts of this folder begin with: . begin.sh, after BUILD_DIR became $1.
#
# Gives them a folder to work in, the tool, and `check`; LIBS=DIR holds libraries that it may lack here.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
gputrack=$build/gputrack
work=$(mktemp -d)
failed=0
LD_LIBRARY_PATH=${LIBS:+$LIBS:}${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH

check() { # check WHAT COMMAND…
	what=$1
	shift
	if "$@"; then echo "ok   $what"; else echo "FAIL $what"; failed=1; fi
}
