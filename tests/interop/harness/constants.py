"""What both sides of the wire know. It imports nothing: a client's machine is slow to load modules."""

ADDRESS = "10.99.13.1"
PORT = 12049
RDMA_PORT = 20049
DATA_PORT = 13000  # data server N listens on this and N; by RDMA on RDMA_PORT and N

# Status of a test that cannot run here; CTest and Automake both use it.
SKIP = 77
