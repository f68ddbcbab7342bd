"""bench/iozone with a stand-in for IOzone, which prints tables of the shape that IOzone 3.506 prints."""

import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../bench/iozone")

STAND_IN = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
case " $* " in
  *" -t "*)
    printf '\\tChildren see throughput for  2 initial writers \\t=  204800.50 kB/sec\\n'
    printf '\\tParent sees throughput for  2 initial writers \\t=  1000.00 kB/sec\\n'
    printf '\\tChildren see throughput for 2 readers \\t\\t=  409600.00 kB/sec\\n' ;;
  *)
    echo '              kB  reclen    write  rewrite    read    reread'
    echo '              64       4    10240    20480    30720    40960'
    echo '             128       4    51200    61440    71680   819200' ;;
esac
echo 'iozone test complete.'
"""


class IozoneTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.mount = os.path.join(self.directory.name, "mount")
        os.mkdir(self.mount)
        self.iozone = os.path.join(self.directory.name, "iozone")
        self.install(STAND_IN)

    def tearDown(self):
        self.directory.cleanup()

    def install(self, text):
        with open(self.iozone, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.iozone, 0o755)

    def bench(self, *arguments, iozone=None):
        command = [sys.executable, "-B", PROGRAM, self.mount, "--out", os.path.join(self.directory.name, "out"),
                   "--iozone", iozone or self.iozone, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def test_tables_of_all_modes_become_one_summary(self):
        done = self.bench("--tests", "0,1", "--size-max", "128k", "--throughput-size", "64k", "--processes", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        for mode in ("auto", "direct"):
            start = lines.index(f"reread, {mode} mode: MiB/s by file size (rows) and record size (columns)")
            self.assertEqual([line.split() for line in lines[start + 1:start + 4]],
                             [["file", "4K"], ["64K", "40.0"], ["128K", "800"]])
        start = next(i for i, line in enumerate(lines) if line.startswith("throughput mode: "))
        self.assertEqual([line.split() for line in lines[start + 1:start + 4]],
                         [["processes", "2"], ["initial", "writers", "200"], ["readers", "400"]])
        self.assertEqual(os.listdir(self.mount), [])
        self.assertEqual(sorted(os.listdir(os.path.join(self.directory.name, "out"))),
                         ["auto.txt", "direct.txt", "summary.txt", "throughput-2.txt"])

    def test_direct_mode_asks_for_direct_io(self):
        self.bench("--modes", "auto,direct", "--tests", "0,1", "--size-max", "128k")
        with open(os.path.join(self.directory.name, "calls"), encoding="utf-8") as calls:
            self.assertEqual([" -I " in call for call in calls], [False, True])

    def test_files_that_find_no_room_are_refused_before_they_are_written(self):
        for arguments in (["--size-max", "1000000g"], ["--throughput-size", "1000000g"]):
            done = self.bench("--processes", "1", *arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn("1000000G of files are to be written", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.directory.name, "calls")))
        self.assertEqual(os.listdir(self.mount), [])

    def test_a_mode_that_is_not_run_needs_no_room(self):
        done = self.bench("--modes", "auto", "--tests", "0,1", "--size-max", "128k", "--throughput-size", "1000000g")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_run_that_fails_is_an_error_that_shows_why(self):
        self.install("#!/bin/sh\necho 'Error writing block 3'\nexit 28\n")
        done = self.bench("--size-max", "128k", "--processes", "1", "--throughput-size", "64k")
        self.assertEqual(done.returncode, 1)
        self.assertIn("iozone ended with status 28", done.stderr)
        self.assertIn("Error writing block 3", done.stderr)

    def test_without_the_program_it_says_so(self):
        done = self.bench(iozone="/nonexistent/iozone")
        self.assertEqual((done.returncode, done.stderr), (1, "bench/iozone: /nonexistent/iozone is not a program\n"))


if __name__ == "__main__":
    unittest.main()
