#!/usr/bin/env bash
# From a clone to the first real table: installs what is missing, builds the bundled
# executable, and runs the SGEMM ladder on the GPU, or on the CPU where there is none.
#
# usage: scripts/quickstart.sh [--cuda] [--build DIR]
#   --cuda       if there is no nvcc, install one (PyPI's packages) into the project's .venv
#   --build DIR  build here instead of in build
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() { sed -n '5,7s/^# //p' "${BASH_SOURCE[0]}"; }

want_cuda=
build=
while [ $# -gt 0 ]; do
    case $1 in
    --cuda) want_cuda=1 ;;
    --build)
        [ -n "${2-}" ] || die 2 "--build needs a folder"
        build=$(realpath -m "$2")
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        die 2 "unknown argument: $1"
        ;;
    esac
    shift
done
build=${build:-$root/build}
cd "$root"

need "${build_packages[@]}"
want_optional_packages

if [ -n "$want_cuda" ] && ! use_system_toolkit; then
    install_venv_toolkit
fi
cuda=disabled
if use_toolkit; then
    cuda=enabled
fi
if [ $cuda = enabled ]; then
    say "nvcc $(nvcc_version nvcc): $(command -v nvcc)"
else
    say "no nvcc 12.4 or newer: building without CUDA (scripts/quickstart.sh --cuda installs one into .venv)"
fi

say "building in $build (log: $build.log)"
configure "$build" -Dlink=bundled -Dcuda=$cuda -Dtests=false || die 1 "the build could not be configured"
compile "$build" || die 1 "the build failed"
rung=$build/rung

# Prints the command it runs, so that what was seen can be done again by hand.
show() {
    say ""
    say "\$ ${*/#"$root/"/}"
    "$@"
}

has_emu() { "$rung" list --device emu --json 2>/dev/null | grep -q '"emu"'; }

if [ $cuda = enabled ] && has_gpu; then
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >&2
    show "$rung" ladder sgemm --shapes 1024,2048,4096
    exit
fi

show "$rung" list
if has_emu; then
    show "$rung" check --family sgemm --device emu
fi
show "$rung" ladder sgemm --device cpu
say ""
if has_gpu; then
    say "The GPU was not used: this build has no CUDA, for want of nvcc (scripts/quickstart.sh --cuda installs one)."
else
    say "These are CPU kernels and CPU times: nvidia-smi lists no GPU on this machine."
fi
