# shellcheck shell=bash
# What quickstart.sh and test.sh share: what a machine has, what it lacks, how it is installed,
# and how a build folder is made. Sourced, never run. Needs bash 4.4, which is older than
# anything that has the compilers.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv

# Progress goes to stderr, results to stdout.
say() { printf '%s\n' "$*" >&2; }
die() {
    local code=$1
    shift
    say "error: $*"
    exit "$code"
}
have() { command -v "$1" >/dev/null 2>&1; }
version_ge() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# ---- what the machine has -------------------------------------------------------------

has_header() { printf '#include <%s>\n' "$2" | cc -E -x "$1" - >/dev/null 2>&1; }

# The python that has pytest: Debian's package belongs to Debian's python.
pytest_python() {
    local p
    for p in python3 /usr/bin/python3 "$venv/bin/python"; do
        if have "$p" && "$p" -c 'import pytest' 2>/dev/null; then
            echo "$p"
            return
        fi
    done
    return 1
}

# Is what this Debian package provides here, wherever it came from?
provided() {
    case $1 in
    build-essential) have cc && have c++ && has_header c stdio.h && has_header c++ vector ;;
    meson) have meson && version_ge "$(meson --version)" 1.0 ;;
    ninja-build) have ninja ;;
    pkg-config | git | python3) have "$1" ;;
    python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    python3-pytest) pytest_python >/dev/null ;;
    python3-jsonschema) pytest_python >/dev/null && "$(pytest_python)" -c 'import jsonschema' 2>/dev/null ;;
    libjansson-dev) has_header c jansson.h ;;
    libcmocka-dev) printf '%s\n' '#include <stdarg.h>' '#include <stddef.h>' \
        '#include <stdint.h>' '#include <setjmp.h>' '#include <cmocka.h>' |
        cc -E -x c - >/dev/null 2>&1 ;;
    libboost-context-dev) has_header c++ boost/context/fiber.hpp ;;
    libopenblas0-pthread) python3 -c 'import ctypes; ctypes.CDLL("libopenblas.so.0")' 2>/dev/null ;;
    *) die 1 "lib.sh does not know how to look for $1: add it to provided()" ;;
    esac
}

missing_of() {
    local p
    for p in "$@"; do
        provided "$p" || echo "$p"
    done
}

# ---- Debian packages ------------------------------------------------------------------

apt_updated=

# Runs a command as root. Needs no input: a sudo that would ask for a password does not count.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}
can_install() { have apt-get && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; }

apt_install() {
    local p log
    log=$(mktemp)
    if [ -z "$apt_updated" ]; then
        say "apt-get update"
        as_root apt-get update -q >"$log" 2>&1 ||
            say "apt-get update failed ($(grep -m 1 '^E:' "$log")); going on with the lists that are here"
        apt_updated=1
    fi
    for p in "$@"; do
        say "installing $p (Debian package)"
    done
    if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
        --no-install-recommends "$@" >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        die 6 "apt-get could not install $*: see above, or install them by hand"
    fi
    rm -f "$log"
    hash -r
}

