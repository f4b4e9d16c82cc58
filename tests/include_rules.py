#!/usr/bin/env python3
"""Who may include whom (docs/decisions, DESIGN of the house). Exits 1 and names each breach."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
CUDA = re.compile(r"^(cuda|cublas|cooperative_groups|mma|nvml|nvrtc)[\w/]*(\.h)?$")
MAY_USE_CUDA = {"core/device_cuda.c", "plugins/sgemm/k0_cublas.cu"}
CODE = {".c", ".h", ".cu", ".cuh", ".cpp"}
breaches = []


def breach(path, name, why):
    breaches.append(f"{path}: includes {name}: {why}")


def check(path, names):
    top = path.split("/")[0]
    for name in names:
        own = (ROOT / path).parent / name
        if CUDA.match(name) and not own.exists() and path not in MAY_USE_CUDA and not path.startswith("core/cuda/"):
            breach(path, name, "only device_cuda.c, core/cuda/ and k0 use CUDA's headers")
        if "plugins/" in name:
            breach(path, name, "nothing includes a plugin")
        if top == "core" and ("harness/" in name or (ROOT / "harness" / name).exists()):
            breach(path, name, "core never includes harness")
        if path.startswith("core/include/rung/") and "/" in name and not name.startswith("rung/"):
            breach(path, name, "public headers use libc and each other")
        if top == "plugins" and not name.startswith("rung/"):
            local = name.endswith(".cuh")
            system = "/" not in name and not (ROOT / "core" / name).exists()
            if not local and not system:
                breach(path, name, "plugins include rung/* and their own .cuh")


def main():
    files = [p for top in ("core", "harness", "plugins") for p in (ROOT / top).rglob("*")
             if p.suffix in CODE]
    for p in files:
        path = p.relative_to(ROOT).as_posix()
        text = p.read_text(encoding="utf-8")
        check(path, INCLUDE.findall(text))
        if path.startswith("core/runner") and re.search(r"^\s*#\s*(if|ifdef|ifndef)\b(?! *RUNG_RUNNER_H)",
                                                        text, re.M):
            breaches.append(f"{path}: the runner has no conditional compilation")
    print("\n".join(breaches) or f"{len(files)} files keep the include rules")
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main())
