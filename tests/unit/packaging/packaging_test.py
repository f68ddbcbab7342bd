#!/usr/bin/python3
"""What is installed: man pages and completions that agree with the program, units, an example that is right.

packaging_test.py BRAID BUILD
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 else "build/release"
BRAID = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/release/braid"
PATIENCE_S = 60
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
DEBIAN = os.path.join(ROOT, "packaging/debian")


def run(*command, **named):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **named)


def subcommands(path=()):
    """Every command, with its help."""
    text = run(BRAID, "help", *path).stdout
    yield path, text
    for name in re.findall(r"^  (\S+)", text.partition("\nSubcommands:\n")[2], re.M):
        yield from subcommands((*path, name))


class Packaging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.root)
        done = run("cmake", "--install", BUILD, "--prefix", "/usr", env={**os.environ, "DESTDIR": cls.root})
        assert done.returncode == 0, done.stderr

    def path(self, name):
        return os.path.join(self.root, "usr", name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_the_program_is_installed(self):
        self.assertTrue(run(self.path("bin/braid"), "--version").stdout.startswith("braid "))

    def test_each_command_has_a_page_with_each_option(self):
        pages = set(os.listdir(self.path("share/man/man1")))
        for path, text in subcommands():
            name = "-".join(("braid", *path)) + ".1"
            self.assertIn(name, pages)
            pages.remove(name)
            page = self.text("share/man/man1/" + name).replace("\\-", "-")
            options = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, re.M))
            self.assertIn("--help", options)
            for option in options:
                self.assertIn(f"\\fB{option}\\fR", page)
        self.assertEqual(pages, set())

    def test_each_key_of_the_configuration_is_in_its_page(self):
        page = self.text("share/man/man5/braid.toml.5").replace("\\-", "-")
        file = os.path.join(self.root, "config.toml")
        for section in ("[server]", "[limits]", "[rdma]", "[pnfs]", "[data_server]", "[[store]]", "[[export]]"):
            with open(file, "w", encoding="utf-8") as out:
                out.write(f"{section}\nxylophone = 1\n")
            known = re.search("known keys are (.*)", run(BRAID, "serve", "--check-config", file).stderr)[1].split(", ")
            self.assertGreaterEqual(len(known), 2)
            for key in known:
                self.assertIn(f"\\fB{key}\\fR", page, section)

    @unittest.skipUnless(shutil.which("man"), "needs man")
    def test_the_pages_are_right_for_man(self):
        for folder in ("man1", "man5"):
            for name in os.listdir(self.path("share/man/" + folder)):
                done = run("man", "--warnings", "-E", "UTF-8", "-l", self.path(f"share/man/{folder}/{name}"),
                           env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "200"})
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_the_example_is_right(self):
        done = run(BRAID, "serve", "--check-config", self.path("share/doc/braid/examples/braid.toml"))
        self.assertTrue(done.returncode == 0 or "/srv/data" in done.stderr and done.stderr.count("\n") == 1, done.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
    def test_the_units_are_right_for_systemd(self):
        for name in ("braid", "braid-data-server"):
            unit = self.text(f"lib/systemd/system/{name}.service")
            self.assertIn("ExecStart=/usr/bin/braid serve", unit)
            copy = os.path.join(self.root, name + ".service")
            with open(copy, "w", encoding="utf-8") as out:
                out.write(unit.replace("/usr/bin/braid", self.path("bin/braid")))
            done = run("systemd-analyze", "verify", "--man=no", copy)
            self.assertNotIn(name, done.stderr)

    # The Debian package; packaging/test builds it and tries it on a real systemd.

    def test_the_package_has_the_version_of_the_program(self):
        with open(os.path.join(DEBIAN, "changelog"), encoding="utf-8") as file:
            self.assertEqual(re.match(r"braid \((.*)\)", file.readline())[1], run(BRAID, "--version").stdout.split()[1])

    def test_the_package_needs_what_building_needs(self):
        with open(os.path.join(DEBIAN, "control"), encoding="utf-8") as file:
            needed = file.read().partition("Build-Depends:")[2].partition("Standards-Version:")[0]
        with open(os.path.join(ROOT, "scripts/packages.txt"), encoding="utf-8") as file:
            packages = re.findall(r"^build (\S+)$", file.read(), re.M)
        self.assertGreaterEqual(len(packages), 10)
        for package in set(packages) - {"g++", "ccache"}:
            self.assertRegex(needed, rf"\b{re.escape(package)}\b")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_purge_leaves_the_bytes_of_files_and_the_keys_to_them(self):
        script = ('mount -t tmpfs state /var/lib && mkdir -p /var/lib/braid/nfs4 /var/lib/braid/pnfs '
                  '/var/lib/braid/data-servers/ds1 /var/lib/braid-data-server/nfs4 && touch /var/lib/braid/exports '
                  '/var/lib/braid/nfs4/epochs /var/lib/braid/pnfs/secret /var/lib/braid/data-servers/ds1/object '
                  '/var/lib/braid-data-server/nfs4/epochs && sh "$0" remove && test -e /var/lib/braid/exports && '
                  'sh "$0" purge && sh "$0" purge && find /var/lib | sort')
        done = run("unshare", "--mount", "--propagation", "private", "sh", "-c", script, os.path.join(DEBIAN, "braid.postrm"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), [
            "/var/lib", "/var/lib/braid", "/var/lib/braid/data-servers", "/var/lib/braid/data-servers/ds1",
            "/var/lib/braid/data-servers/ds1/object", "/var/lib/braid/pnfs", "/var/lib/braid/pnfs/secret"])
        self.assertIn("braid: /var/lib/braid is not empty", done.stderr)

    # Completions.

    def completed(self, *words):
        """What bash offers for the last word."""
        script = (f"source {self.path('share/bash-completion/completions/braid')}; COMP_CWORD=$(($# - 1)); "
                  'COMP_WORDS=("$@"); _braid; printf "%s\\n" "${COMPREPLY[@]}"')
        done = run("bash", "-c", script, "bash", "braid", *words, cwd=self.root)
        self.assertEqual(done.stderr, "")
        return sorted(done.stdout.split("\n")[:-1])

    def test_bash_offers_each_command_and_option(self):
        for path, text in subcommands():
            names = re.findall(r"^  (\S+)", text.partition("\nSubcommands:\n")[2], re.M)
            if names:
                self.assertTrue(set(names) <= set(self.completed(*path, "")), path)
            options = sorted(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, re.M))
            self.assertEqual(self.completed(*path, "--"), options, path)

    def test_bash_offers_values_of_options_and_files(self):
        self.assertEqual(self.completed("serve", "--squash", ""), ["all", "none", "root"])
        self.assertEqual(self.completed("serve", "--port", ""), [""])
        self.assertEqual(self.completed("client", "--help", "ev"), ["evict"])
        os.makedirs(os.path.join(self.root, "a place/inner"), exist_ok=True)
        self.assertEqual(self.completed("serve", "a p"), ["a place"])
        self.assertEqual(self.completed("status", "--config", "a p"), ["a place"])
        self.assertEqual(self.completed("opens", "--port", "status", "--fi"), ["--file"])

    def typed(self, shell, setup, keys, awaited):
        """A shell in a terminal, which is typed into."""
        socket = os.path.join(self.root, "tmux-" + shell)
        tmux = ("tmux", "-f", "/dev/null", "-S", socket)
        environment = {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"], "HOME": self.root,
                       "LC_ALL": "C.UTF-8", "TERM": "screen"}
        started = run(*tmux, "new-session", "-d", "-x", "200", "-y", "40", *setup[0], env=environment)
        self.assertEqual(started.returncode, 0, started.stderr)
        self.addCleanup(run, *tmux, "kill-server")

        def shown(text):
            screen = ""
            for _ in range(PATIENCE_S * 10):
                screen = run(*tmux, "capture-pane", "-p").stdout
                if text in screen:
                    return
                time.sleep(0.1)
            self.fail(f"'{text}' does not appear:\n{screen}")

        for line in setup[1:]:
            run(*tmux, "send-keys", "-l", line)
            run(*tmux, "send-keys", "Enter")
        run(*tmux, "send-keys", "-l", "echo READ''Y")
        run(*tmux, "send-keys", "Enter")
        shown("READY")
        run(*tmux, "send-keys", "-l", keys)
        run(*tmux, "send-keys", "Tab")
        shown(awaited)

    @unittest.skipUnless(shutil.which("tmux"), "needs tmux")
    def test_a_tab_completes_in_bash(self):
        self.typed("bash", [("bash", "--norc", "--noprofile"),
                            f"source {self.path('share/bash-completion/completions/braid')}"],
                   "braid client ev", "braid client evict")

    @unittest.skipUnless(shutil.which("tmux") and shutil.which("zsh"), "needs tmux and zsh")
    def test_a_tab_completes_in_zsh(self):
        self.typed("zsh", [("zsh", "-f"), f"fpath=({self.path('share/zsh/vendor-completions')} $fpath)",
                           "autoload -U compinit; compinit -u -D"],
                   "braid client ev", "braid client evict")

    @unittest.skipUnless(shutil.which("tmux") and shutil.which("fish"), "needs tmux and fish")
    def test_a_tab_completes_in_fish(self):
        self.typed("fish", [("fish", "--no-config"),
                            f"source {self.path('share/fish/vendor_completions.d/braid.fish')}"],
                   "braid client ev", "braid client evict")


if __name__ == "__main__":
    unittest.main(verbosity=2)
