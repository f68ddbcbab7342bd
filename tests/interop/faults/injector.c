// System calls of the server that fail on demand: preloaded into braid, whose calls of the C library come here first.
//
// $FAULTS_CONTROL is a file of one struct Control (faults/control.py writes it). Only calls on the file system of
// $FAULTS_ROOT are met: the server's own files are left alone.
//
// When a kernel fails to write the dirty pages of a file, fsync(2) says so once, and the pages count as clean from then on:
// what was written may be gone. So a sync of a file that fails here also brings back what the disk has of that file, which
// is what the last sync that succeeded had found.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// The numbers are those of CALLS in control.py.
enum Call {
  CALL_FSYNC = 1, CALL_FDATASYNC, CALL_SYNCFS, CALL_PWRITEV2, CALL_SPLICE, CALL_OPENAT,
  CALL_OPEN_BY_HANDLE_AT, CALL_RENAMEAT, CALL_UNLINKAT, CALL_MKDIRAT, CALL_SYMLINKAT, CALL_LINKAT, CALL_FTRUNCATE,
  CALL_SETXATTR, CALL_STATX, CALL_PWRITE, CALL_COPY_FILE_RANGE
};

// In place of an errno: the call does not return as long as it is told so, and then it is made.
#define HANGS 0xFFFFFFFFu

struct Control {
  uint32_t call;   // 0: none fails
  uint32_t error;  // the errno, or HANGS
  uint32_t nth;    // the n-th call from now on; 0: every one
  uint32_t met;    // calls since then
  uint32_t failed; // of these
};

#define FILES_MAX 4096

