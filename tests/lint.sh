#!/bin/sh
# lint.sh BUILD_DIR - formatting, warnings of two compilers, static analysis.
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
		--suppress=unknownMacro -Isrc -Iinclude src/base src/trace src/ledger src/view src/cli src/symbol \
		src/table src/plot
	say $? "cppcheck"
fi
if command -v clang-tidy >/dev/null; then
	clang-tidy -p "$build-lint-clang" --quiet --checks='-*,clang-analyzer-core*,clang-analyzer-unix*' \
		--warnings-as-errors='*' src/trace/*.c src/ledger/*.c src/guest/*.c src/base/*.c >"$build-tidy.log" 2>/dev/null ||
		{ cat "$build-tidy.log"; false; }
	say $? "clang-tidy"
	rm -f "$build-tidy.log"
fi
exit $failed
