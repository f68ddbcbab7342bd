"""What the client counts of a mount."""

# Of RDMA connections (Linux, net/sunrpc/xprtrdma/transport.c, xprt_rdma_print_stats()).
NAMES = (
    "port", "bind", "connects", "connect_s", "idle_s", "sends", "receives", "bad_xids", "requests_us", "backlog_us",
    "read_chunks", "write_chunks", "reply_chunks", "offered_bytes", "filled_bytes", "pullup_bytes", "fixup_bytes",
    "hardway_bytes", "failed_marshal", "bad_replies", "long_calls")


def part_of(at):
    with open("/proc/self/mountstats", encoding="ascii") as file:
        return file.read().split(f" mounted on {at} ")[1].split("\ndevice ")[0]


def operations_sent(at, name):
    """How many operations of that name, e.g. OPEN, this mount has sent."""
    for line in part_of(at).splitlines():
        if line.split()[:1] == [name + ":"]:
            return int(line.split()[1])
    return 0


def rdma_counts(at):
    """The counters of the mount by name. Bytes are those of write and reply chunks: offered to the server, and filled by
    it."""
    words = next(line.split() for line in part_of(at).splitlines() if line.split()[:2] == ["xprt:", "rdma"])
    return dict(zip(NAMES, map(int, words[2:])))
