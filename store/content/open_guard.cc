#include "store/content/open_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "store/recipes/record.h"

namespace braid::store {
namespace {

constexpr std::size_t events_bytes = 1024;  // some 40 events, each with a descriptor

// As ps(1) calls it; empty: nobody says.
std::string program_of(pid_t process) {
  const base::UniqueFd fd(::open(fmt::format("/proc/{}/comm", process).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64> name{};
  const ssize_t size = fd ? ::read(fd.get(), name.data(), name.size()) : 0;
  if (size <= 1) return {};
  return {name.data(), static_cast<std::size_t>(size) - 1};
}

}  // namespace

base::Result<std::unique_ptr<OpenGuard>> OpenGuard::start() {
  // The descriptors that come with events.
  constexpr unsigned opened_as = O_RDONLY | O_CLOEXEC | O_NOATIME | O_LARGEFILE;
  base::UniqueFd events(
      ::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE, opened_as));
  if (!events) return base::fail(base::last_errno());
  base::UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop) return base::fail(base::last_errno());
  return std::unique_ptr<OpenGuard>(new OpenGuard(std::move(events), std::move(stop)));
}

OpenGuard::OpenGuard(base::UniqueFd events, base::UniqueFd stop)
    : events_(std::move(events)),
      stop_(std::move(stop)),
      self_(::getpid()),
      program_(program_of(self_)),
      thread_([this] {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
        answer_all();
      }) {}

OpenGuard::~OpenGuard() {
  const std::uint64_t once = 1;
  (void)!::write(stop_.get(), &once, sizeof once);
  thread_.join();
}

base::Result<void> OpenGuard::watch(const std::string& directory) {
  if (::fanotify_mark(events_.get(), FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN_PERM, AT_FDCWD,
                      directory.c_str()) != 0)
    return base::fail(base::last_errno());
  return {};
}

std::vector<OpenGuard::Refusal> OpenGuard::take_refusals() {
  return refusals_.with([](auto& refusals) { return std::exchange(refusals, {}); });
}

void OpenGuard::answer_all() {
  std::array<pollfd, 2> waits{{{.fd = events_.get(), .events = POLLIN, .revents = 0},
                               {.fd = stop_.get(), .events = POLLIN, .revents = 0}}};
  for (;;) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;  // EINTR
    if (waits[1].revents != 0) return;
    answer_some();
  }
}

// Where no descriptor can be had for an event (EMFILE), the kernel refuses that open by itself.
void OpenGuard::answer_some() {
  alignas(fanotify_event_metadata) std::array<char, events_bytes> room;
  const ssize_t got = ::read(events_.get(), room.data(), room.size());
  if (got <= 0) return;
  auto left = static_cast<std::size_t>(got);
  const auto* event = reinterpret_cast<const fanotify_event_metadata*>(room.data());
  for (; FAN_EVENT_OK(event, left); event = FAN_EVENT_NEXT(event, left)) {
    if (event->fd < 0) continue;
    const base::UniqueFd opened(event->fd);
    const bool may = may_open(*event);
    ++asked_;
    // As long as it waits it is there.
    if (!may) note(event->pid, event->fd);
    if (!may) ++refused_;
    const fanotify_response answer{.fd = event->fd,
                                   .response = static_cast<std::uint32_t>(may ? FAN_ALLOW : FAN_DENY)};
    // ENOENT: who asked has been killed.
    (void)!::write(events_.get(), &answer, sizeof answer);
  }
}

bool OpenGuard::may_open(const fanotify_event_metadata& event) {
  if (event.pid == self_ || ::fgetxattr(event.fd, record_name, nullptr, 0) < 0) return true;
  return event.pid > 0 && !program_.empty() && program_of(event.pid) == program_;
}

void OpenGuard::note(pid_t process, int fd) {
  struct stat now{};
  if (::fstat(fd, &now) != 0) return;
  Refusal refusal{.process = process, .program = program_of(process), .fileid = now.st_ino};
  refusals_.with([&](auto& refusals) {
    if (refusals.size() < refusals_max) refusals.push_back(std::move(refusal));
  });
}

}  // namespace braid::store
