"""Attackers that speak NFSv4: they take what they can get, hold it, and go on. As Crowd for `run`."""

import errno
import socket
import time

import nfs40
import nfs41
import rpc


class Hoard:
    """`work(address, source)` yields after each of its calls: True while it gathers, then False."""

    def __init__(self, address, source, work):
        self.work = work(address, source)
        self.ended = 0

    def step(self, timeout_s):
        end = time.monotonic() + timeout_s
        gathers = True
        while gathers and time.monotonic() < end:
            gathers = next(self.work)
        while not gathers and time.monotonic() < end:
            next(self.work)
        return gathers

    def close(self):
        self.work.close()


LOCKS, WAITERS = 30000, 120
FAR = 1 << 40  # where nobody has locked anything


def many_locks(address, source):
    """A file with as many lock owners as the server takes, all of which end at once, and some who wait for all of it."""
    streams = [rpc.connect(address, source) for _ in range(2)]
    holder, waiter = (nfs41.Client(stream) for stream in streams)
    try:
        handle, waits = waiter.opened(b"locked")
        for turn in range(1 << 30):
            handle, opened = holder.opened(b"locked")
            for first in range(0, LOCKS, nfs41.OPERATIONS_MAX):
                owners = range(first, first + nfs41.OPERATIONS_MAX)
                locks = b"".join(nfs41.lock(holder, opened, b"%d" % one, 4 * one, 2) for one in owners)
                status, _, _ = holder.run(nfs41.put(handle) + locks, 1 + len(owners))
                yield turn == 0
                if status == nfs41.DELAY:
                    break
                if status:
                    raise nfs41.Refused(status)
            for one in range(WAITERS):
                wish = nfs41.lock(waiter, waits, b"%d" % one, 0, (1 << 64) - 1, nfs41.WRITE_LOCK_AND_WAIT)
                waiter.run(nfs41.put(handle) + wish, 2)
                yield turn == 0
            holder.must(nfs41.put(handle) + nfs41.close(opened), 2)
            yield False
    finally:
        for stream in streams:
            stream.close()


CONNECTIONS = 2000


def many_connections(address, source):
    """More connections than the server takes, all of which have work to do, and come again when they are thrown out."""
    members = []

    def come():
        one = socket.socket()
        one.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        one.bind((source, 0))
        one.setblocking(False)
        one.connect_ex(address)
        return one

    def is_there(one):
        """Has called once more, and what was answered before is read."""
        try:
            one.send(rpc.call(rpc.NFS, 3, 0))
            return one.recv(4096) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    try:
        for turn in range(1 << 30):
            if len(members) < CONNECTIONS:
                members.append(come())
            elif not is_there(members[turn % CONNECTIONS]):
                members[turn % CONNECTIONS].close()
                members[turn % CONNECTIONS] = come()
            yield turn < 2 * CONNECTIONS
    finally:
        for one in members:
            one.close()


CLIENTS = 12000


def idle_clients(address, source):
    """Clients that hold nothing, one after the other, more than the server takes."""
    stream = rpc.connect(address, source)
    try:
        for turn in range(1 << 30):
            try:
                nfs41.Client(stream)
            except nfs41.Refused:
                pass
            yield turn < CLIENTS
    finally:
        stream.close()


SILENT_CLIENTS, OF_ADDRESS = 5000, 1000


def listening(address, ports):
    """At the first of these ports that nobody has. Who connects is not answered. None where this user may not have them."""
    for port in ports:
        silent = socket.socket()
        try:
            silent.bind((address, port))
            silent.listen(64)
        except PermissionError:
            silent.close()
            return None
        except OSError:
            silent.close()
            continue
        silent.setblocking(False)
        return silent
    raise OSError(errno.EADDRINUSE, f"{address}: each port is taken")


def nobody_came(silent):
    if silent is None:
        return
    try:
        silent.accept()
    except BlockingIOError:
        return
    raise AssertionError(f"the server has connected to port {silent.getsockname()[1]} of somebody else")


def silent_callbacks(address, _source):
    """Clients of 4.0 at five addresses that want delegations, and are to be called where nobody answers: at a port of their own,
    at groups and at everybody, and at somebody else's port below 1024."""
    streams, own, other = [], listening("0.0.0.0", [0]), listening("127.0.0.3", range(1023, 511, -1))
    low_port = other.getsockname()[1] if other else 1023
    try:
        for number in range(1 << 30):
            source = f"127.0.4.{1 + number // OF_ADDRESS % 5}"
            if number < SILENT_CLIENTS and number % OF_ADDRESS == 0:
                streams.append(rpc.connect(address, source))
            callbacks = ((source, own.getsockname()[1]), ("224.0.0.1", 2049), ("255.255.255.255", 2049), ("127.0.0.3", low_port))
            clients = nfs40.Clients(streams[number // OF_ADDRESS % 5])
            try:
                client = clients.introduce(b"silent %d" % number, *callbacks[number % 7 % 4])
                clients.open_for_delegation(client, b"wanted")
            except nfs41.Refused as refused:
                if refused.args[0] != nfs41.DELAY:
                    raise
            nobody_came(other)
            yield number < SILENT_CLIENTS
    finally:
        for stream in [*streams, own, other]:
            if stream is not None:
                stream.close()
