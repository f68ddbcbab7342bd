#!/usr/bin/python3
"""Says how many tests of the last ctest run were skipped, and why: skipped.py BUILD_DIR.

It reads Testing/Temporary/LastTest.log, in which ctest keeps what each program printed, that of passed ones too. There are
the reasons of Google Test (GTEST_BRIEF=1 leaves them in), of Python's unittest (with names: verbosity=2) and of programs
that end with the status that ctest takes for skipped.
"""

import collections
import os
import re
import sys

START = re.compile(r'^\d+/\d+ Testing: (.*)$')
GTEST = re.compile(r"^.+:\d+: Skipped$")
GTEST_COUNT = re.compile(r"^\[  SKIPPED \] (\d+) tests?")
UNITTEST = re.compile(r"\.\.\. skipped (['\"])(.*)\1$")
UNITTEST_COUNT = re.compile(r"^OK \(.*\bskipped=(\d+)")
PROGRAM = re.compile(r"^(?:\w+: )?skipped: (.*)$")
UNSAID = "without a word"


def reasons_of(lines):
    """(reason, how many tests) of what one program printed."""
    reasons = collections.Counter()
    counted = 0
    for number, line in enumerate(lines):
        if GTEST.match(line):
            # GTEST_SKIP() without a message is followed by what comes next.
            text = lines[number + 1] if number + 1 < len(lines) else ""
            reasons[UNSAID if not text or text.startswith("[") or GTEST.match(text) else text] += 1
        elif match := UNITTEST.search(line):
            reasons[match.group(2)] += 1
        elif match := PROGRAM.match(line):
            reasons[match.group(1)] += 1
        elif match := GTEST_COUNT.match(line) or UNITTEST_COUNT.match(line):
            counted += int(match.group(1))
    missing = counted - reasons.total()
    if missing > 0:
        reasons[UNSAID] += missing
    return reasons


def skipped(log):
    """{reason: {program: how many}} of the text of ctest's log."""
    found = collections.defaultdict(collections.Counter)
    program, lines = None, []
    for line in [*log.splitlines(), "0/0 Testing: "]:
        if match := START.match(line):
            for reason, count in reasons_of(lines).items():
                found[reason][program] += count
            program, lines = match.group(1), []
        else:
            lines.append(line)
    return found


def report(found):
    """The lines that say it."""
    total = sum(programs.total() for programs in found.values())
    if total == 0:
        return ["No test was skipped."]
    lines = [f"{total} tests were skipped:" if total > 1 else "1 test was skipped:"]
    for reason, programs in sorted(found.items(), key=lambda item: (-item[1].total(), item[0])):
        lines.append(f"{programs.total():6}  {reason} ({', '.join(sorted(programs))})")
    return lines


SAMPLE = """Start testing
1/4 Testing: some_test
Output:
----------------------------------------------------------
a/b_test.cc:3: Skipped
needs root
a/b_test.cc:9: Skipped
needs root
a/b_test.cc:12: Skipped
[==========] 9 tests from 2 test suites ran. (6 ms total)
[  PASSED  ] 6 tests.
[  SKIPPED ] 3 tests.
<end of output>
2/4 Testing: python_test
test_a (__main__.T.test_a) ... skipped 'needs root'
test_b (__main__.T.test_b) ... skipped "isn't here"
OK (skipped=2)
<end of output>
3/4 Testing: brief_test
OK (skipped=2)
<end of output>
4/4 Testing: program
lab: skipped: no kernel
<end of output>
"""


def self_test():
    wanted = ["8 tests were skipped:",
              "     3  needs root (python_test, some_test)",
              f"     3  {UNSAID} (brief_test, some_test)",
              "     1  isn't here (python_test)",
              "     1  no kernel (program)"]
    got = report(skipped(SAMPLE))
    if got != wanted or report(skipped("")) != ["No test was skipped."]:
        print("\n".join(["got:", *got, "wanted:", *wanted]))
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    path = os.path.join(sys.argv[1], "Testing", "Temporary", "LastTest.log")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            log = file.read()
    except OSError as error:
        sys.exit(f"skipped.py: {error}")
    print("\n".join(report(skipped(log))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
