#!/usr/bin/python3
"""scripts/serve with a ninja and a braid that only say what they are called with."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
LOOK = "[0/2] Re-checking globbed directories...\n[1/2] Re-running CMake...\n-- Configuring done\n"
BUILDING = "== Building build/release/braid"


def program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/bash\n" + text)
    os.chmod(path, 0o755)


class Serve(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copytree(os.path.join(ROOT, "scripts"), os.path.join(self.root, "scripts"))
        build = os.path.join(self.root, "build/release")
        os.makedirs(build)
        with open(os.path.join(build, "build.ninja"), "wb"):
            pass
        program(os.path.join(build, "braid"), 'printf "<%s>" "$@"\n')
        self.tools = os.path.join(self.root, "tools")
        os.mkdir(self.tools)
        program(os.path.join(self.tools, "dpkg-query"), 'echo "install ok installed"\n')

    def serve(self, ninja_says, *arguments, code=0):
        with open(os.path.join(self.root, "said"), "w", encoding="utf-8") as file:
            file.write(ninja_says)
        program(os.path.join(self.tools, "ninja"), f'cat "{self.root}/said"\nexit {code}\n')
        return subprocess.run([os.path.join(self.root, "scripts/serve"), *arguments], capture_output=True, text=True,
                              timeout=60, check=False,
                              env={**os.environ, "PATH": self.tools + ":" + os.environ["PATH"]})

    def test_a_look_at_the_sources_is_no_build(self):
        for said in ("ninja: no work to do.\n", LOOK + "ninja: no work to do.\n"):
            done = self.serve(said, "/")
            self.assertNotIn(BUILDING, done.stderr)
            self.assertIn("build/release/braid is up to date", done.stderr)
            self.assertEqual(done.stdout, "<serve></>")

    def test_a_build_is_announced_once_and_shown(self):
        done = self.serve(LOOK + "[1/2] Building CXX object x.o\n[2/2] Linking CXX executable braid\n", "/", "--port", "9")
        self.assertEqual(done.stderr.count(BUILDING), 1)
        self.assertIn("[2/2] Linking CXX executable braid", done.stderr)
        self.assertNotIn("up to date", done.stderr)
        self.assertEqual(done.stdout, "<serve></><--port><9>")

    def test_nothing_is_served_after_a_build_that_failed(self):
        done = self.serve("FAILED: x.o\n", "/", code=1)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("FAILED: x.o", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
