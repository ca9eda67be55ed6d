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
		--suppress=unknownMacro -Isrc -Iinclude src/base src/trace src/ledger \
		src/view src/cli src/symbol src/table src/plot src/capture/ebpf src/capture/nsys src/guest
	say $? "cppcheck"
fi
if command -v clang-tidy >/dev/null; then
	clang-tidy -p "$build-lint-clang" --quiet --checks='-*,clang-analyzer-core*,clang-analyzer-unix*' \
		--warnings-as-errors='*' src/trace/*.c src/ledger/*.c \
		src/guest/*.c src/base/*.c src/table/*.c >"$build-tidy.log" 2>/dev/null ||
		{ cat "$build-tidy.log"; false; }
	say $? "clang-tidy"
	rm -f "$build-tidy.log"
fi
exit $failed
