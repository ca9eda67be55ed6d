#!/bin/sh
# SPDX-License-Identifier: MIT
# test_includes.sh - every #include goes in an allowed direction, every file says what it is, and the
# recorder does not use malloc: SRC
#
# The directions are those of doc/ARCHITECTURE.md: base <- api <- event <- trace and ledger; guest and
# tracker, the two halves of the recorder library, on these; doors on guest; symbol on base alone;
# replay on trace, ledger and symbol; the rooms that show something on replay; agent on these; cli on
# all.
set -eu

cd "${1:?usage: test_includes.sh SRC}"

find . -name '*.[ch]' -o -name '*.def' | sed 's|^\./||' | sort | xargs awk '
function allow(folder, others,   i, n, list) {
	n = split(others, list, " ")
	known[folder] = 1
	for (i = 1; i <= n; i++)
		allowed[folder, list[i]] = 1
	allowed[folder, folder] = 1
}

# The part a path belongs to: capture has one per door.
function part(path,   names, n) {
	n = split(path, names, "/")
	return names[1] == "capture" && n > 2 ? names[1] "/" names[2] : names[1]
}

function complain(text) {
	print FILENAME ":" FNR ": " text
	bad = 1
}

BEGIN {
	allow("base", "")
	allow("api", "base")
	allow("event", "api base")
	allow("trace", "event api base")
	allow("ledger", "event api base")
	allow("guest", "tracker trace ledger event api base")
	allow("tracker", "guest trace ledger event api base gputrack")
	doors = "guest tracker event api base gputrack"
	allow("capture/opencl", doors)
	allow("capture/levelzero", doors)
	allow("capture/cuda", doors)
	allow("capture/pool", doors " capture/cuda")
	allow("capture/nvtx", doors)
	allow("capture/ebpf", "trace event api base")
	allow("capture/nsys", "trace event api base")
	allow("capture/snapshot", "trace event api base")
	allow("symbol", "base")
	shared = "trace ledger symbol event api base"
	allow("replay", shared)
	allow("judge", "replay " shared)
	allow("report", "judge replay " shared)
	allow("export", "replay " shared)
	allow("plot", "replay " shared)
	allow("page", "judge plot replay " shared)
	allow("screen", "replay " shared)
	allow("agent", "judge export replay " shared)
	captures = "capture/opencl capture/levelzero capture/cuda capture/pool capture/nvtx capture/ebpf capture/nsys capture/snapshot"
	allow("cli", "agent plot page screen judge report export replay symbol ledger trace event api base guest tracker gputrack " captures)
}

FNR == 1 {
	here = part(FILENAME)
	name = FILENAME
	sub(/.*\//, "", name)
	title = ""
	if (!(here in known))
		complain("the design knows no folder " here)
}

FNR == 1 && !/^\/\* SPDX-License-Identifier: .* \*\/$/ {
	complain("does not open with its licence: /* SPDX-License-Identifier: MIT */")
}

# Then the file is named: in the comment itself, or after a line that only opens it.
FNR > 1 && FNR <= 3 && title == "" {
	line = $0
	opens = sub(/^\/\* ?/, "", line) || (FNR == 3 && sub(/^ \* /, "", line))
	if (opens && line != "") {
		title = line
		if (index(line, name " - ") != 1)
			complain("opens with \"" line "\", not with \"" name " - ...\"")
	} else if (FNR == 3 || !opens) {
		title = "none"
		complain("does not open with a comment \"" name " - ...\"")
	}
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
	target = $0
	sub(/^[^"]*"/, "", target)
	sub(/".*/, "", target)
	# a bare name lies beside the file that includes it
	there = target ~ /\// ? part(target) : here
	if (!((here, there) in allowed))
		complain(here " must not include " target)
	# the doors are libraries of their own, in which it is malloc
	if (here ~ /^capture\/(opencl|levelzero|cuda|nvtx)$/ && target == "base/table_memory.h")
		complain(here " must not include " target ": its memory is that of the recorder library")
}

# A call in a signal handler may have interrupted malloc. These run at the start or at the end, or when
# the program asks for a list.
here ~ /^(guest|tracker|capture\/(opencl|levelzero|cuda|nvtx))$/ &&
FILENAME !~ /^(tracker\/(tracker|creation_sites|live_query|symbolizer|tool_child)|capture\/opencl\/live_objects)\.c$/ &&
/(^|[^_a-z])(malloc|calloc|realloc|strdup|asprintf)\(/ {
	complain("uses malloc in the traced process: gt_table_alloc, or gt_guest_alloc in a door")
}

END { exit bad }
' || exit 1
