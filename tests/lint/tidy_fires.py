#!/usr/bin/python3
"""Proves that clang-tidy with the project's configuration refuses a bad snippet for each check that is configured, and
accepts a good one; and that clang-format's check refuses bad layout.

tidy_fires.py ROOT CLANG_TIDY CLANG_FORMAT
"""

import os
import re
import subprocess
import sys
import tempfile

COROUTINE = """
#include <coroutine>
#include <exception>
#include <mutex>
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};
"""

BIG = """
#include <string>
#include <utility>
#include <vector>
struct Big { std::vector<std::string> names; };
Big make();
const Big& look();
void use(const Big& big);
"""

# A mistake per check, each alone in its file.
BAD = {
    "bugprone-dangling-handle": "#include <string>\n#include <string_view>\nstd::string_view f() { std::string s; return s; }",
    "bugprone-fold-init-type": "#include <numeric>\n#include <vector>\n#include <cstdint>\n"
                               "std::int64_t f(const std::vector<std::int64_t>& v) { return std::accumulate(v.begin(), v.end(), 0); }",
    "bugprone-inaccurate-erase": "#include <algorithm>\n#include <vector>\n"
                                 "void f(std::vector<int>& v) { v.erase(std::remove(v.begin(), v.end(), 3)); }",
    "bugprone-incorrect-roundings": "int f(double d) { return (int)(d + 0.5); }",
    "bugprone-infinite-loop": "int f(int n) { int i = 0; int sum = 0; while (i < n) { sum += n; } return sum; }",
    "bugprone-misplaced-widening-cast": "long f(int a) { return (long)(a * 1000); }",
    "bugprone-move-forwarding-reference": "#include <utility>\ntemplate <class T> void g(T&&);\n"
                                          "template <class T> void f(T&& t) { g(std::move(t)); }",
    "bugprone-shared-ptr-array-mismatch": "#include <memory>\nstd::shared_ptr<int> f() { return std::shared_ptr<int>(new int[3]); }",
    "bugprone-sizeof-container": "#include <string>\nunsigned long f(const std::string& s) { return sizeof(s); }",
    "bugprone-string-constructor": "#include <string>\nstd::string f() { return std::string('x', 50); }",
    "bugprone-unused-return-value": "#include <algorithm>\n#include <vector>\n"
                                    "void f(std::vector<int>& v) { std::remove(v.begin(), v.end(), 3); }",
    "bugprone-use-after-move": BIG + "void g(Big);\nunsigned long f(Big b) { g(std::move(b)); return b.names.size(); }",
    "cppcoreguidelines-avoid-capturing-lambda-coroutines":
        COROUTINE + "void f(int a) { auto task = [a]() -> Task { (void)a; co_return; }; task(); }",
    "google-explicit-constructor": "struct A { A(int); };",
    "misc-coroutine-hostile-raii":
        COROUTINE + "Task f(std::mutex& m) { std::lock_guard<std::mutex> lock(m); co_await std::suspend_always{}; }",
    "misc-uniqueptr-reset-release": "#include <memory>\nvoid f(std::unique_ptr<int>& a, std::unique_ptr<int>& b) { a.reset(b.release()); }",
    "modernize-use-override": "struct A { virtual ~A() = default; virtual void f(); };\nstruct B : A { virtual void f(); };",
    "performance-for-range-copy": BIG + "void f(const std::vector<Big>& v) { for (const Big b : v) use(b); }",
    "performance-inefficient-string-concatenation":
        "#include <string>\nstd::string f(const std::string& a) { std::string s; for (int i = 0; i < 9; ++i) s = s + a; return s; }",
    "performance-inefficient-vector-operation":
        "#include <vector>\nstd::vector<int> f(int n) { std::vector<int> v; for (int i = 0; i < n; ++i) v.push_back(i); return v; }",
    "performance-move-const-arg": "#include <utility>\nvoid g(int);\nvoid f(int a) { g(std::move(a)); }",
    "performance-no-automatic-move": BIG + "Big f() { const Big b = make(); return b; }\n"
                                           "struct H { H(Big&&); H(const Big&); }; H g() { const Big b = make(); return b; }",
    "performance-noexcept-move-constructor": "struct A { A(A&&); A& operator=(A&&); };",
    "performance-unnecessary-copy-initialization": BIG + "void f() { const Big b = look(); use(b); }",
    "performance-unnecessary-value-param": BIG + "void f(const Big b) { use(b); }",
}

GOOD = COROUTINE + BIG + "Task f(const Big* big) { use(*big); co_return; }\n"


def configured(root):
    with open(os.path.join(root, ".clang-tidy"), encoding="utf-8") as file:
        text = file.read()
    return re.findall(r"^  ([a-z][\w-]+),?$", text.split("WarningsAsErrors")[0], re.MULTILINE)


def tidy(root, program, directory, name, text):
    """The snippet is a source of a batch, which includes it."""
    os.makedirs(os.path.join(directory, "base"), exist_ok=True)
    with open(os.path.join(directory, "base", name + ".cc"), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    path = os.path.join(directory, name + ".cxx")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#include "base/{name}.cc"\n')
    return subprocess.run([program, "--quiet", "--config-file=" + os.path.join(root, ".clang-tidy"), path, "--", "-std=c++23"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def layout(root, program, text):
    return subprocess.run([program, "--style=file:" + os.path.join(root, ".clang-format"), "--dry-run", "-Werror"],
                          input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).returncode


def main():
    root, clang_tidy, clang_format = sys.argv[1:]
    wrong = [f"{check}: no snippet proves that it fires" for check in configured(root) if check not in BAD]
    wrong += [f"{check}: not configured any more; remove its snippet" for check in BAD if check not in configured(root)]
    with tempfile.TemporaryDirectory() as directory:
        for check, text in BAD.items():
            done = tidy(root, clang_tidy, directory, check, text)
            if done.returncode == 0 or f"[{check},-warnings-as-errors]" not in done.stdout:
                wrong.append(f"{check}: did not fire on its snippet:\n{done.stdout}")
        done = tidy(root, clang_tidy, directory, "good", GOOD)
        if done.returncode != 0:
            wrong.append(f"clang-tidy refuses good code:\n{done.stdout}")
    if layout(root, clang_format, "int  f( ) {return 1 ;}\n") == 0:
        wrong.append("clang-format accepts bad layout")
    if layout(root, clang_format, "int f() { return 1; }\n") != 0:
        wrong.append("clang-format refuses good layout")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
