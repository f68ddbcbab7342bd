"""A client of NFSv4.1 with one session of one slot: what an attack on state needs, as bytes."""

import itertools
import struct

import rpc

OP_CLOSE, OP_GETFH, OP_LOCK, OP_LOCKU, OP_LOOKUP, OP_OPEN = 4, 10, 12, 14, 15, 18
OP_PUTFH, OP_PUTROOTFH, OP_READ = 22, 24, 25
OP_EXCHANGE_ID, OP_CREATE_SESSION, OP_SEQUENCE, OP_RECLAIM_COMPLETE = 42, 43, 53, 58
OK, DENIED, DELAY = 0, 10010, 10008
WRITE_LOCK, WRITE_LOCK_AND_WAIT = 2, 4
# Of a COMPOUND besides SEQUENCE and PUTFH.
OPERATIONS_MAX = 60

_names = itertools.count(1)


def hyper(*values):
    return struct.pack(f">{len(values)}Q", *values)


def channel():
    return rpc.words(0, 1 << 17, 1 << 17, 0, OPERATIONS_MAX + 4, 1, 0)


def exchange_id(name):
    return rpc.words(OP_EXCHANGE_ID) + bytes(8) + rpc.opaque(name) + rpc.words(0, 0, 0)


def create_session(client, sequence):
    return (rpc.words(OP_CREATE_SESSION) + hyper(client) + rpc.words(sequence, 0) + channel() + channel() +
            rpc.words(0x40000000, 1, 0))


def parsed(reply):
    """Status of a COMPOUND, how many operations were executed, and the bytes of their results."""
    body = rpc.results(reply)
    status, tag = struct.unpack(">II", body[:8])
    at = 8 + tag + -tag % 4
    (count,) = struct.unpack(">I", body[at:at + 4])
    return status, count, body[at + 4:]


class Refused(Exception):
    """The status is the first argument."""


class Client:
    """Introduces itself and makes a session, or raises Refused."""

    def __init__(self, stream, name=None):
        self.stream, self.slot_sequence = stream, 0
        owner = name or b"hostile %d %d" % (stream.getsockname()[1], next(_names))
        result = self._first(exchange_id(owner))
        self.id, sequence = struct.unpack(">QI", result[:12])
        self.session = self._first(create_session(self.id, sequence))[:16]

    def _exchange(self, operations, count):
        self.stream.sendall(rpc.compound(operations, count, 1, rpc.auth_sys()))
        return parsed(rpc.receive(self.stream))

    def _first(self, operation):
        """What an operation without a session answers."""
        status, _, results = self._exchange(operation, 1)
        if status:
            raise Refused(status)
        return results[8:]

    def run(self, operations=b"", count=0):
        """In the session: status, how many operations were executed, and the results behind that of SEQUENCE."""
        self.slot_sequence += 1
        sequence = rpc.words(OP_SEQUENCE) + self.session + rpc.words(self.slot_sequence, 0, 0, 0)
        status, executed, results = self._exchange(sequence + operations, count + 1)
        return status, executed - 1, results[8 + 36:]

    def must(self, operations, count):
        status, _, results = self.run(operations, count)
        if status:
            raise Refused(status)
        return results

    def opened(self, name):
        """Makes the file if need be: its handle and the stateid of an open for reading and writing."""
        self.run(rpc.words(OP_RECLAIM_COMPLETE, 0), 1)
        how = rpc.words(1, 0, 0, 0)  # OPEN4_CREATE, UNCHECKED4, no attributes
        wanted = rpc.words(OP_OPEN, 0, 3 | 0x400, 0) + hyper(self.id) + rpc.opaque(b"o") + how + rpc.words(0)
        results = self.must(rpc.words(OP_PUTROOTFH) + wanted + rpc.opaque(name), 2)
        stateid = results[16:32]
        results = self.must(rpc.words(OP_PUTROOTFH, OP_LOOKUP) + rpc.opaque(name) + rpc.words(OP_GETFH), 3)
        (length,) = struct.unpack(">I", results[24:28])
        return results[28:28 + length], stateid


def put(handle):
    return rpc.words(OP_PUTFH) + rpc.opaque(handle)


def lock(client, stateid, owner, offset, length, kind=WRITE_LOCK):
    """Of an owner that has locked nothing in this file."""
    return (rpc.words(OP_LOCK, kind, 0) + hyper(offset, length) + rpc.words(1, 0) + stateid + rpc.words(0) +
            hyper(client.id) + rpc.opaque(owner))


def close(stateid):
    return rpc.words(OP_CLOSE, 0) + stateid


def read_without_state(handle, count):
    """PUTFH and READ of NFSv4.0."""
    return rpc.compound(put(handle) + rpc.words(OP_READ) + bytes(16) + hyper(0) + rpc.words(count), 2, 0, rpc.auth_sys())