# need PACKAGE...: installs what is missing, or says exactly what is and stops with 6.
need() {
    local missing
    mapfile -t missing < <(missing_of "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    can_install ||
        die 6 "missing, and there is no root here to install them: as root, apt-get install ${missing[*]}"
    apt_install "${missing[@]}"
    mapfile -t missing < <(missing_of "${missing[@]}")
    [ ${#missing[@]} -eq 0 ] ||
        die 6 "installed but still not usable: ${missing[*]}; an older one may stand before it in PATH"
}

# want PACKAGE WHAT: the same for one that can be done without; WHAT is lost then.
want() {
    if provided "$1"; then
        return 0
    elif can_install; then
        apt_install "$1"
    else
        say "without $1 $2; as root, apt-get install $1"
    fi
}

# shellcheck disable=SC2034 # used where this is sourced
build_packages=(build-essential meson ninja-build pkg-config python3 git libjansson-dev)
want_optional_packages() {
    want libboost-context-dev "there is no emu device"
    want libopenblas0-pthread "kernel c0 is unavailable"
}

# ---- the CUDA toolkit -----------------------------------------------------------------

has_gpu() { have nvidia-smi && nvidia-smi -L 2>/dev/null | grep -q '^GPU '; }

# Home of the toolkit that PyPI's packages make in the project's environment, if it is there.
venv_toolkit() {
    local d
    for d in "$venv"/lib/python3*/site-packages/nvidia/cu13; do
        if [ -x "$d/bin/nvcc" ]; then
            echo "$d"
            return
        fi
    done
    return 1
}

# The packages have lib where nvcc.profile says lib64, and no names to link against.
complete_venv_toolkit() {
    local home=$1 lib
    [ -e "$home/lib64" ] || ln -s lib "$home/lib64"
    for lib in "$home"/lib/lib*.so.[0-9]*; do
        [ -e "${lib%%.so.*}.so" ] || ln -s "${lib##*/}" "${lib%%.so.*}.so"
    done
}

# What a shell needs to build with that toolkit, and k0 to find its cuBLAS.
write_venv_env() {
    cat >"$venv/cuda.sh" <<END
export CUDA_HOME="$1"
export PATH="\$CUDA_HOME/bin:\$PATH"
export LD_LIBRARY_PATH="\$CUDA_HOME/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
END
}

# Lines of a requirements file that the environment does not have at that version.
missing_requirements() {
    "$venv/bin/python" - "$@" <<'END'
import sys
from importlib.metadata import PackageNotFoundError, version
for name in sys.argv[1:]:
    for line in open(name, encoding="utf-8"):
        want = line.split("#")[0].strip()
        if not want:
            continue
        package, pinned = want.split("==")
        try:
            if version(package) == pinned:
                continue
        except PackageNotFoundError:
            pass
        print(want)
END
}

install_venv_toolkit() {
    local files=("$root/scripts/requirements-cuda.txt") wanted p driver
    if has_gpu; then
        files+=("$root/scripts/requirements-cublas.txt")
        driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
        version_ge "$driver" 580 ||
            say "the driver here is $driver: what CUDA 13.0 compiles needs 580 or newer to run"
    fi
    need python3 python3-venv
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv" ||
        die 1 "python3 -m venv could not make $venv: remove it and try again"
    mapfile -t wanted < <(missing_requirements "${files[@]}")
    for p in "${wanted[@]}"; do
        say "installing $p (PyPI, into .venv)"
    done
    if [ ${#wanted[@]} -gt 0 ]; then
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
            --no-deps "${wanted[@]}" >&2 ||
            die 6 "pip could not install the CUDA toolkit into $venv: see above"
    fi
    venv_toolkit >/dev/null || die 1 "the CUDA packages in $venv hold no nvcc: remove it and try again"
}

# Empty where there is no nvcc, or one that does not start.
nvcc_version() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p' || true; }
new_enough() { version_ge "$(nvcc_version "$1")" 12.4; }

# Put a toolkit on PATH; 1 where there is none, or only one that is too old. The machine's own
# (on PATH, or in the usual place) goes before the one in the environment.
use_system_toolkit() {
    local home=${CUDA_HOME:-/usr/local/cuda}
    if ! new_enough nvcc; then
        new_enough "$home/bin/nvcc" || return 1
        export PATH="$home/bin:$PATH"
    fi
}
use_venv_toolkit() {
    local home
    home=$(venv_toolkit) || return 1
    complete_venv_toolkit "$home"
    write_venv_env "$home"
    # shellcheck source=/dev/null
    . "$venv/cuda.sh"
    new_enough nvcc
}
use_toolkit() { use_system_toolkit || use_venv_toolkit; }

# ---- build folders ---------------------------------------------------------------------

# configure DIR OPTION...: makes or refreshes a build folder, so that new kernel files are
# seen. Another compiler means a new folder: Meson keeps the old one's answers.
configure() {
    local dir=$1 stamp
    shift
    stamp="$* nvcc=$(command -v nvcc || true) cc=$(command -v cc) meson=$(meson --version)"
    if [ -e "$dir/build.ninja" ] && [ "$(cat "$dir/configured-by" 2>/dev/null)" = "$stamp" ]; then
        logged "$dir.log" meson setup --reconfigure "$dir" "$root"
    elif [ -e "$dir/meson-private/coredata.dat" ]; then
        logged "$dir.log" meson setup --wipe "$dir" "$root" "$@"
    else
        logged "$dir.log" meson setup "$dir" "$root" "$@"
    fi || return 1
    printf '%s\n' "$stamp" >"$dir/configured-by"
}

# Ninja draws its one line on a terminal; elsewhere only failures are worth a line.
compile() {
    if [ -t 2 ]; then
        ninja -C "$1" 1>&2
    else
        logged "$1.log" ninja -C "$1"
    fi
}

# Runs a command into a log file; its end is shown if the command fails.
logged() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 && return 0
    tail -n 40 "$log" >&2
    say "failed: $* (all of it in $log)"
    return 1
}
