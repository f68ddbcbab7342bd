#!/usr/bin/python3
"""Fails on what neither the compilers nor clang-tidy refuse: functions above 60 lines, files above 500, to-do notes, and
what g++ 12 translates wrongly without a word: co_await in a condition, where it drops the whole body of the coroutine,
and co_await among designated initialisers. What clang-tidy would take long to find, operator= that returns no reference, too.

style.py ROOT
style.py --self-test
"""

import re
import sys

import sources

FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 500

# A line that ends with the brace of a function, a loop or a lambda, not of a type or a table.
OPENS = re.compile(r"^ *(?!namespace|class|struct|enum|union|extern|constexpr|const )\S.*\).*[^({]\{$|^ *\S.*\) ?\{$")
LITERAL = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'")
NOTE = re.compile(r"//.*\b(TODO|FIXME|XXX|HACK)\b")
DESIGNATED = re.compile(r"\{\s*\.\w+ *=")
# What stands before the brace of a lambda's body.
LAMBDA = re.compile(r"\](\([^(){}]*\))?( mutable| noexcept)*( -> [\w:<>, ]+)? ?$")
CONDITION = re.compile(r"\b(if|while|switch)( constexpr)? \(")
ASSIGNMENT = re.compile(r"\b(?:\w+::)?operator=\(")


def code_of(text):
    """The text without comments and without what literals hold; lines stay where they are."""
    return LITERAL.sub(lambda match: "" if match.group().startswith("//") else '""', text)


def closing_line(lines, start):
    """The line with the brace that closes the one at the end of line `start`."""
    depth = 1
    for end in range(start + 1, len(lines)):
        for character in lines[end]:
            depth += {"{": 1, "}": -1}.get(character, 0)
            if depth == 0:
                return end
    return start


def long_functions(path, lines):
    for start, line in enumerate(lines):
        if not OPENS.match(line):
            continue
        length = closing_line(lines, start) - start + 1
        if length > FUNCTION_LINES_MAX:
            yield f"{path}:{start + 1}: {length} lines in one function; at most {FUNCTION_LINES_MAX}"


def condition_at(text, start):
    """The text between the parenthesis at `start` and the one that closes it."""
    depth = 0
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[start + 1:end]
    return text[start + 1:]


def awaiting_conditions(path, text):
    for match in CONDITION.finditer(text):
        condition = condition_at(text, match.end() - 1)
        # `if (const auto x = co_await y; x)` and `while (const auto x = co_await y)` are translated rightly.
        if "co_await" not in condition or re.match(r"^(const )?[\w:<>]+[&* ]+\w+ = co_await", condition):
            continue
        line = text.count("\n", 0, match.start()) + 1
        yield f"{path}:{line}: co_await in a condition; g++ 12 drops the coroutine's body: await into a variable first"


def braced_at(text, start):
    """The text between the brace at `start` and the one that closes it, without the bodies of lambdas."""
    depth, body_depth, out = 0, None, []
    for end in range(start, len(text)):
        character = text[end]
        if character == "{":
            depth += 1
            if body_depth is None and LAMBDA.search(text[start:end]):
                body_depth = depth
        if body_depth is None and end > start:
            out.append(character)
        if character == "}":
            if depth == body_depth:
                body_depth = None
            depth -= 1
            if depth == 0:
                break
    return "".join(out)


def awaiting_initialisers(path, text):
    for match in DESIGNATED.finditer(text):
        if "co_await" not in braced_at(text, match.start()):
            continue
        line = text.count("\n", 0, match.start()) + 1
        yield f"{path}:{line}: co_await among designated initialisers; g++ 12 translates it wrongly: await into a variable first"


def unconventional_assignments(path, text):
    for match in ASSIGNMENT.finditer(text):
        before = text[:match.start()].rstrip()
        if not before.endswith("&"):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: operator= does not return a reference"


def complaints(path, lines):
    if len(lines) - 1 > FILE_LINES_MAX:
        yield f"{path}: {len(lines) - 1} lines; at most {FILE_LINES_MAX}"
    code = code_of("\n".join(lines))
    yield from long_functions(path, code.split("\n"))
    yield from awaiting_conditions(path, code)
    yield from awaiting_initialisers(path, code)
    yield from unconventional_assignments(path, code)
    for number, line in enumerate(lines, 1):
        if NOTE.search(line):
            yield f"{path}:{number}: a note of something undone"


def self_test():
    def found(text):
        return list(complaints("x.cc", text.split("\n")))

    def function(body_lines):
        return "int f(int a) {\n" + "  ++a;\n" * body_lines + "}\n"

    assert found(function(58)) == []
    assert found(function(59)) == ["x.cc:1: 61 lines in one function; at most 60"]
    assert found("class C {\n  void f() {\n" + "    ++a;\n" * 70 + "  }\n};\n") == [
        "x.cc:2: 72 lines in one function; at most 60"]
    assert found("C::C(int a)\n    : a_(a) {\n" + "  ++a;\n" * 70 + "}\n") == ["x.cc:2: 72 lines in one function; at most 60"]
    assert found("C::C(int a)\n    : a_(a) {}\n" + "int i;\n" * 70) == []
    assert found("// if (co_await f()) g();\n") == []
    assert found("constexpr T table[] = f({\n" + "  {1},\n" * 70 + "};\n") == []
    assert found("int i;\n" * 500) == []
    assert found("int i;\n" * 501) == ["x.cc: 501 lines; at most 500"]
    assert found("int i;  // " + "TODO: more\n") == ["x.cc:1: a note of something undone"]
    right = ("  if (const auto x = co_await f(); x) g();\n", "  while (const auto x = co_await f()) g();\n",
             "  if (ready) co_await f();\n", "  const bool b = co_await f();\n  if (b) g();\n")
    for text in right:
        assert found(text) == [], text
    wrong = ("  if (co_await f()) g();\n", "  if (!co_await f()) g();\n", "  while (co_await f()) g();\n",
             "  if (a &&\n      co_await f()) g();\n", "  do g(); while (co_await f());\n",
             "  switch (co_await f()) {\n", "  if ((co_await f()) == 3) g();\n")
    for text in wrong:
        assert len(found(text)) == 1 and "co_await in a condition" in found(text)[0], (text, found(text))
    right = ("  const T x = co_await f();\n  return R{.a = x};\n", "  R r{.a = 1};\n  co_await f();\n",
             "  R r{.a = 1, .run = [&]() -> io::Op<> { co_await f(); }};\n", "  r = {1, co_await f()};\n")
    for text in right:
        assert found(text) == [], (text, found(text))
    wrong = ("  T x{.member = co_await f()};\n", "  co_return T{.a = 1, .b = co_await f()};\n",
             "  T x{\n      .a = 1,\n      .b = g(co_await f()),\n  };\n", "  g({.a = {.b = 1}, .c = co_await f()});\n",
             "  T x{.run = [] { h(); }, .b = co_await f()};\n")
    for text in wrong:
        assert len(found(text)) == 1 and "co_await among designated" in found(text)[0], (text, found(text))
    for text in ("  A& operator=(const A&) = delete;\n", "A& A::operator=(A&& other) {\n", "auto A::operator==(A) {\n"):
        assert found(text) == [], (text, found(text))
    for text in ("  void operator=(const A&);\n", "A A::operator=(A&& other) {\n"):
        assert found(text) == ["x.cc:1: operator= does not return a reference"], (text, found(text))


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test()
        sys.exit(0)
    everything = [c for path, lines in sources.files(sys.argv[1]) for c in complaints(path, lines)]
    print("\n".join(everything))
    sys.exit(1 if everything else 0)
