"""How other programs store a directory once, without compression where they can do without, and how many bytes its files have."""

import os
import stat

PROGRAMS = ("borg", "restic", "casync")


def file_bytes(directory):
    """Bytes of the regular files, as `braid dedup estimate` counts them."""
    all_files = (os.lstat(os.path.join(where, name)) for where, _, names in os.walk(directory) for name in names)
    inodes = {(file.st_dev, file.st_ino): file.st_size for file in all_files if stat.S_ISREG(file.st_mode)}
    return sum(inodes.values())


def commands(program, source, repository):
    """What makes the program's repository of `source`."""
    return {
        "borg": [["borg", "init", "-e", "none", repository],
                 ["borg", "create", "-C", "none", f"{repository}::all", source]],
        "restic": [["restic", "-q", "-r", repository, "init"],
                   ["restic", "-q", "-r", repository, "backup", "--compression", "off", source]],
        "casync": [["casync", "make", "--compression=zstd", f"--store={repository}", f"{repository}.caidx", source]],
    }[program]


def environment(cache):
    """Of these commands; their caches and settings are in the directory `cache`."""
    return {**os.environ, "RESTIC_PASSWORD": "x", "BORG_BASE_DIR": cache, "XDG_CACHE_HOME": cache}
