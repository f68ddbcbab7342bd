"""A client of NFSv4.1 with one session, and the operations on open files, as bytes."""

import struct

import rpc

OP_CREATE_SESSION, OP_EXCHANGE_ID, OP_SEQUENCE, OP_RECLAIM_COMPLETE = 43, 42, 53, 58
OP_PUTROOTFH, OP_PUTFH, OP_GETFH, OP_OPEN, OP_READ, OP_WRITE = 24, 22, 10, 18, 25, 38
NFS4_OK, NFS4ERR_DELAY = 0, 10008
ACCESS_BOTH, WANT_NO_DELEGATION = 3, 0x400


class Results:
    """Reads the results of a COMPOUND from its reply."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def word(self):
        return struct.unpack(">I", self.raw(4))[0]

    def raw(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def opaque(self):
        length = self.word()
        data = self.raw(length)
        self.raw(-length % 4)
        return data

    def bitmap(self):
        return [self.word() for _ in range(self.word())]

    def operation(self):
        """The status of the next operation."""
        self.word()
        return self.word()


class Session:
    def __init__(self, address, name, operations_max):
        self.stream = rpc.connect(address)
        self.operations_max = operations_max
        got = self._call(rpc.words(OP_EXCHANGE_ID) + bytes(8) + rpc.opaque(name) + rpc.words(0, 0, 0), 1)
        self._ok(got)
        self.client = got.raw(8)
        sequence = got.word()
        channel = rpc.words(0, 1 << 20, 1 << 20, 4096, operations_max, 1, 0)
        got = self._call(rpc.words(OP_CREATE_SESSION) + self.client + rpc.words(sequence, 0) + channel * 2 +
                         rpc.words(0x40000000, 1, 0), 1)
        self._ok(got)
        self.id, self.sequence = got.raw(16), 0
        got = self.compound(rpc.words(OP_RECLAIM_COMPLETE, 0), 1)
        self._ok(got)

    def _call(self, operations, count):
        self.stream.sendall(rpc.compound(operations, count, 1, rpc.auth_sys()))
        got = Results(rpc.results(rpc.receive(self.stream)))
        got.word()
        got.opaque()
        got.word()
        return got

    @staticmethod
    def _ok(got):
        status = got.operation()
        if status != NFS4_OK:
            raise RuntimeError(f"the server answers {status}")

    def compound(self, operations, count):
        """After SEQUENCE."""
        self.sequence += 1
        got = self._call(rpc.words(OP_SEQUENCE) + self.id + rpc.words(self.sequence, 0, 0, 0) + operations, count + 1)
        self._ok(got)
        got.raw(16 + 5 * 4)
        return got

    def open_names(self, owner, names):
        """Opens each name in the root for reading and writing: a list of handles and stateids, or of the status."""
        one = rpc.words(OP_PUTROOTFH, OP_OPEN, 0, ACCESS_BOTH | WANT_NO_DELEGATION, 0) + self.client + rpc.opaque(owner)
        got = self.compound(b"".join(one + rpc.words(0, 0) + rpc.opaque(name) + rpc.words(OP_GETFH) for name in names),
                            3 * len(names))
        opened = []
        for _ in names:
            self._ok(got)
            status = got.operation()
            if status != NFS4_OK:
                opened.append(status)
                break
            stateid = got.raw(16)
            got.raw(20)
            got.word()
            got.bitmap()
            # No delegation was wanted: why there is none.
            if got.word() == 3:
                got.word()
            self._ok(got)
            opened.append((got.opaque(), stateid))
        return opened

    def write_and_read(self, files, texts):
        """Through each open: what is read, or the status that ended it."""
        operations = b"".join(rpc.words(OP_PUTFH) + rpc.opaque(handle) + rpc.words(OP_WRITE) + stateid + bytes(8) +
                              rpc.words(0) + rpc.opaque(text) + rpc.words(OP_READ) + stateid + bytes(8) + rpc.words(100)
                              for (handle, stateid), text in zip(files, texts))
        got = self.compound(operations, 3 * len(files))
        read = []
        for _ in files:
            for skipped in (0, 16):
                status = got.operation()
                if status != NFS4_OK:
                    return read + [status]
                got.raw(skipped)
            status = got.operation()
            if status != NFS4_OK:
                return read + [status]
            got.word()
            read.append(got.opaque())
        return read
