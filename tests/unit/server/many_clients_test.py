#!/usr/bin/python3
"""What an administrator sees of 10,000 clients: whole lists in pages, in bounded memory, also when nobody reads them.

many_clients_test.py [--any-memory] BRAID; as much memory as it likes: a sanitizer's needs more.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../hostile/harness"))

import nfs40  # noqa: E402
import nfs41  # noqa: E402
import rpc  # noqa: E402
from server import Server  # noqa: E402

ANY_MEMORY = "--any-memory" in sys.argv
if ANY_MEMORY:
    sys.argv.remove("--any-memory")
BRAID = sys.argv.pop(1) if len(sys.argv) > 1 else "braid"
PATIENCE_S = 120

CLIENTS, OF_ADDRESS, AT_ONCE = 10000, 1000, 250
# A line of JSON is some 400 bytes, and takes a few times as much when it has been read.
COMMAND_RESIDENT_MAX = 1 << 40 if ANY_MEMORY else 128 << 20
SERVER_MORE_MAX = 1 << 40 if ANY_MEMORY else 64 << 20
# An owner may be called anything.
RUDE = b'client %d "\x1b[31m\n\xff'


def setclientid(number):
    callback = rpc.words(nfs40.CALLBACK_PROGRAM) + rpc.opaque(b"tcp") + rpc.opaque(b"127.0.0.1.3.9") + rpc.words(1)
    return rpc.compound(rpc.words(nfs40.OP_SETCLIENTID) + bytes(8) + rpc.opaque(RUDE % number) + callback, 1, 0, rpc.auth_sys())


def succeeded(stream):
    status, _, results = nfs41.parsed(rpc.receive(stream))
    if status:
        raise nfs41.Refused(status)
    return results


def introduce(stream, numbers):
    """Clients, all of which ask at once."""
    stream.sendall(b"".join(setclientid(number) for number in numbers))
    identities = [succeeded(stream)[8:24] for _ in numbers]
    stream.sendall(b"".join(rpc.compound(rpc.words(nfs40.OP_SETCLIENTID_CONFIRM) + identity, 1, 0, rpc.auth_sys())
                            for identity in identities))
    for _ in numbers:
        succeeded(stream)
    return [struct.unpack(">Q", identity[:8])[0] for identity in identities]


class WideServer(Server):
    """Takes twice as many: an address may have half of what is left."""

    def _served(self):
        os.mkdir(f"{self.folder}/data")
        with open(f"{self.folder}/braid.toml", "w", encoding="ascii") as file:
            file.write(f'[limits]\nclients_max = {2 * CLIENTS}\n[[export]]\npath = "/"\ndirectory = "{self.folder}/data"\n')
        return ["--config", f"{self.folder}/braid.toml"]


class ManyClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = WideServer(BRAID)
        cls.before = cls.server.resident_bytes()
        cls.ids = []
        for first in range(0, CLIENTS, OF_ADDRESS):
            with rpc.connect(cls.server.address, f"127.0.5.{1 + first // OF_ADDRESS}") as stream:
                for start in range(first, first + OF_ADDRESS, AT_ONCE):
                    cls.ids += introduce(stream, range(start, start + AT_ONCE))

    @classmethod
    def tearDownClass(cls):
        status, log = cls.server.stop()
        if status:
            raise AssertionError(f"the server ended with {status}:\n{log[-4000:]}")

    def command(self, *words):
        return [BRAID, *words, "--admin", f"{self.server.folder}/admin"]

    def listed(self, *words):
        """What it prints, and the memory that it took."""
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(self.command(*words), stdout=out)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read()
        self.assertEqual(process.returncode, 0)
        return text, usage.ru_maxrss << 10

    def test_all_are_listed_once_though_a_page_holds_few(self):
        text, resident = self.listed("clients", "--json")
        found = [int(line["id"], 16) for line in json.loads(text)["clients"]]
        self.assertEqual(sorted(found), sorted(self.ids))
        self.assertLess(resident, COMMAND_RESIDENT_MAX)
        self.assertLess(self.server.resident_bytes() - self.before, SERVER_MORE_MAX)

    def test_a_page_is_a_part_of_them(self):
        asked = subprocess.run(["/usr/bin/python3", "-c", "import socket, sys\n"
                                "one = socket.socket(socket.AF_UNIX)\none.connect(sys.argv[1])\n"
                                "one.sendall(b'{\"command\":\"clients\"}\\n')\n"
                                "print(b''.join(iter(lambda: one.recv(65536), b'')).decode())", f"{self.server.folder}/admin"],
                               capture_output=True, check=True, timeout=PATIENCE_S)
        page = json.loads(asked.stdout)
        self.assertEqual(len(page["clients"]), 500)
        self.assertEqual(page["next"], page["clients"][-1]["id"])

    def test_the_table_has_a_line_for_each_and_no_control_character(self):
        text, resident = self.listed("clients")
        lines = text.decode().splitlines()
        self.assertEqual(len([line for line in lines if "client" in line and "127.0.5." in line]), CLIENTS)
        self.assertFalse([line for line in lines if any(ord(one) < 32 or ord(one) == 127 for one in line)])
        self.assertLess(resident, COMMAND_RESIDENT_MAX)

    def test_a_reader_that_goes_away_is_no_news(self):
        for words in (("clients",), ("clients", "--json"), ("status",), ("opens",), ("sessions", "--json"), ("help",)):
            with self.subTest(words=words):
                command = self.command(*words) if words != ("help",) else [BRAID, "help"]
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                process.stdout.close()
                self.assertEqual(process.stderr.read(), b"")
                process.stderr.close()
                process.wait(PATIENCE_S)


if __name__ == "__main__":
    unittest.main()
