"""A client of the RDMA connection manager that only asks to connect: librdmacm, without a queue pair."""

import ctypes
import itertools
import socket
import struct

ADDRESS_RESOLVED, ROUTE_RESOLVED, CONNECT_RESPONSE, REJECTED = 0, 2, 5, 8  # enum rdma_cm_event_type
PORT_SPACE_TCP = 0x0106
RESOLVE_MS = 5000
# Queue pairs that requests name. There are none, but one that is named twice ends the connection of the first.
QUEUE_PAIRS = itertools.count(0x800000)


class Event(ctypes.Structure):
    """struct rdma_cm_event as far as the private data of a connection."""
    _fields_ = [("id", ctypes.c_void_p), ("listen_id", ctypes.c_void_p), ("event", ctypes.c_int),
                ("status", ctypes.c_int), ("private_data", ctypes.c_void_p), ("private_data_len", ctypes.c_uint8)]


class Parameters(ctypes.Structure):
    """struct rdma_conn_param."""
    _fields_ = [("private_data", ctypes.c_char_p), ("private_data_len", ctypes.c_uint8),
                ("responder_resources", ctypes.c_uint8), ("initiator_depth", ctypes.c_uint8),
                ("flow_control", ctypes.c_uint8), ("retry_count", ctypes.c_uint8), ("rnr_retry_count", ctypes.c_uint8),
                ("srq", ctypes.c_uint8), ("qp_num", ctypes.c_uint32)]


class Request:
    """Asks ADDRESS:PORT for a connection. `accepted` says whether it agreed; if not, `words` are its private data
    and `status` is the reason of InfiniBand's REJ."""

    def __init__(self, address, port, private_data=b""):
        self.library = ctypes.CDLL("librdmacm.so.1", use_errno=True)
        self.library.rdma_create_event_channel.restype = ctypes.c_void_p
        self.channel = ctypes.c_void_p(self.library.rdma_create_event_channel())
        self.id = ctypes.c_void_p()
        self.call("rdma_create_id", self.channel, ctypes.byref(self.id), None, PORT_SPACE_TCP)
        self.call("rdma_resolve_addr", self.id, None, socket_address(address, port), RESOLVE_MS)
        self.await_event(ADDRESS_RESOLVED)
        self.call("rdma_resolve_route", self.id, RESOLVE_MS)
        self.await_event(ROUTE_RESOLVED)
        parameters = Parameters(private_data=private_data, private_data_len=len(private_data), qp_num=next(QUEUE_PAIRS))
        self.call("rdma_connect", self.id, ctypes.byref(parameters))
        event, self.status, self.words = self.await_event(CONNECT_RESPONSE, REJECTED)
        self.accepted = event == CONNECT_RESPONSE

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise OSError(ctypes.get_errno(), name)

    def await_event(self, *wanted):
        """The next event, which must be one of these, and its private data without the zeros behind it."""
        pointer = ctypes.POINTER(Event)()
        self.call("rdma_get_cm_event", self.channel, ctypes.byref(pointer))
        event = pointer.contents
        data = ctypes.string_at(event.private_data, event.private_data_len) if event.private_data else b""
        kind, status = event.event, event.status
        self.call("rdma_ack_cm_event", pointer)
        if kind not in wanted:
            raise OSError(-status if status < 0 else 0, f"event {kind} of the connection manager, status {status}")
        return kind, status, data.rstrip(b"\0")

    def close(self):
        self.call("rdma_destroy_id", self.id)
        self.library.rdma_destroy_event_channel(self.channel)


def socket_address(address, port):
    """struct sockaddr_in or sockaddr_in6."""
    if ":" in address:
        return struct.pack("=H", socket.AF_INET6) + struct.pack(">HI", port, 0) + socket.inet_pton(
            socket.AF_INET6, address) + bytes(4)
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(address) + bytes(8)
