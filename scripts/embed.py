#!/usr/bin/env python3
"""Write text files as C strings: embed.py OUT.c NAME=FILE... [NAME[] FILE...]

`NAME[]` makes one table of {name without suffix, text} of all files that follow it, ended by
a NULL name.
"""
import pathlib
import sys


def literal(text):
    lines = []
    for line in text.splitlines():
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
        lines.append(f'    "{escaped}\\n"')
    return "\n".join(lines)


def main(out, pairs):
    with open(out, "w", encoding="utf-8") as f:
        table = next((i for i, p in enumerate(pairs) if p.endswith("[]")), len(pairs))
        for pair in pairs[:table]:
            name, path = pair.split("=", 1)
            with open(path, encoding="utf-8") as src:
                f.write(f"extern const char {name}[];\nconst char {name}[] =\n"
                        f"{literal(src.read())};\n")
        if table < len(pairs):
            name = pairs[table][:-2]
            f.write(f"extern const char *const {name}[][2];\nconst char *const {name}[][2] = {{\n")
            for path in map(pathlib.Path, pairs[table + 1:]):
                f.write(f'{{"{path.stem}",\n{literal(path.read_text(encoding="utf-8"))}}},\n')
            f.write("{0, 0}};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
