"""A client of NFSv4.1 that takes a layout of a file and writes by it, whatever it is told: it says OK to each callback, and
does nothing. It writes and reads XDR by hand (RFC 8881), one call at a time."""

import socket
import struct
import time

from harness.constants import ADDRESS, PORT

TIMEOUT_S = 30
SEQUENCE, EXCHANGE_ID, CREATE_SESSION, RECLAIM_COMPLETE = 53, 42, 43, 58
PUTFH, PUTROOTFH, LOOKUP, GETFH, OPEN, CLOSE, WRITE = 22, 24, 15, 10, 18, 4, 38
GETDEVICEINFO, LAYOUTGET, CB_SEQUENCE = 47, 50, 11
OK, LAYOUTUNAVAILABLE, RECALLCONFLICT = 0, 10059, 10061
FILES, RW, FILE_SYNC = 1, 2, 2
USE_PNFS_DS, BACK_CHANNEL = 0x40000, 2
WHOLE = (1 << 64) - 1


class Refused(Exception):
    """An operation failed; its status is the argument."""


def u32(*values):
    return struct.pack(f">{len(values)}I", *values)


def u64(value):
    return struct.pack(">Q", value)


def opaque(data):
    return u32(len(data)) + data + bytes(-len(data) % 4)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        if self.at > len(self.data):
            raise OSError("a message is cut short")
        return self.data[self.at - count:self.at]

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def u64(self):
        return struct.unpack(">Q", self.take(8))[0]

    def opaque(self):
        count = self.u32()
        data = self.take(count)
        self.take(-count % 4)
        return data


