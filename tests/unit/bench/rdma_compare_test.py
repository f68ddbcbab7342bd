"""bench/rdma_compare: what it makes of measurements, without measuring."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TREE = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
sys.path += [os.path.join(TREE, "tests/interop"), os.path.join(TREE, "bench")]

import rdma_compare_inside as inside  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("rdma_compare", os.path.join(TREE, "bench/rdma_compare"))
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("rdma_compare", LOADER))
LOADER.exec_module(compare)

COUNTERS = """{seconds} 0.00
cpu  {user} 10 200 1000 5 3 7 2 0 0
cpu0 1 2 3 4 5 6 7 8 0 0
intr 12345 6
ctxt {switches}
btime 1
"""


def sample(operations, seconds, busy_s):
    return {"operations": operations, "seconds": seconds, "busy_s": busy_s, "user_s": 0.1, "system_s": 0.2,
            "interrupt_s": 0.3, "idle_s": 0.4, "switches": 1000, "calls": 2 * operations}


def shown(results, second=compare.KNFSD):
    tables = compare.Tables(list(results), second, results)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        tables.show_all(1)
    return tables.missed, out.getvalue()


class TablesTest(unittest.TestCase):
    def test_ratios_at_the_marks_are_met(self):
        missed, text = shown({"read-256k": {"braid": [sample(80, 1, 1.0)], "knfsd": [sample(100, 1, 1.0)]}})
        self.assertEqual(missed, 0)
        self.assertRegex(text, r"READ 256 KiB sequential, depth 8 +20\.0 +25\.0 +0\.800 +>= 0\.80 +yes")
        self.assertRegex(text, r"READ 256 KiB sequential, depth 8 +12500 +10000 +1\.250 +<= 1\.25 +yes")

    def test_a_lower_rate_and_more_processor_time_are_each_missed(self):
        missed, text = shown({"create": {"braid": [sample(79, 1, 1.0)], "knfsd": [sample(100, 1, 1.0)]}})
        self.assertEqual(missed, 2)
        self.assertRegex(text, r"CREATE, depth 1 +79 +100 +0\.790 +>= 0\.80 +NO")

    def test_medians_of_the_rounds_count(self):
        knfsd = [sample(100, 1, 1.0)] * 3
        missed, _ = shown({"read-4k": {"braid": [sample(1, 1, 1.0), sample(100, 1, 1.0), sample(100, 1, 1.0)], "knfsd": knfsd}})
        self.assertEqual(missed, 0)

    def test_another_braid_has_marks_of_its_own(self):
        missed, text = shown({"create": {"braid": [sample(97, 1, 1.0)], "other": [sample(100, 1, 1.0)]}}, compare.OTHER_BRAID)
        self.assertEqual(missed, 2)
        self.assertRegex(text, r"CREATE, depth 1 +97 +100 +0\.970 +>= 0\.98 +NO")
        self.assertRegex(text, r"CREATE, depth 1 +10309 +10000 +1\.031 +<= 1\.02 +NO")

    def test_calls_are_told_per_operation(self):
        _, text = shown({"create": {"braid": [sample(80, 1, 1.0)], "knfsd": [sample(100, 1, 1.0)]}})
        self.assertRegex(text, r"CREATE, depth 1: knfsd .* 2\.00 +-")


class MachineTest(unittest.TestCase):
    def test_its_clock_counts_instructions_unless_this_computers_time_is_wanted(self):
        for arguments, counted in (([], True), (["--timed"], False)):
            with mock.patch.object(sys, "argv", ["rdma_compare", *arguments]):
                options = compare.parse_arguments()
            self.assertEqual("--counted" in compare.machine_of(options), counted)
            self.assertEqual(compare.settings_of(options)["placed"], not counted)

    def test_another_program_takes_the_place_of_knfsd(self):
        for arguments, servers, against in (([], ["braid", "knfsd"], None),
                                            (["--against", "/older/braid"], ["braid", "other"], "/older/braid")):
            with mock.patch.object(sys, "argv", ["rdma_compare", *arguments]):
                settings = compare.settings_of(compare.parse_arguments())
            self.assertEqual((settings["servers"], settings["against"]), (servers, against))


class CountersTest(unittest.TestCase):
    def test_time_is_told_by_kind(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(COUNTERS.format(seconds=12.5, user=90, switches=777))
            file.flush()
            numbers = inside.numbers_of(file.name)
        tick = 1 / inside.TICKS_PER_S
        self.assertEqual((numbers["seconds"], numbers["switches"]), (12.5, 777))
        for name, ticks in (("user_s", 100), ("system_s", 200), ("idle_s", 1005), ("interrupt_s", 10), ("busy_s", 312)):
            self.assertAlmostEqual(numbers[name], ticks * tick, msg=name)


if __name__ == "__main__":
    unittest.main()