// What the disk has of a file.
struct OnDisk {
  ino_t inode;  // with the time of birth: numbers are used again
  struct statx_timestamp born;
  size_t bytes;
  char* data;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct Control* control;
static struct OnDisk files[FILES_MAX];
static size_t file_count;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void map_control(void) {
  const char* path = getenv("FAULTS_CONTROL");
  const int fd = path ? REAL(open)(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* mapped = mmap(NULL, sizeof(struct Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) control = mapped;
}

static int is_ours(const struct stat* what) {
  struct stat root;
  const char* path = getenv("FAULTS_ROOT");
  return path && stat(path, &root) == 0 && what->st_dev == root.st_dev;
}

static int fd_is_ours(int fd) {
  struct stat what;
  return control && fstat(fd, &what) == 0 && is_ours(&what);
}

// `path` may be relative to `directory`; of a name that is not there yet, the directory says it.
static int path_is_ours(int directory, const char* path) {
  struct stat what;
  if (!control) return 0;
  if (fstatat(directory, path, &what, 0) == 0) return is_ours(&what);
  return directory != AT_FDCWD && fd_is_ours(directory);
}

// The errno with which this call fails, or 0. Under the mutex.
static int next(enum Call call) {
  if (control->call != (uint32_t)call) return 0;
  const uint32_t number = ++control->met;
  if (control->nth != 0 && control->nth != number) return 0;
  ++control->failed;
  if (control->error != HANGS) return (int)control->error;
  const volatile uint32_t* armed = &control->call;
  pthread_mutex_unlock(&mutex);
  while (*armed == (uint32_t)call) usleep(10000);
  pthread_mutex_lock(&mutex);
  return 0;
}

static struct OnDisk* on_disk(int fd) {
  struct statx what;
  if (REAL(statx)(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &what) != 0) abort();
  for (size_t i = 0; i < file_count; ++i)
    if (files[i].inode == what.stx_ino && memcmp(&files[i].born, &what.stx_btime, sizeof what.stx_btime) == 0)
      return &files[i];
  if (file_count == FILES_MAX) abort();
  files[file_count].inode = what.stx_ino;
  files[file_count].born = what.stx_btime;
  return &files[file_count++];
}

// A descriptor of the same file that may be read and written.
static int reopen(int fd) {
  char path[64] = "/proc/self/fd/";
  char digits[12];
  int at = 0;
  for (int rest = fd; at == 0 || rest > 0; rest /= 10) digits[at++] = (char)('0' + rest % 10);
  size_t end = strlen(path);
  while (at > 0) path[end++] = digits[--at];
  path[end] = '\0';
  return REAL(open)(path, O_RDWR | O_CLOEXEC);
}

// The disk has these bytes now; of no others is anything known that was not known before.
static void remember(int fd, size_t from, size_t bytes) {
  struct stat what;
  if (fstat(fd, &what) != 0 || !S_ISREG(what.st_mode)) return;
  const int again = reopen(fd);
  if (again < 0) return;
  struct OnDisk* file = on_disk(again);
  const size_t size = (size_t)what.st_size;
  const size_t end = bytes < size - from ? from + bytes : size;
  file->data = realloc(file->data, size + 1);
  if (!file->data) abort();
  if (size > file->bytes) memset(file->data + file->bytes, 0, size - file->bytes);
  file->bytes = size;
  if (end > from && pread(again, file->data + from, end - from, (off_t)from) < 0) abort();
  close(again);
}

static void lose(int fd) {
  struct stat what;
  if (fstat(fd, &what) != 0 || !S_ISREG(what.st_mode)) return;
  const int again = reopen(fd);
  if (again < 0) return;
  const struct OnDisk* file = on_disk(again);
  // The size stays: the kernel keeps what it has in memory of the inode.
  if (REAL(fallocate)(again, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, what.st_size + 1) != 0) abort();
  if (file->bytes > 0 && REAL(pwrite)(again, file->data, file->bytes, 0) < 0) abort();
  if (REAL(fsync)(again) != 0) abort();
  close(again);
}

// A sync of these bytes of `fd`: fails if it is its turn, or makes the call.
#define SYNC(call, fd, from, bytes, made)      \
  do {                                         \
    if (!fd_is_ours(fd)) return made;          \
    pthread_mutex_lock(&mutex);                \
    const int error_ = next(call);             \
    const ssize_t done_ = error_ ? -1 : made;  \
    const int kept_ = error_ ? error_ : errno; \
    if (error_) lose(fd);                      \
    if (done_ >= 0) remember(fd, from, bytes); \
    pthread_mutex_unlock(&mutex);              \
    errno = kept_;                             \
    return (__typeof__(made))done_;            \
  } while (0)

#define MEET(call, ours, made)                 \
  do {                                         \
    if (!(ours)) return made;                  \
    pthread_mutex_lock(&mutex);                \
    const int error_ = next(call);             \
    pthread_mutex_unlock(&mutex);              \
    if (!error_) return made;                  \
    errno = error_;                            \
    return -1;                                 \
  } while (0)

int fsync(int fd) { SYNC(CALL_FSYNC, fd, 0, SIZE_MAX, REAL(fsync)(fd)); }
int fdatasync(int fd) { SYNC(CALL_FDATASYNC, fd, 0, SIZE_MAX, REAL(fdatasync)(fd)); }
int syncfs(int fd) { MEET(CALL_SYNCFS, fd_is_ours(fd), REAL(syncfs)(fd)); }

// One that is stable is a sync of what it writes, too.
ssize_t pwritev2(int fd, const struct iovec* vectors, int count, off_t offset, int flags) {
  if (flags & (RWF_DSYNC | RWF_SYNC))
    SYNC(CALL_PWRITEV2, fd, (size_t)offset, (size_t)done_, REAL(pwritev2)(fd, vectors, count, offset, flags));
  MEET(CALL_PWRITEV2, fd_is_ours(fd), REAL(pwritev2)(fd, vectors, count, offset, flags));
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  MEET(CALL_PWRITE, fd_is_ours(fd), REAL(pwrite)(fd, from, bytes, offset));
}

ssize_t copy_file_range(int in, off64_t* from, int out, off64_t* to, size_t bytes, unsigned flags) {
  MEET(CALL_COPY_FILE_RANGE, fd_is_ours(out), REAL(copy_file_range)(in, from, out, to, bytes, flags));
}

ssize_t splice(int in, off64_t* from, int out, off64_t* to, size_t bytes, unsigned flags) {
  MEET(CALL_SPLICE, fd_is_ours(out), REAL(splice)(in, from, out, to, bytes, flags));
}

static mode_t mode_in(int flags, va_list list) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_in(flags, list);
  va_end(list);
  MEET(CALL_OPENAT, path_is_ours(AT_FDCWD, path), REAL(open)(path, flags, mode));
}

int openat(int directory, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_in(flags, list);
  va_end(list);
  MEET(CALL_OPENAT, path_is_ours(directory, path), REAL(openat)(directory, path, flags, mode));
}

int open_by_handle_at(int mount, struct file_handle* handle, int flags) {
  MEET(CALL_OPEN_BY_HANDLE_AT, fd_is_ours(mount), REAL(open_by_handle_at)(mount, handle, flags));
}

int renameat(int from, const char* from_name, int to, const char* to_name) {
  MEET(CALL_RENAMEAT, fd_is_ours(from), REAL(renameat)(from, from_name, to, to_name));
}

int unlinkat(int directory, const char* name, int flags) {
  MEET(CALL_UNLINKAT, fd_is_ours(directory), REAL(unlinkat)(directory, name, flags));
}

int mkdirat(int directory, const char* name, mode_t mode) {
  MEET(CALL_MKDIRAT, fd_is_ours(directory), REAL(mkdirat)(directory, name, mode));
}

int symlinkat(const char* target, int directory, const char* name) {
  MEET(CALL_SYMLINKAT, fd_is_ours(directory), REAL(symlinkat)(target, directory, name));
}

int linkat(int from, const char* from_name, int to, const char* to_name, int flags) {
  MEET(CALL_LINKAT, fd_is_ours(to), REAL(linkat)(from, from_name, to, to_name, flags));
}

int ftruncate(int fd, off_t bytes) { MEET(CALL_FTRUNCATE, fd_is_ours(fd), REAL(ftruncate)(fd, bytes)); }

int setxattr(const char* path, const char* name, const void* value, size_t bytes, int flags) {
  MEET(CALL_SETXATTR, path_is_ours(AT_FDCWD, path), REAL(setxattr)(path, name, value, bytes, flags));
}

int statx(int directory, const char* restrict path, int flags, unsigned mask, struct statx* restrict out) {
  MEET(CALL_STATX, path_is_ours(directory, path), REAL(statx)(directory, path, flags, mask, out));
}
