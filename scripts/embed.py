#!/usr/bin/env python3
"""Write text files as C strings: embed.py OUT.c NAME=FILE..."""
import sys


def literal(text):
    lines = []
    for line in text.splitlines():
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
        lines.append(f'    "{escaped}\\n"')
    return "\n".join(lines)


def main(out, pairs):
    with open(out, "w", encoding="utf-8") as f:
        for pair in pairs:
            name, path = pair.split("=", 1)
            with open(path, encoding="utf-8") as src:
                f.write(f"extern const char {name}[];\nconst char {name}[] =\n"
                        f"{literal(src.read())};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
