#!/usr/bin/python3
"""Clients give their delegations back before an export is suspended: its disk is then free.

suspend_test.py BRAID
"""

import os
import socket
import struct
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../hostile/harness"))

import nfs40  # noqa: E402
import nfs41  # noqa: E402
import rpc  # noqa: E402
from server import Server  # noqa: E402

BRAID = sys.argv.pop(1) if len(sys.argv) > 1 else "braid"
PATIENCE_S = 60
OP_CLOSE, OP_DELEGRETURN, OP_CB_RECALL = 4, 8, 4
TRIES = 200


class Holder:
    """A client of 4.0 that may hold a delegation of a closed file, and returns it when it is asked, if it does."""

    def __init__(self, address, returns):
        self.address, self.returns = address, returns
        self.stream = rpc.connect(address)
        self.clients = nfs40.Clients(self.stream)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.delegation = None
        threading.Thread(target=self._answer, daemon=True).start()
        self.client = self.clients.introduce(b"holder", *self.listener.getsockname())

    def _answer(self):
        called, _ = self.listener.accept()
        try:
            while True:
                call = rpc.receive(called)
                xid, procedure = call[:4], struct.unpack(">I", call[20:24])[0]
                head = xid + rpc.words(1, 0, 0, 0, 0)
                body = head if procedure == 0 else head + rpc.words(0, 0, 1, OP_CB_RECALL, 0)
                called.sendall(rpc.words(rpc.LAST_FRAGMENT | len(body)) + body)
                if procedure != 0 and self.returns:
                    self.give_back()
        except ConnectionError:
            called.close()

    def run(self, operations, count):
        self.stream.sendall(rpc.compound(operations, count, 0, rpc.auth_sys()))
        status, _, results = nfs41.parsed(rpc.receive(self.stream))
        if status:
            raise nfs41.Refused(status)
        return results

    def open(self, name, sequence):
        """Stateid of the open, and of the delegation if there is one."""
        how = rpc.words(nfs40.CREATE, nfs40.UNCHECKED, 0, 0) + rpc.words(nfs40.CLAIM_NULL) + rpc.opaque(name)
        results = self.run(nfs40.PUT_ROOT + rpc.words(nfs40.OP_OPEN, sequence, nfs40.READ, 0) + self.client + rpc.opaque(b"o") + how, 2)
        (attributes,) = struct.unpack(">I", results[56:60])
        at = 60 + 4 * attributes
        (kind,) = struct.unpack(">I", results[at:at + 4])
        return results[16:32], results[at + 4:at + 20] if kind else None

    def take(self, name):
        here = nfs40.PUT_ROOT + rpc.words(nfs41.OP_LOOKUP) + rpc.opaque(name)
        stateid, _ = self.open(name, 1)
        stateid = self.run(here + rpc.words(nfs40.OP_OPEN_CONFIRM) + stateid + rpc.words(2), 3)[-16:]
        sequence = 3
        for _ in range(TRIES):
            self.run(here + rpc.words(OP_CLOSE, sequence) + stateid, 3)
            stateid, self.delegation = self.open(name, sequence + 1)
            sequence += 2
            if self.delegation:
                break
        self.run(here + rpc.words(OP_CLOSE, sequence) + stateid, 3)
        self.name = name

    def give_back(self):
        here = nfs40.PUT_ROOT + rpc.words(nfs41.OP_LOOKUP) + rpc.opaque(self.name)
        self.run(here + rpc.words(OP_DELEGRETURN) + self.delegation, 3)

    def end(self):
        self.stream.close()
        self.listener.close()


class Suspending(unittest.TestCase):
    def setUp(self):
        self.server = Server(BRAID)
        self.addCleanup(self.stop)

    def stop(self):
        status, log = self.server.stop()
        self.assertEqual(status, 0, log)

    def ask(self, *words):
        done = subprocess.run([BRAID, *words, "--admin", f"{self.server.folder}/admin"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def holder(self, returns):
        holder = Holder(self.server.address, returns)
        self.addCleanup(holder.end)
        holder.take(b"file")
        self.assertIsNotNone(holder.delegation)
        return holder

    def test_a_delegation_is_given_back_and_the_disk_is_free(self):
        self.holder(True)
        self.assertIn("127.0.0.1", self.ask("delegations"))
        said = self.ask("export", "suspend", "/")
        self.assertEqual(said, "The export / is suspended.\n")
        self.assertNotIn("127.0.0.1", self.ask("delegations"))

    def test_who_does_not_give_it_back_is_waited_for_no_longer_than_a_while(self):
        self.holder(False)
        said = self.ask("export", "suspend", "/")
        self.assertIn("The export / is suspended.\n", said)
        self.assertIn("in use", said)
        self.assertIn("127.0.0.1", self.ask("delegations"))


if __name__ == "__main__":
    unittest.main()
