// What this program syncs, file by file: fsync(2) of the code below test is called through this.
#pragma once

#include <sys/types.h>

namespace braid::store::test {

// How often the file with this inode number was synced so far.
int syncs_of(ino_t file);
// The next time it is, that fails with EIO, and nothing is synced.
void fail_next_sync_of(ino_t file);

}  // namespace braid::store::test
