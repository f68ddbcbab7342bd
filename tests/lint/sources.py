"""The C++ files of the project, as (path relative to the root, lines), and what a build directory compiles of them."""

import dataclasses
import json
import os
import re

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))

# A folder of sources has its own CMakeLists.txt.
FOLDERS = sorted(name for name in os.listdir(ROOT) if os.path.exists(os.path.join(ROOT, name, "CMakeLists.txt")))


def paths(root):
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith((".cc", ".h")):
                    yield os.path.relpath(os.path.join(directory, name), root)


def files(root):
    for path in paths(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            yield path, file.read().split("\n")


@dataclasses.dataclass
class Unit:
    """A translation unit: a source, or a batch of them (BRAID_UNITY)."""
    path: str       # absolute
    sources: list   # of the project, relative to its root; empty for generated ones
    command: str
    directory: str  # in which it is called


def units(build):
    """The translation units of a build directory, from its compilation database."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    out = []
    for entry in entries:
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        members = [path]
        if re.search(r"/Unity/unity_\d+_cxx\.cxx$", path):
            with open(path, encoding="utf-8") as file:
                members = re.findall(r'^#include "(.+)"$', file.read(), re.MULTILINE)
        inside = [os.path.relpath(os.path.realpath(m), ROOT) for m in members]
        build_below = os.path.relpath(os.path.realpath(build), ROOT) + os.sep
        inside = [m for m in inside if not m.startswith(("..", build_below))]
        out.append(Unit(path, inside, entry["command"], entry["directory"]))
    return out