class Session:
    """With one server, over one connection. `flags` are those of EXCHANGE_ID."""

    def __init__(self, owner, address, flags=0):
        self.socket = socket.create_connection(address, timeout=TIMEOUT_S)
        self.xid, self.sequence, self.id = 0, 0, b""
        introduction = bytes(8) + opaque(owner) + u32(flags, 0, 0)
        met = self.compound((EXCHANGE_ID, introduction))
        self.client, sequence = met.u64(), met.u32()
        attributes = u32(0, 1 << 20, 1 << 20, 4096, 16, 1, 0)
        self.id = self.compound((CREATE_SESSION, u64(self.client) + u32(sequence, 0 if flags else BACK_CHANNEL)
                                 + attributes + attributes + u32(0x40000001, 1, 0))).take(16)
        self.call((RECLAIM_COMPLETE, u32(0)))

    def receive(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise OSError("the server closed the connection")
            data += more
        return data

    def send(self, body):
        self.socket.sendall(u32(1 << 31 | len(body)) + body)

    def message(self):
        data, last = b"", False
        while not last:
            mark = struct.unpack(">I", self.receive(4))[0]
            last = bool(mark >> 31)
            data += self.receive(mark & 0x7FFFFFFF)
        return Reader(data)

    def answer_callback(self, xid, call):
        call.take(16)
        for _ in range(2):
            call.u32()
            call.opaque()
        call.opaque()
        call.take(8)
        count = call.u32()
        call.u32()
        session, sequence, slot, highest = call.take(16), call.u32(), call.u32(), call.u32()
        call.take(8)
        body = u32(xid, 1, 0, 0, 0, 0, OK, 0, count, CB_SEQUENCE, OK) + session + u32(sequence, slot, highest, highest)
        if count > 1:
            body += u32(call.u32(), OK)
        self.send(body)

    def compound(self, *operations):
        """A Reader of the result of the last operation, behind its status."""
        self.xid += 1
        credentials = u32(1, 20, 0, 0, 0, 0, 0)
        body = u32(self.xid, 0, 2, 100003, 4, 1) + credentials + bytes(8) + u32(0, 1, len(operations))
        self.send(body + b"".join(u32(number) + arguments for number, arguments in operations))
        while True:
            reply = self.message()
            xid, kind = reply.u32(), reply.u32()
            if kind == 1:
                break
            self.answer_callback(xid, reply)
        if (xid, reply.u32(), reply.u32(), reply.opaque(), reply.u32()) != (self.xid, 0, 0, b"", 0):
            raise OSError("a call was not accepted")
        status = reply.u32()
        if status != OK:
            raise Refused(status)
        reply.opaque()
        reply.u32()
        for number, _ in operations:
            if (reply.u32(), reply.u32()) != (number, OK):
                raise OSError("a reply makes no sense")
            if number == SEQUENCE:
                reply.take(36)
        return reply

    def call(self, *operations):
        """The same, in the session; what comes before the last operation has no results."""
        self.sequence += 1
        return self.compound((SEQUENCE, self.id + u32(self.sequence, 0, 0, 0)), *operations)

    def close(self):
        self.socket.close()


class LayoutClient:
    def __init__(self, name, address=(ADDRESS, PORT)):
        self.owner = name.encode()
        self.metadata = Session(self.owner, address)
        self.data = {}

    def open(self, name):
        """A file of the root, for writing; it is made if need be."""
        named = opaque(name.encode())
        how = u32(1, 0, 0, 0, 0) + named  # OPEN4_CREATE, UNCHECKED4 without attributes, CLAIM_NULL
        self.stateid = self.metadata.call((PUTROOTFH, b""), (
            OPEN, u32(0, 0x403, 0) + u64(self.metadata.client) + opaque(self.owner) + how)).take(16)
        self.file = self.metadata.call((PUTROOTFH, b""), (LOOKUP, named), (GETFH, b"")).opaque()

    def ask_for_layout(self):
        """Of the file, for writing: what the server says. A client that has not answered a call yet, or whose layout is
        being recalled, asks again."""
        while True:
            try:
                return self.metadata.call((PUTFH, opaque(self.file)), (
                    LAYOUTGET, u32(0, FILES, RW) + u64(0) + u64(WHOLE) + u64(4096) + self.stateid + u32(4096)))
            except Refused as refused:
                if refused.args[0] not in (LAYOUTUNAVAILABLE, RECALLCONFLICT):
                    raise
                time.sleep(0.05)

    def layoutget(self):
        """The same; from then on write() goes by it."""
        got = self.ask_for_layout()
        got.take(24)  # return_on_close, stateid, and that there is one layout
        got.take(24)  # its range, iomode and type
        body = Reader(got.opaque())
        device, _, first = body.take(16), body.u32(), body.u32()
        body.u64()
        handles = [body.opaque() for _ in range(body.u32())]
        self.handle, self.address = handles[first], self.addresses(device)[first]

    def addresses(self, device):
        got = self.metadata.call((GETDEVICEINFO, device + u32(FILES, 65536, 0)))
        got.u32()
        body = Reader(got.opaque())
        body.take(4 * body.u32())
        out = []
        for _ in range(body.u32()):
            known = [(body.opaque(), body.opaque().decode()) for _ in range(body.u32())]
            *address, high, low = known[0][1].split(".")
            out.append((".".join(address), int(high) * 256 + int(low)))
        return out

    def write(self, offset, data):
        """By the layout, in the first stripe unit. The status."""
        if self.address not in self.data:
            self.data[self.address] = Session(self.owner, self.address, USE_PNFS_DS)
        return self.written(self.data[self.address], self.handle, offset, data)

    def write_in_band(self, offset, data):
        """Through the metadata server. The status."""
        return self.written(self.metadata, self.file, offset, data)

    def written(self, session, handle, offset, data):
        try:
            session.call((PUTFH, opaque(handle)), (
                WRITE, u32(0) + self.stateid[4:] + u64(offset) + u32(FILE_SYNC) + opaque(data)))
        except Refused as refused:
            return refused.args[0]
        return OK

    def renew_until(self, condition):
        """Keeps its lease until condition() holds."""
        while not condition():
            self.metadata.call()
            time.sleep(0.1)

    def close(self):
        self.metadata.call((PUTFH, opaque(self.file)), (CLOSE, u32(0) + self.stateid))
        for session in (self.metadata, *self.data.values()):
            session.close()
