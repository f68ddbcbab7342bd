"""A relay between client and server that breaks the connection in place of passing on certain replies.

The server has then executed a call whose reply the client never saw: the client connects again and repeats the call
with the same xid, which is what a duplicate-request cache is for.
"""

import contextlib
import socket
import struct
import threading

from harness.constants import ADDRESS, PORT

SOURCE = ADDRESS
RELAY_PORT = 12050
NFS_PROGRAM = 100003

LAST_FRAGMENT = 0x80000000


def receive(connection, length):
    data = bytearray()
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise ConnectionError("closed")
        data += piece
    return bytes(data)


def record(connection):
    """One RPC message with its record marks: (bytes as received, message)."""
    raw, message = b"", b""
    while True:
        header = receive(connection, 4)
        mark = struct.unpack(">I", header)[0]
        body = receive(connection, mark & ~LAST_FRAGMENT)
        raw += header + body
        message += body
        if mark & LAST_FRAGMENT:
            return raw, message


def connect_from(port):
    """A connection to the server from that port: the Linux client keeps its port when it connects again."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Closing resets, so that no waiting state forbids the same pair of ports a moment later.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.bind((SOURCE, port))
    connection.connect((ADDRESS, PORT))
    return connection


class Pair:
    """One client connection and its server connection; two threads, ended by the first error on either."""

    def __init__(self, relay, client, client_port):
        self.relay = relay
        self.client = client
        self.server = connect_from(client_port)
        self.ended = threading.Barrier(2)
        self.doomed = set()
        for connection in (self.client, self.server):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for work in (self.pass_calls, self.pass_replies):
            threading.Thread(target=self.until_closed, args=(work,), daemon=True).start()

    def until_closed(self, work):
        try:
            while work():
                pass
        except OSError:
            pass
        for connection in (self.client, self.server):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        if self.ended.wait() == 0:
            self.server.close()
            self.client.close()

    def pass_calls(self):
        raw, message = record(self.client)
        xid, _, _, program, _, procedure = struct.unpack(">6I", message[:24])
        if program == NFS_PROGRAM and self.relay.condemns(xid, procedure):
            self.doomed.add(xid)
        self.server.sendall(raw)
        return True

    def pass_replies(self):
        raw, message = record(self.server)
        if struct.unpack(">I", message[:4])[0] in self.doomed:
            return False
        self.client.sendall(raw)
        return True


class LossyRelay:
    """Listens from its creation to the end of the process. Loses the first reply to every n-th call of `procedures`."""

    def __init__(self, procedures, every):
        self.procedures = procedures
        self.every = every
        self.seen = 0
        self.lost = set()
        self.lock = threading.Lock()
        self.port = RELAY_PORT
        self.listener = socket.create_server((ADDRESS, self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, (_, port) = self.listener.accept()
            try:
                Pair(self, client, port)
            except OSError:
                client.close()

    def condemns(self, xid, procedure):
        """Whether the reply to this call is lost: never twice for one xid, so that the repetition is answered."""
        with self.lock:
            if procedure not in self.procedures or xid in self.lost:
                return False
            self.seen += 1
            if self.seen % self.every:
                return False
            self.lost.add(xid)
            return True
