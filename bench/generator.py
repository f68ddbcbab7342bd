"""Successive versions of a file, as checkpoints are: random bytes, the same for the same seed."""

import os
import random

PAGE = 4096


def rewrite(data, rng, part, run):
    """Replaces `part` of the bytes, in aligned runs."""
    for _ in range(int(len(data) * part / run)):
        at = rng.randrange(len(data) // run) * run
        data[at:at + run] = rng.randbytes(run)


def insert(data, rng, count):
    for _ in range(count):
        at = rng.randrange(len(data))
        data[at:at] = rng.randbytes(rng.randrange(1024, 4097))


def append(data, rng, part):
    data += rng.randbytes(int(len(data) * part))


KINDS = {
    "1 % of pages rewritten": lambda data, rng: rewrite(data, rng, 0.01, PAGE),
    "10 % rewritten in runs of 1 MiB": lambda data, rng: rewrite(data, rng, 0.1, 1 << 20),
    "8 insertions of 1 to 4 KiB": lambda data, rng: insert(data, rng, 8),
    "10 % appended": lambda data, rng: append(data, rng, 0.1),
}


def make(directory, change, size, versions, seed):
    """Writes DIRECTORY/version-N: `size` random bytes, and what `change` makes of them again and again."""
    rng = random.Random(seed)
    data = bytearray(rng.randbytes(size))
    for version in range(versions):
        if version > 0:
            change(data, rng)
        with open(os.path.join(directory, f"version-{version}"), "wb") as file:
            file.write(data)
