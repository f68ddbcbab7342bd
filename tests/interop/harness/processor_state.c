/* Preloaded into user-mode Linux, whose buffer for a process's registers ends with AVX-512 and PKRU. A host
 * whose processor has more (AMX) takes the registers back only whole, so that the machine would stop at its
 * first process. Reading them is cut to what the caller has room for, and writing them puts that before the
 * rest as it is; the standard format of XSAVE (Intel SDM volume 1, 13.4) has the later parts at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define WHOLE_MAX (64 * 1024)

typedef long (*ptrace_function)(int, ...);

long ptrace(enum __ptrace_request request, ...) {
  static ptrace_function real;
  if (real == NULL) real = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
  va_list arguments;
  va_start(arguments, request);
  const pid_t pid = va_arg(arguments, pid_t);
  void* address = va_arg(arguments, void*);
  void* data = va_arg(arguments, void*);
  va_end(arguments);

  const int reads = request == PTRACE_GETREGSET;
  if ((!reads && request != PTRACE_SETREGSET) || (long)address != NT_X86_XSTATE)
    return real(request, pid, address, data);

  static __thread char bytes[WHOLE_MAX] __attribute__((aligned(64)));
  struct iovec* part = data;
  struct iovec whole = {bytes, sizeof bytes};
  const long failed = real(PTRACE_GETREGSET, pid, address, &whole);
  if (failed != 0) return failed;
  if (part->iov_len > whole.iov_len) part->iov_len = whole.iov_len;
  if (reads) {
    memcpy(part->iov_base, bytes, part->iov_len);
    return 0;
  }
  memcpy(bytes, part->iov_base, part->iov_len);
  return real(PTRACE_SETREGSET, pid, address, &whole);
}
