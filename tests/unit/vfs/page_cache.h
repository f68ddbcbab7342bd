// What the page cache is for the tests that count threads.
#pragma once

namespace braid::vfs::test {

// While it lives, a read that may not wait (RWF_NOWAIT of preadv2(2)) gets its bytes if the page cache has
// them or not. The kernel may refuse such a read at any moment: a worker of the file system has the lock of
// the inode, or the pages were needed elsewhere. A test that counts threads does not want that. The program
// is linked with --wrap=preadv2. One at a time.
class ReadsNeverRefused {
 public:
  ReadsNeverRefused();
  ~ReadsNeverRefused();
  ReadsNeverRefused(const ReadsNeverRefused&) = delete;
  ReadsNeverRefused& operator=(const ReadsNeverRefused&) = delete;
};

// While it lives, such a read gets nothing: the kernel refuses it, as it does where the page cache does not
// have the bytes. By itself it need not: the read begins to read ahead, and gets them where that is quick. As
// above.
class ReadsRefused {
 public:
  ReadsRefused();
  ~ReadsRefused();
  ReadsRefused(const ReadsRefused&) = delete;
  ReadsRefused& operator=(const ReadsRefused&) = delete;
};

}  // namespace braid::vfs::test
