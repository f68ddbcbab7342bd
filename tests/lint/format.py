#!/usr/bin/python3
"""Fails when clang-format would change a file.

format.py ROOT CLANG_FORMAT
"""

import os
import subprocess
import sys

import sources

root, clang_format = sys.argv[1:]
files = [os.path.join(root, path) for path in sources.paths(root)]
sys.exit(subprocess.run([clang_format, "--dry-run", "-Werror", *files], check=False).returncode)
