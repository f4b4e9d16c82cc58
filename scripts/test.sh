#!/usr/bin/env bash
# Builds both link modes and a sanitized build, runs every test that needs no GPU, and ends
# with one line: N passed, N failed.
#
# usage: scripts/test.sh      again is quick: build folders are kept, and nothing is fetched
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"

[ $# = 0 ] || die 2 "usage: scripts/test.sh (it takes no arguments)"

reports=()     # what the tests left, counted at the end
broken=0       # builds that failed: each counts as a failed test

# build DIR OPTION...
build() {
    local dir=$1
    say "building $dir"
    rm -f "$dir/meson-logs/testlog.json"
    if configure "$@" && compile "$dir"; then
        return 0
    fi
    broken=$((broken + 1))
    return 1
}

# Its report says what failed, so its exit code is not needed; the end of the log is shown.
meson_test() {
    local dir=$1
    say "testing $dir"
    meson test -C "$dir" --no-rebuild --print-errorlogs --quiet >&2 || true
    reports+=("$dir/meson-logs/testlog.json")
}

# python_tests FOLDER EXE [FILE...]: the tests in FOLDER, or only these, on one executable.
python_tests() {
    local folder=$1 exe=$2 report=$2.${1##*/}.xml code=0
    shift 2
    [ $# -gt 0 ] || set -- "$folder"
    say "$folder on $exe"
    rm -f "$report"
    RUNG=$root/$exe RUNG_SOURCE=$root "$(pytest_python)" -m pytest -q -p no:cacheprovider "$@" \
        --junitxml "$report" >"$report.log" 2>&1 || code=$?
    [ $code = 0 ] || tail -n 60 "$report.log" >&2
    reports+=("$report")
}

need "${build_packages[@]}" libcmocka-dev python3-pytest python3-jsonschema
want_optional_packages
cuda=disabled
if use_toolkit; then
    cuda=enabled
else
    say "no nvcc 12.4 or newer: the CUDA kernels are not compiled (scripts/quickstart.sh --cuda installs one)"
fi

# A sanitizer that only prints would let a fault pass.
export ASAN_OPTIONS=abort_on_error=1:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1
export PYTHONDONTWRITEBYTECODE=1

if build build-test -Dlink=both -Dcuda=$cuda -Dwerror=true; then
    meson_test build-test
    python_tests tests/cli build-test/rung
    python_tests tests/cli build-test/modules/rung tests/cli/test_bad_plugins.py tests/cli/test_cli.py
    python_tests tests/emu build-test/rung
    python_tests tests/scripts build-test/rung
fi
if build build-asan -Db_sanitize=address,undefined -Db_lundef=false -Dcuda=disabled -Dwerror=true; then
    meson_test build-asan
    python_tests tests/cli build-asan/rung
    python_tests tests/emu build-asan/rung
fi
# Every access of an emulated kernel is watched.
if build build-races -Demu_races=true -Dcuda=disabled -Dwerror=true; then
    python_tests tests/emu build-races/rung
fi

read -r passed failed skipped < <(scripts/count_tests.py "${reports[@]}")
failed=$((failed + broken))
[ "$skipped" = 0 ] || say "$skipped skipped: their reasons are in the reports and logs"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
