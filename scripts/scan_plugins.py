#!/usr/bin/env python3
"""List the plugin sources of a tree for the build.

One line a source: id, language (cu or c), 1 if emu can run it, extra archs, path; separated by
tabs. The id is read from the line `RUNG_PLUGIN(id) = {`, so that a new kernel is one
new file and no other is edited. Extra machine code is asked for by a line such as
`// rung-archs: sm_90a`.
"""
import pathlib
import re
import sys

DECLARES = re.compile(r"^RUNG_PLUGIN\((\w+)\)", re.M)
EXTRA_ARCHS = re.compile(r"^//\s*rung-archs:\s*(.+)$", re.M)
# What emu lacks; a source that names one of these in its descriptor is not compiled for it.
NOT_ON_EMU = re.compile(r"RUNG_NEED_(INLINE_PTX|TMA|CLUSTERS|TENSOR_CORES|CUDA_LIBRARY)")


def main(root):
    seen = {}
    for path in sorted(pathlib.Path(root).glob("*/*.c*")):
        if path.suffix not in (".cu", ".c"):
            continue
        text = path.read_text(encoding="utf-8")
        ids = DECLARES.findall(text)
        if not ids:
            continue
        if len(ids) > 1:
            sys.exit(f"{path}: declares {len(ids)} plugins ({', '.join(ids)}); one file, one plugin")
        ident = ids[0]
        if ident in seen:
            sys.exit(f"{path}: declares {ident}, as {seen[ident]} does; "
                     f"give the copy its own id in RUNG_PLUGIN(...) and in .id")
        seen[ident] = path
        on_emu = path.suffix == ".cu" and not NOT_ON_EMU.search(text)
        archs = EXTRA_ARCHS.search(text)
        print(ident, path.suffix[1:], int(on_emu), archs.group(1).strip() if archs else "",
              path, sep="\t")


if __name__ == "__main__":
    main(sys.argv[1])
