// A disk that hangs: preloaded into braid, whose syncs of some files wait as long as somebody wants.
//
// They are the files that are in $STALL_FOLDER when the server starts. Syncs wait while the first byte of the file
// $STALL_GATE is 1.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES_MAX 4096
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const volatile char* gate;
static dev_t device;
static ino_t files[FILES_MAX];
static size_t file_count;

__attribute__((constructor)) static void look(void) {
  const char* folder = getenv("STALL_FOLDER");
  DIR* listing = folder ? opendir(folder) : NULL;
  struct stat what;
  if (!listing || fstat(dirfd(listing), &what) != 0) return;
  device = what.st_dev;
  for (struct dirent* entry; (entry = readdir(listing)) != NULL && file_count < FILES_MAX;)
    if (entry->d_type == DT_REG) files[file_count++] = entry->d_ino;
  closedir(listing);
  const int fd = open(getenv("STALL_GATE"), O_RDONLY | O_CLOEXEC);
  void* mapped = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) gate = mapped;
}

static void stall(int fd) {
  struct stat what;
  if (!gate || !*gate || fstat(fd, &what) != 0 || what.st_dev != device) return;
  for (size_t i = 0; i < file_count; ++i)
    if (files[i] == what.st_ino)
      while (*gate) usleep(10000);
}

int fsync(int fd) {
  stall(fd);
  return REAL(fsync)(fd);
}

int fdatasync(int fd) {
  stall(fd);
  return REAL(fdatasync)(fd);
}

ssize_t pwritev2(int fd, const struct iovec* vectors, int count, off_t offset, int flags) {
  if (flags & (RWF_SYNC | RWF_DSYNC)) stall(fd);
  return REAL(pwritev2)(fd, vectors, count, offset, flags);
}
