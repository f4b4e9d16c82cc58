#!/usr/bin/env bash
# The tests that need a GPU, on what is built: every kernel against its reference in each link
# mode, the cuda device, then compute-sanitizer's memcheck and racecheck, whose summaries are
# counted, since their exit code is 0 either way.
#
# usage: scripts/test_gpu.sh [BUILD] [OUT]
#   BUILD  a build folder made with -Dlink=both (build)
#   OUT    where logs and results go (BUILD/gpu)
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=${1:-$root/build}
out=${2:-$build/gpu}
mkdir -p "$out"
passed=0
failed=0

# verdict NAME OK: one line, counted.
verdict() {
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
        say "ok      $1"
    else
        failed=$((failed + 1))
        say "FAILED  $1 (see $out)"
    fi
}

# run NAME COMMAND...: its output goes to OUT/NAME.txt.
run() {
    local name=$1 code=0
    shift
    "$@" >"$out/$name.txt" 2>"$out/$name.err" || code=$?
    verdict "$name: ${*##*/}" $code
}

# sanitize NAME TOOL PATTERN COMMAND...: passes if a summary is there, and it says nothing else.
sanitize() {
    local name=$1 tool=$2 pattern=$3 code=0
    shift 3
    compute-sanitizer --tool "$tool" "$@" >"$out/$name.txt" 2>&1 || code=$?
    [ $code = 0 ] && grep -Eq "$pattern" "$out/$name.txt" || code=1
    verdict "$name: $(grep -E 'SUMMARY' "$out/$name.txt" || echo 'no summary')" $code
}
clean_mem='ERROR SUMMARY: 0 errors$'
clean_race='RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\)'

has_gpu || die 1 "nvidia-smi lists no GPU on this machine"
[ -x "$build/rung" ] || die 2 "$build/rung is not there: build first (meson setup build -Dlink=both)"

for exe in "$build/rung" "$build/modules/rung"; do
    [ -x "$exe" ] || continue
    mode=bundled
    [ "$exe" = "$build/rung" ] || mode=modules
    run "check-$mode" "$exe" check --device cuda --quiet
    run "run-k7-$mode" "$exe" run k7 4096 5
done
if [ -e "$build/tests/rung-badlaunch.cuda.so" ]; then
    code=0
    RUNG_PLUGIN_PATH=$build/tests "$build/modules/rung" run badlaunch 64 >"$out/badlaunch.txt" 2>&1 || code=$?
    [ $code = 1 ] && grep -q 'invalid' "$out/badlaunch.txt" || code=2
    verdict "an invalid launch in a module is seen by the core" $((code - 1))
fi
# The probe for TF32 must see it where it is allowed, or it could not be believed.
RUNG_TF32_CONTROL=1 "$build/rung" run k0 256 1 --json >"$out/tf32.json" 2>&1 || true
code=0
grep -q '"tf32_probe": "exact"' "$out/tf32.json" && grep -q '"tf32_control": "rounded"' "$out/tf32.json" || code=1
verdict "TF32: exact in pedantic mode, seen by the probe where it is asked for" $code
if [ -x "$build/tests/test_device" ]; then
    run device "$build/tests/test_device" cuda
fi
if have compute-sanitizer; then
    # Racecheck is slow: shapes with every kind of edge, but small.
    declare -A small=([sgemm]=64x64x64,129x127x33,132x260x20,300x130x1,1x300x65
        [rmsnorm]=8x1000,3x2049,2x8193,5x31 [softmax]=8x1000,3x2049,2x8193,5x31)
    for family in $("$build/rung" list --json | python3 -c '
import json, sys
print(*sorted({k["family"] for k in json.load(sys.stdin)["kernels"] if k["target"] == "cuda"}))'); do
        check=("$build/rung" check --family "$family" --device cuda --quiet)
        sanitize "memcheck-$family" memcheck "$clean_mem" "${check[@]}"
        check+=(--shapes "${small[$family]}")
        sanitize "racecheck-$family" racecheck "$clean_race" "${check[@]}"
    done
else
    verdict "compute-sanitizer is not installed" 1
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
