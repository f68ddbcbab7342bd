"""What attackers send. Each attack: a line for the reader, where its connections come from, how many there are, and what
number `index` of them sends; or, of those that wait for answers, what they do (hoard.py). 127.0.0.2 is an address that the
export is for, 127.0.0.3 one that nothing is for."""

import hoard
import rpc
from crowd import Crowd
from server import Server, SmallServer, StallingServer

MIB = 1 << 20
OP_GETATTR, OP_PUTROOTFH = 9, 24
# What Linux asks for: type, change, size, fsid, fileid, mode, owner and times.
ATTRIBUTES = rpc.words(2, 0x0010011a, 0x00b0a23a)


class Attack:
    def __init__(self, name, what, source, count, sends, receive_buffer=None):
        self.name, self.what, self.source, self.count = name, what, source, count
        self.sends, self.receive_buffer = sends, receive_buffer
        self.victim, self.holds_files, self.server = "files", False, Server

    def begin(self, address):
        return Crowd(address, self.count, self.source, self.sends, self.receive_buffer)


class Stalling:
    """On an export whose disk hangs, while the victim uses another one."""

    def __init__(self, name, what, source, count):
        self.name, self.what, self.source, self.count = name, what, source, count
        self.victim, self.holds_files, self.server = "syncer", True, StallingServer

    def begin(self, address):
        stream = rpc.connect(address, self.source)
        root = rpc.mounted(stream, b"/stalled")
        files = [rpc.lookup3(stream, root, b"%d" % index) for index in range(StallingServer.STALLED)]
        stream.close()

        def synced_writes(index):
            return b"".join(rpc.write3(files[index % len(files)], 0, bytes(512), 2) for _ in range(100))

        return Crowd(address, self.count, self.source, synced_writes)


class Hoarding:
    def __init__(self, name, what, source, count, work, victim="files", server=Server):
        self.name, self.what, self.source, self.count = name, what, source, count
        self.work, self.victim, self.holds_files, self.server = work, victim, True, server

    def begin(self, address):
        return hoard.Hoard(address, self.source, self.work)


def half_record(_index):
    return rpc.words(rpc.LAST_FRAGMENT | MIB) + bytes(70000)


def almost_whole_record(_index):
    return rpc.words(rpc.LAST_FRAGMENT | MIB) + bytes(MIB - 1)


def short_start(_index):
    """More than is copied aside, less than fills a buffer."""
    return rpc.words(rpc.LAST_FRAGMENT | 60000) + bytes(700)


def getattrs(_index):
    """Short calls with long replies."""
    return rpc.compound(rpc.words(OP_PUTROOTFH) + (rpc.words(OP_GETATTR) + ATTRIBUTES) * 100, 101) * 600


def many_fragments(_index):
    return (rpc.words(1) + b"x") * 20000


ATTACKS = [
    Attack("half_records", "announce a record of 1 MiB, send 70,000 bytes of it", "127.0.0.2", 1500, half_record),
    Attack("half_records_stranger", "the same from an address that no export is for", "127.0.0.3", 1500, half_record),
    Attack("records_without_end", "send all but one byte of a record of 1 MiB", "127.0.0.2", 1500, almost_whole_record),
    Attack("short_starts", "send the first 700 bytes of a record", "127.0.0.2", 4000, short_start),
    Attack("unread_replies", "60,000 GETATTRs of the pseudo root with AUTH_NONE, and nobody reads", "127.0.0.2", 80, getattrs,
           receive_buffer=4096),
    Hoarding("many_locks", "lock 30,000 ranges of a file, each for another owner, wait for all of it, and close it", "127.0.0.2",
             2, hoard.many_locks),
    Hoarding("idle_clients", "make clients with a session, which hold nothing and are never heard of again", "127.0.0.3", 1,
             hoard.idle_clients, victim="newcomer"),
    Hoarding("silent_callbacks", "make 5,000 clients of 4.0 with files open, at five addresses, whose callbacks nobody answers",
             "127.0.4.1", 5, hoard.silent_callbacks, victim="visitor"),
    Hoarding("connections", "make twice as many connections as the server takes, and keep them busy", "127.0.0.2", 1,
             hoard.many_connections, victim="visitor", server=SmallServer),
    Hoarding("connections_stranger", "the same from an address that no export is for", "127.0.0.3", 1, hoard.many_connections,
             victim="visitor", server=SmallServer),
    Stalling("stalled_disk", "WRITEs that wait for a disk that hangs, 6,400 of them", "127.0.0.2", 64),
    Attack("fragments", "a record of fragments of one byte", "127.0.0.2", 200, many_fragments),
]
