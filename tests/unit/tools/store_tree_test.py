#!/usr/bin/python3
"""braid store and braid check on trees of ext4: what is sealed and unsealed is what it was, whenever the process is killed.

store_tree_test.py BRAID [KILLS]. Needs root: it mounts an image in a mount namespace of its own.
"""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BRAID = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/release/braid"
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
# What is copied: source files, small and large, and a binary.
SOURCES = ("vfs", "docs")
KILLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 25
# Of the binary, which is several times larger with sanitizers.
BINARY_BYTES = 8 << 20


def run(*arguments):
    done = subprocess.run([BRAID, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class StoreTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="braid-store-")
        cls.mount = os.path.join(cls.place, "mount")
        failed = cls.mount_image("image", cls.mount)
        if failed:
            shutil.rmtree(cls.place)
            raise unittest.SkipTest(f"{failed} does not work here")

    @classmethod
    def mount_image(cls, name, mount):
        """A new ext4; the command that failed, if one has."""
        image = os.path.join(cls.place, name)
        os.mkdir(mount)
        for command in (f"truncate -s 512M {image}", f"mkfs.ext4 -q -F {image}", f"mount -o loop {image} {mount}"):
            if subprocess.run(command.split(), check=False, capture_output=True).returncode != 0:
                return command
        return None

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["umount", cls.mount], check=False)
        shutil.rmtree(cls.place)

    def setUp(self):
        self.tree = tempfile.mkdtemp(dir=self.mount)
        self.store = os.path.join(self.place, "store")
        self.original = os.path.join(self.place, "original")
        os.mkdir(self.original)
        for twice in ("a", "b"):
            for source in SOURCES:
                shutil.copytree(os.path.join(ROOT, source), os.path.join(self.original, twice, source))
        with open(BRAID, "rb") as file:
            binary = file.read(BINARY_BYTES)
        for name, begin in (("braid", b""), ("shifted", b"shifted")):
            with open(os.path.join(self.original, name), "wb") as file:
                file.write(begin + binary)
        with open(os.path.join(self.original, "sparse"), "wb") as file:
            file.seek(50_000_000)
            file.write(random.Random(1).randbytes(3_000_001))
            file.truncate(90_000_000)
        subprocess.run(["cp", "-a", self.original + "/.", self.tree], check=True)

    def tearDown(self):
        shutil.rmtree(self.tree)
        shutil.rmtree(self.original)
        shutil.rmtree(self.store, ignore_errors=True)

    def is_as_it_was(self):
        subprocess.run(["diff", "-r", "--no-dereference", self.tree, self.original], check=True)

    def blocks(self):
        subprocess.run(["sync", "-f", self.tree], check=True)
        return int(subprocess.run(["du", "-s", "--block-size=1", self.tree], capture_output=True, check=True).stdout.split()[0])

    def seal(self):
        return run("store", "seal", self.tree, "--store", self.store)

    def unseal(self):
        return run("store", "unseal", self.tree, "--store", self.store)

    def test_a_tree_is_sealed_and_unsealed(self):
        before = self.blocks()
        code, text = self.seal()
        self.assertEqual(code, 0, text)
        self.assertLess(self.blocks(), before / 3)
        code, text = run("store", "--store", self.store, "--json")
        self.assertEqual(code, 0, text)
        report = json.loads(text)
        self.assertGreater(report["ratio"], 1.5)
        self.assertEqual(report["trees"][0]["path"], self.tree)
        self.assertEqual(run("check", self.store, "--deep")[0], 0)
        code, text = self.seal()
        self.assertEqual(code, 0, text)
        self.assertIn("0 files sealed", text)
        code, text = self.unseal()
        self.assertEqual(code, 0, text)
        self.is_as_it_was()
        self.assertEqual(run("check", self.store)[0], 0)
        self.assertEqual(json.loads(run("store", "--store", self.store, "--json")[1])["files"], 0)

    def collect(self, *more):
        return run("store", "gc", "--store", self.store, "--keep-seconds", "0", *more)

    def test_garbage_goes_and_the_rest_stays(self):
        self.assertEqual(self.seal()[0], 0)
        large = os.path.join(self.tree, "large")
        with open(large, "wb") as file:
            for seed in range(14):
                file.write(random.Random(seed).randbytes(10_000_000))
        self.assertEqual(self.seal()[0], 0)
        before = json.loads(run("store", "--store", self.store, "--json")[1])["stored_bytes"]
        code, text = self.collect()
        self.assertEqual(code, 0, text)
        self.assertIn("0 containers removed", text)
        os.unlink(large)
        code, text = run("store", "gc", "--store", self.store)
        self.assertEqual(code, 0, text)
        self.assertIn("0 containers removed", text)
        code, text = self.collect()
        self.assertEqual(code, 0, text)
        report = json.loads(run("store", "--store", self.store, "--json")[1])
        self.assertLess(report["stored_bytes"], before - 60_000_000, text)
        self.assertGreater(report["garbage_bytes"], 0)
        self.assertEqual(run("check", self.store, "--deep")[0], 0)
        # A tree that is not where it was.
        subprocess.run(["umount", self.mount], check=True)
        try:
            code, text = self.collect()
            self.assertEqual(code, 1, text)
            self.assertIn("nothing is removed", text)
        finally:
            subprocess.run(["mount", "-o", "loop", os.path.join(self.place, "image"), self.mount], check=True)
        code, text = self.unseal()
        self.assertEqual(code, 0, text)
        self.is_as_it_was()
        self.assertIn("forgot tree 1", run("store", "forget", "1", "--store", self.store)[1])
        self.assertEqual(json.loads(run("store", "--store", self.store, "--json")[1])["trees"], [])

    def test_a_copy_on_another_file_system_is_adopted(self):
        self.assertEqual(self.seal()[0], 0)
        other = os.path.join(self.place, "other")
        self.assertIsNone(self.mount_image("other-image", other))
        self.addCleanup(subprocess.run, ["umount", other], check=True)
        subprocess.run(["cp", "-a", self.tree + "/.", other], check=True)
        subprocess.run(["cp", "-a", "--sparse=never", self.tree + "/braid", other + "/full"], check=True)
        code, text = run("store", "unseal", other + "/braid", "--store", self.store)
        self.assertEqual(code, 1, text)
        self.assertIn("braid store adopt", text)
        code, text = run("store", "adopt", other, "--store", self.store)
        self.assertEqual(code, 1, text)
        self.assertIn(f"{other}/full: it has zeros where the store has bytes", text)
        self.assertIn("1 could not be adopted", text)
        os.unlink(other + "/full")
        code, text = run("store", "adopt", other, "--store", self.store)
        self.assertEqual(code, 0, text)
        self.assertIn("0 files adopted", text)
        shutil.rmtree(self.tree)
        os.mkdir(self.tree)
        code, text = self.collect()
        self.assertEqual(code, 0, text)
        code, text = run("check", self.store, "--deep")
        self.assertEqual(code, 0, text)
        code, text = run("store", "unseal", other, "--store", self.store)
        self.assertEqual(code, 0, text)
        os.rmdir(other + "/lost+found")
        subprocess.run(["diff", "-r", "--no-dereference", other, self.original], check=True)

    def test_scrub_finds_damage_before_somebody_reads(self):
        self.assertEqual(self.seal()[0], 0)
        container = os.path.join(self.store, "containers", "00000001")

        def flip():
            with open(container, "r+b") as file:
                file.seek(1000)
                byte = file.read(1)[0] ^ 1
                file.seek(1000)
                file.write(bytes([byte]))

        code, text = run("store", "scrub", "--store", self.store)
        self.assertEqual(code, 0, text)
        self.assertIn("chunks were read", text)
        flip()
        code, text = run("store", "scrub", "--store", self.store)
        self.assertEqual(code, 1, text)
        self.assertIn("1 PLACES ARE DAMAGED", text)
        self.assertIn("1 PLACES WERE DAMAGED", run("store", "--store", self.store)[1])
        flip()
        self.assertEqual(run("store", "scrub", "--store", self.store)[0], 0)
        self.assertNotIn("DAMAGED", run("store", "--store", self.store)[1])

    def killed(self, command, after):
        """Whether it was still running after that time."""
        with open(os.path.join(self.place, "log"), "ab") as log:
            process = subprocess.Popen([BRAID, "store", command, self.tree, "--store", self.store], stdout=log, stderr=log)
            time.sleep(after)
            running = process.poll() is None
            process.kill()
            process.wait()
        return running

    def test_killed_at_any_moment_it_loses_nothing(self):
        source = random.Random(2)
        begin = time.monotonic()
        self.assertEqual(self.seal()[0], 0)
        longest = time.monotonic() - begin
        self.assertEqual(self.unseal()[0], 0)
        killed = 0
        for turn in range(KILLS):
            killed += self.killed("seal" if turn % 3 else "unseal", source.uniform(0, longest))
            if turn % 8 == 7:
                # Whatever was flagged is finished before it is looked at, or obeyed.
                code, text = run("check", self.store, "--deep")
                self.assertEqual(code, 0, text)
        self.assertGreater(killed, 0)
        self.assertEqual(self.seal()[0], 0)
        code, text = run("check", self.store, "--deep")
        self.assertEqual(code, 0, text)
        code, text = self.unseal()
        self.assertEqual(code, 0, text)
        self.is_as_it_was()

    def test_damage_is_named_and_stays_where_it_is(self):
        self.assertEqual(self.seal()[0], 0)
        container = os.path.join(self.store, "containers", "00000001")
        with open(container, "r+b") as file:
            file.seek(1_000_000)
            byte = file.read(1)
            file.seek(1_000_000)
            file.write(bytes([byte[0] ^ 4]))
        code, text = run("check", self.store, "--deep")
        self.assertEqual(code, 4, text)
        named = [line.split(": ")[1] for line in text.splitlines() if line.startswith("damaged: /")]
        self.assertTrue(named, text)
        code, text = self.unseal()
        self.assertEqual(code, 1, text)
        for path in named:
            self.assertIn(f"{path}: some of its bytes cannot be read", text)
        different = subprocess.run(["diff", "-rq", "--no-dereference", self.tree, self.original], capture_output=True, text=True,
                                   check=False).stdout.splitlines()
        self.assertEqual(sorted(line.split()[1] for line in different), sorted(named))

    def test_what_is_in_use_stays_as_it_is(self):
        busy = os.path.join(self.tree, "braid")
        with open(busy, "rb") as file:
            code, text = self.seal()
            self.assertEqual(code, 0, text)
            self.assertIn("1 are in use", text)
            self.assertEqual(file.read(4), b"\x7fELF")
        self.assertEqual(self.unseal()[0], 0)
        self.is_as_it_was()

    def serve(self, *arguments):
        """A server with its admin socket; the test ends it."""
        self.admin = os.path.join(self.place, "admin")
        server = subprocess.Popen([BRAID, "serve", *arguments, "--port", "0", "--admin", self.admin, "--state",
                                   os.path.join(self.place, "state")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        for _ in range(1200):
            if server.poll() is not None or run("status", "--admin", self.admin)[0] == 0:
                break
            time.sleep(0.05)
        self.assertIsNone(server.poll(), server.poll() is not None and server.stderr.read())
        return server

    def served(self, action, path):
        return run("store", action, path, "--admin", self.admin)

    def end(self, server):
        server.terminate()
        log = server.stderr.read()
        self.assertEqual(server.wait(), 0, log)
        return log

    def test_a_server_seals_and_unseals_a_tree(self):
        server = self.serve(self.tree, "--store", self.store)
        code, text = self.served("seal", self.tree)
        self.assertEqual(code, 0, text)
        self.assertNotIn("\n0 files sealed", "\n" + text)
        code, text = self.served("seal", self.tree)
        self.assertIn("0 files sealed", text)
        stores = json.loads(run("store", "--json", "--admin", self.admin)[1])
        self.assertGreater(stores[0]["bytes_found"], stores[0]["bytes_added"] // 2)
        code, text = self.served("unseal", os.path.join(self.tree, "a", "vfs"))
        self.assertEqual(code, 0, text)
        self.assertNotEqual(subprocess.run(["diff", "-rq", self.original, self.tree], check=False, capture_output=True).returncode, 0)
        self.assertEqual(subprocess.run(["diff", "-r", self.original + "/a/vfs", self.tree + "/a/vfs"], check=False).returncode, 0)
        code, text = self.served("seal", self.place)
        self.assertEqual(code, 1, text)
        self.assertIn("lies in no export that has a store", text)
        code, text = self.served("seal", self.tree + "/none")
        self.assertEqual(code, 1, text)
        self.end(server)
        self.assertEqual(run("check", self.store, "--deep")[0], 0)
        server = self.serve(self.tree, "--store", self.store)
        code, text = self.served("unseal", self.tree)
        self.assertEqual(code, 0, text)
        self.end(server)
        self.is_as_it_was()

    def test_what_is_removed_while_a_server_seals_is_no_failure(self):
        moving = os.path.join(self.tree, "moving")
        os.mkdir(moving)
        ended = threading.Event()

        def come_and_go():
            number = 0
            while not ended.is_set():
                number += 1
                for depth in ("", "/a", "/a/b"):
                    os.mkdir(f"{moving}/{number}{depth}")
                    with open(f"{moving}/{number}{depth}/file", "wb") as file:
                        file.write(random.Random(number).randbytes(5000))
                if number > 30:
                    shutil.rmtree(f"{moving}/{number - 30}")

        server = self.serve(self.tree, "--store", self.store)
        self.assertEqual(self.served("seal", self.tree)[0], 0)
        thread = threading.Thread(target=come_and_go)
        thread.start()
        try:
            for number in range(5):
                # What stays is sealed, whatever went while its neighbours were looked at.
                with open(f"{moving}/stays-{number}", "wb") as file:
                    file.write(random.Random(-number).randbytes(5000))
                code, text = self.served("seal", moving)
                self.assertEqual(code, 0, text)
                self.assertFalse(text.startswith("0 files sealed"), text)
        finally:
            ended.set()
            thread.join()
        self.end(server)

    def test_a_guard_is_there_again_when_the_file_system_is(self):
        """The kernel's mark goes with the mount."""
        self.assertEqual(run("store", "seal", self.tree + "/a", "--store", self.store)[0], 0)
        config = os.path.join(self.place, "guard.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[[store]]\nname = "s"\ndirectory = "{self.store}"\nguard = true\nseal_seconds = 3600\n'
                       f'[[export]]\npath = "/"\ndirectory = "{self.tree}"\nstore = "s"\n')
        server = self.serve("--config", config)
        sealed, plain = os.path.join(self.tree, "a/docs/store.md"), os.path.join(self.tree, "b/docs/store.md")

        def is_guarded():
            with self.assertRaises(PermissionError):
                open(sealed, "rb").close()
            with open(plain, "rb") as file:
                self.assertIn(b"guard = true", file.read())

        is_guarded()
        self.assertEqual(run("export", "suspend", "/", "--admin", self.admin)[0], 0)
        subprocess.run(["umount", self.mount], check=True)
        subprocess.run(["mount", "-o", "loop", os.path.join(self.place, "image"), self.mount], check=True)
        code, text = run("export", "resume", "/", "--admin", self.admin)
        self.assertEqual(code, 0, text)
        is_guarded()
        self.end(server)

    def test_marks_in_the_bytes_take_the_place_of_hashing(self):
        """hashing = "oracle", for benchmarks: a store of its own."""
        shutil.rmtree(self.original)
        os.mkdir(self.original)
        source = random.Random(2)

        def chunk():
            length = source.randrange(50_000, 150_000)
            return struct.pack(">8sII32s", b"BraidOrc", length, 0, source.randbytes(32)) + source.randbytes(length - 48)

        chunks = [chunk() for _ in range(24)]
        for name, some in (("a", chunks[:16]), ("b", chunks[8:])):
            with open(os.path.join(self.original, name), "wb") as file:
                file.write(b"".join(some))
        with open(os.path.join(self.original, "without"), "wb") as file:
            file.write(source.randbytes(500_000))
        marked = os.path.join(self.tree, "marked")
        shutil.copytree(self.original, marked)

        def config(hashing):
            path = os.path.join(self.place, f"{hashing}.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'[[store]]\nname = "s"\ndirectory = "{self.store}"\nhashing = "{hashing}"\nseal_seconds = 3600\n'
                           f'[[export]]\npath = "/"\ndirectory = "{marked}"\nstore = "s"\n')
            return path

        os.mkdir(os.path.join(self.tree, "nothing"))
        self.assertEqual(run("store", "seal", os.path.join(self.tree, "nothing"), "--store", self.store)[0], 0)
        server = self.serve("--config", config("oracle"))
        code, text = self.served("seal", marked)
        self.assertEqual(code, 1, text)
        self.assertIn("2 files sealed", text)
        self.assertIn("1 could not be sealed", text)
        stores = json.loads(run("store", "--json", "--admin", self.admin)[1])
        self.assertEqual(stores[0]["chunks_found"], 8)
        self.assertEqual(stores[0]["bytes_found"], sum(len(one) for one in chunks[8:16]))
        self.assertIn("store_seal_failed", self.end(server))
        subprocess.run(["cmp", os.path.join(self.original, "without"), os.path.join(marked, "without")], check=True)
        code, text = run("serve", "--config", config("cpu"), "--port", "0", "--state", os.path.join(self.place, "state"))
        self.assertEqual(code, 1, text)
        self.assertIn("a benchmark has filled it", text)

    def test_the_functions_of_a_paper_find_what_is_equal(self):
        """hashing = "md5-tree", for benchmarks: a store of its own."""
        copies = os.path.join(self.tree, "copies")
        data = random.Random(4).randbytes(1_000_000)
        for profile in ("general", "fixed"):
            os.makedirs(os.path.join(copies, profile))
            os.setxattr(os.path.join(copies, profile), "user.braid.profile", profile.encode())
            # Only by content the second one's chunks are those of the first one.
            for name, bytes_before in (("a", b""), ("b", b"before"), ("c", b"")):
                with open(os.path.join(copies, profile, name), "wb") as file:
                    file.write(bytes_before + data)
        config = os.path.join(self.place, "md5-tree.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[[store]]\nname = "s"\ndirectory = "{self.store}"\nhashing = "md5-tree"\nseal_seconds = 3600\n'
                       f'[[export]]\npath = "/"\ndirectory = "{copies}"\nstore = "s"\n')
        os.mkdir(os.path.join(self.tree, "nothing"))
        self.assertEqual(run("store", "seal", os.path.join(self.tree, "nothing"), "--store", self.store)[0], 0)
        server = self.serve("--config", config)
        found = 0
        for profile, least, most in (("general", 1_500_000, 1_999_999), ("fixed", 1_000_000, 1_000_000)):
            code, text = self.served("seal", os.path.join(copies, profile))
            self.assertEqual(code, 0, text)
            self.assertIn("3 files sealed", text)
            now = json.loads(run("store", "--json", "--admin", self.admin)[1])[0]["bytes_found"]
            self.assertTrue(least <= now - found <= most, (profile, now - found))
            found = now
        self.end(server)

    def test_equal_chunks_are_looked_for_where_the_configuration_says(self):
        shared = os.path.join(self.tree, "shared")
        os.mkdir(shared)
        self.assertEqual(run("store", "seal", shared, "--store", self.store)[0], 0)
        data = random.Random(3).randbytes(900_000)

        def found(similarity):
            """Of two new files, both with these bytes."""
            for number in range(2):
                with open(os.path.join(shared, f"{similarity}{number}"), "wb") as file:
                    file.write(data)
            config = os.path.join(self.place, f"{similarity}.toml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(f'[[store]]\nname = "s"\ndirectory = "{self.store}"\nsimilarity = "{similarity}"\n'
                           f'[[export]]\npath = "/"\ndirectory = "{shared}"\nstore = "s"\n')
            server = self.serve("--config", config)
            code, text = self.served("seal", shared)
            self.assertEqual(code, 0, text)
            self.assertIn("2 files sealed", text)
            bytes_found = json.loads(run("store", "--json", "--admin", self.admin)[1])[0]["bytes_found"]
            self.end(server)
            return bytes_found

        self.assertLess(found("previous"), len(data) // 10)
        self.assertGreaterEqual(found("global"), 2 * len(data))

    def test_files_of_several_exports_are_not_sealed(self):
        os.mkdir(self.store)
        self.assertEqual(run("store", "seal", self.tree + "/a/docs", "--store", self.store)[0], 0)
        config = os.path.join(self.place, "braid.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[[store]]\nname = "s"\ndirectory = "{self.store}"\n')
            for path, directory in (("/all", self.tree), ("/a", self.tree + "/a")):
                file.write(f'[[export]]\npath = "{path}"\ndirectory = "{directory}"\nstore = "s"\n')
        server = self.serve("--config", config)
        code, text = self.served("seal", self.tree)
        self.assertEqual(code, 1, text)
        self.assertIn("0 files sealed", text)
        self.assertIn("another export has the same files", self.end(server))

    def test_a_lost_registry_is_made_anew(self):
        self.assertEqual(self.seal()[0], 0)
        before = json.loads(run("store", "--store", self.store, "--json")[1])
        registry = os.path.join(self.store, "registry")
        size = os.path.getsize(registry)
        code, text = run("check", self.store, "--repair")
        self.assertEqual(code, 0, text)
        for damage in ("gone", "flipped"):
            with open(registry, "r+b") as file:
                file.seek(size // 2)
                byte = file.read(1)
                file.seek(size // 2)
                file.write(bytes([byte[0] ^ 1]))
            if damage == "gone":
                os.remove(registry)
            code, text = run("check", self.store)
            self.assertEqual(code, 4, text)
            code, text = run("check", self.store, "--repair")
            self.assertEqual(code, 1, text)
            self.assertIn("registry: made anew", text)
            after = json.loads(run("store", "--store", self.store, "--json")[1])
            for member in ("files", "logical_bytes"):
                self.assertEqual(after[member], before[member], damage)
            code, text = run("check", self.store, "--deep")
            self.assertEqual(code, 0, text)
            size = os.path.getsize(registry)
        shutil.rmtree(os.path.join(self.store, "index"))
        self.assertEqual(run("check", self.store, "--repair")[0], 0)
        os.remove(registry)
        subprocess.run(["mount", "--bind", self.tree, self.tree], check=True)
        code, text = run("check", self.store, "--repair")
        subprocess.run(["umount", self.tree], check=True)
        self.assertEqual(code, 8, text)
        self.assertIn("only a part is mounted", text)
        self.assertEqual(run("check", self.store, "--repair")[0], 1)
        self.assertEqual(self.unseal()[0], 0)
        self.is_as_it_was()

    def test_mistakes_are_explained(self):
        code, text = run("check", self.store)
        self.assertEqual(code, 8, text)
        self.assertIn("No such file", text)
        code, text = run("store", "unseal", self.tree, "--store", self.tree)
        self.assertEqual(code, 1, text)
        self.assertIn("it is no store", text)
        code, text = run("store", "seal", self.tree, "--store", self.tree)
        self.assertEqual(code, 1, text)
        self.assertIn("it is no store", text)
        code, text = run("store", "--admin", self.store + "-admin")
        self.assertEqual(code, 1, text)
        self.assertIn("braid store: ", text)
        code, text = run("store", "seal", self.tree + "/none/x", "--store", self.store)
        self.assertEqual(code, 1, text)
        self.assertIn("No such file", text)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(0)
    if os.environ.get("BRAID_OWN_NAMESPACE") is None:
        os.environ["BRAID_OWN_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, "-B", os.path.abspath(__file__), BRAID, str(KILLS),
                              *sys.argv[1:]])
    unittest.main()
