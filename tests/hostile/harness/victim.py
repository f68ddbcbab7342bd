"""A client that does its work while others attack: NULL, GETATTR and WRITE of 300 KiB, and a READ of NFSv4 without state, which
looks at the state of others all the same, in a process of its own.

victim.py PORT ROUNDS newcomer: a client, and then one more in each round (newcomer() below).
victim.py PORT ROUNDS syncer: as `files`, on the export /fine, and each WRITE is on the disk when it is answered.
victim.py PORT ROUNDS visitor: as `files`, over another connection in each round.
victim.py PORT ROUNDS files: makes a file and goes on with it. After each round it prints a line: the longest of its calls in
microseconds. An answer that says that something failed ends it with status 1.
"""

import struct
import sys
import time

import nfs41
import rpc


def made_file(stream, root):
    arguments = rpc.opaque(root) + rpc.opaque(b"victim") + rpc.words(0) + rpc.words(0, 0, 0, 0, 0, 0)
    stream.sendall(rpc.call(rpc.NFS, 3, 8, arguments, rpc.auth_sys()))
    answer = rpc.results(rpc.receive(stream))
    status, follows, length = struct.unpack(">III", answer[:12])
    if status or not follows:
        raise ValueError(f"CREATE answered {status}")
    return answer[12:12 + length]


def files(port, rounds, path=b"/", stable=0, comes_anew=False):
    stream = rpc.connect(("127.0.0.1", port))
    file = made_file(stream, rpc.mounted(stream, path))
    data = bytes(300 * 1024)
    for turn in range(rounds):
        if comes_anew:
            stream.close()
            stream = rpc.connect(("127.0.0.1", port))
        calls = (rpc.call(rpc.NFS, 3, 0), rpc.call(rpc.NFS, 3, 1, rpc.opaque(file), rpc.auth_sys()),
                 rpc.write3(file, turn % 64 * len(data), data, stable), nfs41.read_without_state(file, 4096))
        worst = 0
        for what, call in zip(("NULL", "GETATTR", "WRITE", "READ"), calls):
            begun = time.monotonic_ns()
            stream.sendall(call)
            answer = rpc.results(rpc.receive(stream))
            worst = max(worst, time.monotonic_ns() - begun)
            if what != "NULL" and answer[:4] != bytes(4):
                raise ValueError(f"{what} answered {answer[:4].hex()}")
        print(worst // 1000, flush=True)


def syncer(port, rounds):
    files(port, rounds, b"/fine", 2)


def visitor(port, rounds):
    files(port, rounds, comes_anew=True)


def newcomer(port, rounds):
    """A client that opens a file, and one more in each round, as of a machine that starts."""
    stream = rpc.connect(("127.0.0.1", port))
    first = nfs41.Client(stream)
    first.opened(b"newcomer")
    for _ in range(rounds):
        begun = time.monotonic_ns()
        nfs41.Client(stream)
        first.must(b"", 0)
        print((time.monotonic_ns() - begun) // 1000, flush=True)


def main():
    VICTIMS[sys.argv[3]](int(sys.argv[1]), int(sys.argv[2]))


VICTIMS = {"files": files, "syncer": syncer, "visitor": visitor, "newcomer": newcomer}

if __name__ == "__main__":
    main()
