#!/usr/bin/python3
"""Proves that clang, with the project's warnings, refuses a bad snippet for each warning that clang-tidy is not asked
for because of it, and accepts a good one.

warnings_fire.py COMPILER FLAG...
"""

import subprocess
import sys

BAD = {
    "empty-body": "void g();\nvoid f(int a);\nvoid f(int a) { if (a > 3); g(); }",
    "zero-as-null-pointer-constant": "int* f();\nint* f() { return 0; }",
}
GOOD = "void g();\nint* f(int a);\nint* f(int a) {\n  if (a > 3) g();\n  return nullptr;\n}\n"


def compiled(command, text):
    return subprocess.run([*command, "-std=c++23", "-fsyntax-only", "-x", "c++", "-"], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def main():
    command = sys.argv[1:]
    wrong = []
    for warning, text in BAD.items():
        done = compiled(command, text)
        if done.returncode == 0 or f"-Werror={warning}" not in done.stdout.replace("-Werror,-W", "-Werror="):
            wrong.append(f"-W{warning} did not refuse its snippet:\n{done.stdout}")
    done = compiled(command, GOOD)
    if done.returncode != 0:
        wrong.append(f"good code is refused:\n{done.stdout}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
