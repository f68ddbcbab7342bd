"""git clone of a local repository into the mount, fsck, a commit, and a parallel build with make there."""

import os

from harness.client import Lab, drop_caches, equal, expect, run, skip, step, write_file

RUNS = ("ext4", "ext4,4.2")
TAKES_S = 30
TIMEOUT_S = 300

UNITS = 6
ORIGIN = "/run/tmp/origin"
MAKEFILE = f"""OBJECTS = main.o {' '.join(f'unit{n}.o' for n in range(UNITS))}
program: libunits.a main.o
\t$(CC) -o $@ main.o libunits.a
libunits.a: $(filter-out main.o,$(OBJECTS))
\tar rcs $@ $^
%.o: %.c units.h
\t$(CC) -O1 -c -o $@ $<
clean:
\trm -f *.o *.a program
"""


def make_origin():
    os.mkdir(ORIGIN)
    for unit in range(UNITS):
        source = f'#include "units.h"\nint unit{unit}(int x) {{ return x + {unit}; }}\n'
        write_file(f"{ORIGIN}/unit{unit}.c", source.encode())
    write_file(f"{ORIGIN}/units.h", "".join(f"int unit{n}(int);\n" for n in range(UNITS)).encode())
    calls = "".join(f"  x = unit{n}(x);\n" for n in range(UNITS))
    write_file(f"{ORIGIN}/main.c", f'#include <stdio.h>\n#include "units.h"\nint main(void) {{\n  int x = 0;\n{calls}'
               '  printf("%d\\n", x);\n  return 0;\n}\n'.encode())
    write_file(f"{ORIGIN}/Makefile", MAKEFILE.encode())
    run("git", "init", "-q", ORIGIN)
    for round_ in range(3):
        write_file(f"{ORIGIN}/notes", f"round {round_}\n".encode() * 1000)
        run("git", "-C", ORIGIN, "add", ".")
        run("git", "-C", ORIGIN, "commit", "-q", "-m", f"round {round_}")


for tool in ("git", "make", "cc", "ar"):
    if not any(os.access(f"{path}/{tool}", os.X_OK) for path in os.environ["PATH"].split(":")):
        skip(f"{tool} is not installed")
for who in ("AUTHOR", "COMMITTER"):
    os.environ[f"GIT_{who}_NAME"] = os.environ[f"GIT_{who}_EMAIL"] = "interop"
os.environ["GIT_CONFIG_COUNT"] = "1"
os.environ["GIT_CONFIG_KEY_0"], os.environ["GIT_CONFIG_VALUE_0"] = "safe.directory", "*"

lab = Lab()
mnt = lab.ready()
make_origin()

step("clone")
clone = f"{mnt}/clone"
run("git", "clone", "-q", "--no-local", ORIGIN, clone)
run("git", "-C", clone, "fsck", "--strict")
drop_caches()
equal(run("git", "-C", clone, "status", "--porcelain"), "", "git status after the clone")

step("build")
run("make", "-s", "-j3", cwd=clone)
equal(run(f"{clone}/program").strip(), str(sum(range(UNITS))), "what the built program prints")
expect("up to date" in run("make", cwd=clone), "make builds again what is up to date")

step("commit and collect")
write_file(f"{clone}/notes", b"changed\n")
run("git", "-C", clone, "add", "notes")
run("git", "-C", clone, "commit", "-q", "-m", "change")
run("git", "-C", clone, "gc", "-q")
run("git", "-C", clone, "fsck", "--strict")
equal(run("git", "-C", clone, "log", "--oneline").count("\n"), 4, "commits")
run("make", "-s", "clean", cwd=clone)
drop_caches()
equal(run("git", "-C", clone, "status", "--porcelain"), "", "git status at the end")
