#!/bin/sh
# SPDX-License-Identifier: MIT
# lint.sh BUILD_DIR - formatting, warnings of two compilers, static analysis; scripts can be read.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
failed=0

say() {
	if [ "$1" = 0 ]; then echo "ok   $2"; else echo "FAIL $2"; failed=1; fi
}

# Lines of at most 100 columns, a tab being eight; no blanks at their ends.
files=$(git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'bench/*.[ch]' 'samples/*.[ch]' 'include/*.h')
# tr: of a character of several bytes only the first counts
# shellcheck disable=SC2046
cat $(git ls-files 'src/*.[ch]' 'include/*.h') | tr -d '\200-\277' | expand |
	awk 'length > 100 { print; long++ } END { exit long > 0 }'
say $? "no line of src and include is over 100 columns"
# shellcheck disable=SC2086
cat $files | tr -d '\200-\277' | expand | awk 'length > 110 { long++ } END { exit long > 0 }'
say $? "no line is far over 100 columns"
# shellcheck disable=SC2086
! grep -nE '[[:blank:]]+$' $files
say $? "no blanks at the ends of lines"
# shellcheck disable=SC2086
! grep -nwE 'TODO|FIXME|XXX' $files
say $? "nothing is left to do"

if command -v clang-format >/dev/null; then
	# samples stand in documents as they are, line by line
	bad=
	for file in $(git ls-files '*.[ch]' | grep -v '^samples/\|^tests/unit/fixtures/'); do
		clang-format "$file" | cmp -s - "$file" || bad="$bad $file"
	done
	[ -z "$bad" ] || printf '%s\n' $bad
	[ -z "$bad" ]
	say $? "C files are as clang-format has them (clang-format -i FILE)"
fi

# src has a test of its own for it; samples and fixtures stand in documents and tests line by line, and
# page.html goes into every page
bad=$(git ls-files tests bench viewer packaging include doc dev .ci meson.build |
	grep -E '\.(c|h|py|sh|js|css|build)$|^dev$|^\.ci/' | grep -v '^tests/unit/fixtures/' |
	xargs grep -L SPDX-License-Identifier)
[ -z "$bad" ] || echo "$bad"
[ -z "$bad" ]
say $? "every source file has its SPDX line"
bad=$(git ls-files 'src/*.c' | sed 's|.*/||' | sort | uniq -d)
[ -z "$bad" ] || echo "$bad"
[ -z "$bad" ]
say $? "no two files of src have the same name"

# What is not compiled can at least be read. `check COMMAND FILE...`
check() {
	how=$1
	shift
	bad=0
	for script in "$@"; do
		$how "$script" || bad=1
	done
	return $bad
}

# shellcheck disable=SC2046
check "sh -n" dev .ci/run $(git ls-files '*.sh')
say $? "shell scripts can be read"
# into nowhere: nothing is to be left beside the files
# shellcheck disable=SC2046
python3 - $(git ls-files '*.py') <<'END'
import sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as text:
        compile(text.read(), path, "exec")
END
say $? "Python files can be compiled"
if command -v node >/dev/null; then
	# shellcheck disable=SC2046
	check "node --check" $(git ls-files 'viewer/js/*.js')
	say $? "the page's scripts can be read"
fi

sh tests/unit/test_includes.sh src
say $? "includes follow the allowed direction"

# The warnings of both compilers, as errors, in folders of their own.
for compiler in gcc clang; do
	folder=$build-lint-$compiler
	[ -f "$folder/build.ninja" ] ||
		CC=$compiler meson setup "$folder" -Dwerror=true -Dc_args=-Wno-shadow >/dev/null 2>&1
	ninja -C "$folder" >"$folder/lint.log" 2>&1 || { tail -n 30 "$folder/lint.log"; false; }
	say $? "no warnings from $compiler"
done

if command -v cppcheck >/dev/null; then
	cppcheck --quiet --enable=warning,portability --inline-suppr --std=c11 --error-exitcode=1 \
		--suppress=internalAstError --suppress=syntaxError --suppress=preprocessorErrorDirective \
		--suppress=unknownMacro -Isrc -Iinclude src/base src/api src/event src/trace src/ledger src/replay \
		src/judge src/report src/export src/page src/screen src/cli src/symbol src/plot src/guest \
		src/tracker src/capture/ebpf src/capture/nsys src/capture/snapshot
	say $? "cppcheck"
fi
if command -v clang-tidy >/dev/null; then
	clang-tidy -p "$build-lint-clang" --quiet --checks='-*,clang-analyzer-core*,clang-analyzer-unix*' \
		--warnings-as-errors='*' src/trace/*.c src/ledger/*.c \
		src/guest/*.c src/tracker/*.c src/base/*.c src/event/*.c src/replay/*.c >"$build-tidy.log" 2>/dev/null ||
		{ cat "$build-tidy.log"; false; }
	say $? "clang-tidy"
	rm -f "$build-tidy.log"
fi
exit $failed
