"""What the client counts of its RDMA connections (Linux, net/sunrpc/xprtrdma/transport.c, xprt_rdma_print_stats())."""

NAMES = (
    "port", "bind", "connects", "connect_s", "idle_s", "sends", "receives", "bad_xids", "requests_us", "backlog_us",
    "read_chunks", "write_chunks", "reply_chunks", "offered_bytes", "filled_bytes", "pullup_bytes", "fixup_bytes",
    "hardway_bytes", "failed_marshal", "bad_replies", "long_calls")


def rdma_counts(at):
    """The counters of the mount by name. Bytes are those of write and reply chunks: offered to the server, and filled by
    it."""
    with open("/proc/self/mountstats", encoding="ascii") as file:
        part = file.read().split(f" mounted on {at} ")[1].split("\ndevice ")[0]
    words = next(line.split() for line in part.splitlines() if line.split()[:2] == ["xprt:", "rdma"])
    return dict(zip(NAMES, map(int, words[2:])))
