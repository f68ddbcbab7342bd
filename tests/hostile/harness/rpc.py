"""ONC RPC (RFC 5531) and what little of NFS an attacker or its victim needs, as bytes."""

import itertools
import socket
import struct

NFS, MOUNT = 100003, 100005
AUTH_NONE = struct.pack(">II", 0, 0)
LAST_FRAGMENT = 0x80000000

_xids = itertools.count(1)


def words(*values):
    return struct.pack(f">{len(values)}I", *values)


def opaque(data):
    return words(len(data)) + data + bytes(-len(data) % 4)


def auth_sys(uid=0, gid=0):
    return words(1) + opaque(words(0) + opaque(b"hostile") + words(uid, gid, 0))


def call(program, version, procedure, arguments=b"", credential=AUTH_NONE):
    """One record with a call in it."""
    body = words(next(_xids), 0, 2, program, version, procedure) + credential + AUTH_NONE + arguments
    return words(LAST_FRAGMENT | len(body)) + body


def compound(operations, count, minor=0, credential=AUTH_NONE):
    """A COMPOUND of NFSv4 with `count` operations that are encoded already."""
    return call(NFS, 4, 1, opaque(b"") + words(minor, count) + operations, credential)


def write3(handle, offset, data, stable=0):
    return call(NFS, 3, 7, opaque(handle) + struct.pack(">QII", offset, len(data), stable) + opaque(data), auth_sys())


def connect(address, source="127.0.0.1", timeout=60):
    """A connection that comes from `source`: each address of 127/8 is a peer of its own."""
    made = socket.socket()
    made.settimeout(timeout)
    made.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
    made.bind((source, 0))
    made.connect(address)
    return made


def receive_exactly(stream, count):
    parts = []
    while count:
        part = stream.recv(count)
        if not part:
            raise ConnectionError("the server has closed the connection")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receive(stream):
    """The next record, as long as it is a single fragment (what braid sends)."""
    (mark,) = struct.unpack(">I", receive_exactly(stream, 4))
    return receive_exactly(stream, mark & ~LAST_FRAGMENT)


def results(reply):
    """What follows the header of a reply that was accepted."""
    head = struct.unpack(">6I", reply[:24])
    if head[1:] != (1, 0, 0, 0, 0):
        raise ValueError(f"the call was not accepted: {head}")
    return reply[24:]


def mounted(stream, path=b"/"):
    """The handle of an export."""
    stream.sendall(call(MOUNT, 3, 1, opaque(path), auth_sys()))
    answer = results(receive(stream))
    status, length = struct.unpack(">II", answer[:8])
    if status:
        raise ValueError(f"MNT answered {status}")
    return answer[8:8 + length]


def lookup3(stream, directory, name):
    """The handle of what is there."""
    stream.sendall(call(NFS, 3, 3, opaque(directory) + opaque(name), auth_sys()))
    answer = results(receive(stream))
    status, length = struct.unpack(">II", answer[:8])
    if status:
        raise ValueError(f"LOOKUP answered {status}")
    return answer[8:8 + length]
