"""Many connections of attackers: each sends what it has, reads nothing, and comes again when the server ends it."""

import select
import socket

GONE = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR


class Crowd:
    """`sends(index)` is what connection number `index` sends."""

    def __init__(self, address, count, source, sends, receive_buffer=None):
        self.address, self.source, self.sends, self.receive_buffer = address, source, sends, receive_buffer
        self.events = select.epoll()
        self.members = {}  # by descriptor: socket, index, what is left to send
        self.ended = 0  # connections that the server has ended
        for index in range(count):
            self._come(index)

    def _come(self, index):
        stream = socket.socket()
        if self.receive_buffer:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        stream.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        stream.bind((self.source, 0))
        stream.setblocking(False)
        stream.connect_ex(self.address)
        self.members[stream.fileno()] = [stream, index, memoryview(self.sends(index))]
        self.events.register(stream, select.EPOLLOUT | GONE | select.EPOLLET)

    def step(self, timeout_s):
        """Takes part for so long. The number of connections that could send something."""
        active = 0
        for descriptor, events in self.events.poll(timeout_s):
            member = self.members[descriptor]
            stream, index, _ = member
            try:
                if events & GONE:
                    raise ConnectionResetError
                while member[2]:
                    member[2] = member[2][stream.send(member[2]):]
                    active += 1
            except BlockingIOError:
                continue
            except OSError:
                self.ended += 1
                del self.members[descriptor]
                stream.close()
                self._come(index)
        return active

    def close(self):
        for stream, _, _ in self.members.values():
            stream.close()
        self.events.close()
