"""A client of NFSv3 that does one call at a time and shows each answer as it came: status, stability, verifier.

It writes and reads XDR by hand (RFC 1813), and knows no more than the fault table needs.
"""

import socket
import struct

OK, NOENT, IO, EXIST, JUKEBOX = 0, 2, 5, 17, 10008
STATUSES = {0, 1, 2, 5, 6, 13, 17, 18, 19, 20, 21, 22, 27, 28, 30, 31, 63, 66, 69, 70, 71, *range(10001, 10009)}
UNSTABLE, DATA_SYNC, FILE_SYNC = 0, 1, 2
TIMEOUT_S = 60
MOUNT, NFS = 100005, 100003


def opaque(data):
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def text(name):
    return opaque(name.encode())


def attributes(mode=None, uid=None, size=None):
    """sattr3 of these; neither group nor times."""
    def optional(value, kind):
        return struct.pack(">I", 0) if value is None else struct.pack(">I" + kind, 1, value)

    return optional(mode, "I") + optional(uid, "I") + optional(None, "I") + optional(size, "Q") + struct.pack(">II", 0, 0)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def opaque(self):
        count = self.u32()
        data = self.take(count)
        self.take(-count % 4)
        return data

    def attributes(self):
        if self.u32():
            self.take(84)

    def wcc(self):
        if self.u32():
            self.take(24)
        self.attributes()

    def handle(self):
        """post_op_fh3; None if there is none."""
        return self.opaque() if self.u32() else None


class Client:
    """Root's. Raises OSError when the connection ends or no answer comes within TIMEOUT_S."""

    def __init__(self, address, port):
        self.socket = socket.create_connection((address, port), timeout=TIMEOUT_S)
        self.xid = 0
        reply = self.call(MOUNT, 1, text("/"))
        if reply.u32() != OK:
            raise OSError("MNT of / is refused")
        self.root = reply.opaque()

    def receive(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise OSError("the server closed the connection")
            data += more
        return data

    def call(self, program, procedure, arguments):
        """A Reader of the results."""
        self.xid += 1
        credentials = struct.pack(">IIIIIII", 1, 20, 0, 0, 0, 0, 0)  # AUTH_SYS, uid and gid 0, no other groups
        body = struct.pack(">6I", self.xid, 0, 2, program, 3, procedure) + credentials + bytes(8) + arguments
        self.socket.sendall(struct.pack(">I", 1 << 31 | len(body)) + body)
        data, last = b"", False
        while not last:
            mark = struct.unpack(">I", self.receive(4))[0]
            last = bool(mark >> 31)
            data += self.receive(mark & 0x7FFFFFFF)
        reply = Reader(data)
        head = reply.u32(), reply.u32(), reply.u32()
        reply.u32()
        reply.opaque()
        if head != (self.xid, 1, 0) or reply.u32() != 0:
            raise OSError(f"procedure {procedure}: the call was not accepted: {head}")
        return reply

    def status(self, procedure, arguments):
        reply = self.call(NFS, procedure, arguments)
        status = reply.u32()
        if status not in STATUSES:
            raise OSError(f"procedure {procedure}: {status} is no nfsstat3")
        return status, reply

    def write(self, handle, offset, data, stable):
        """(status, count, committed, verifier); the last three are None where it failed."""
        status, reply = self.status(7, opaque(handle) + struct.pack(">QII", offset, len(data), stable) + opaque(data))
        if status != OK:
            return status, None, None, None
        reply.wcc()
        return status, reply.u32(), reply.u32(), reply.take(8)

    def commit(self, handle):
        status, reply = self.status(21, opaque(handle) + struct.pack(">QI", 0, 0))
        if status != OK:
            return status, None
        reply.wcc()
        return status, reply.take(8)

    def lookup(self, directory, name):
        status, reply = self.status(3, opaque(directory) + text(name))
        return status, reply.opaque() if status == OK else None

    def made(self, procedure, arguments):
        status, reply = self.status(procedure, arguments)
        return status, reply.handle() if status == OK else None

    def create(self, directory, name):
        """GUARDED: a second one says EXIST."""
        return self.made(8, opaque(directory) + text(name) + struct.pack(">I", 1) + attributes(mode=0o644))

    def mkdir(self, directory, name):
        return self.made(9, opaque(directory) + text(name) + attributes(mode=0o755))

    def symlink(self, directory, name, target):
        return self.made(10, opaque(directory) + text(name) + attributes() + text(target))[0]

    def remove(self, directory, name):
        return self.status(12, opaque(directory) + text(name))[0]

    def rmdir(self, directory, name):
        return self.status(13, opaque(directory) + text(name))[0]

    def rename(self, directory, name, to):
        return self.status(14, opaque(directory) + text(name) + opaque(directory) + text(to))[0]

    def link(self, handle, directory, name):
        return self.status(15, opaque(handle) + opaque(directory) + text(name))[0]

    def set(self, handle, **values):
        return self.status(2, opaque(handle) + attributes(**values) + struct.pack(">I", 0))[0]

    def truncate(self, handle, size):
        return self.set(handle, size=size)

    def give_away(self, handle, uid):
        return self.set(handle, uid=uid)
