// Acting as somebody else for the length of one function: the kernel then checks permissions, quotas and
// set-id bits itself.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "base/guarded.h"
#include "vfs/posix/kernel.h"
#include "vfs/types.h"

namespace braid::vfs::posix {

// Whether this process can take other identities; the same for all its threads. Immutable.
class Identity {
 public:
  // Needs effective user 0 with CAP_SETUID and CAP_SETGID, as those alone make the kernel drop and regain its
  // file-system capabilities when the file-system user changes (capabilities(7)).
  static Identity of_process();

  [[nodiscard]] bool switching() const { return switching_; }
  // True if this process itself may read and write every file, whatever its mode.
  [[nodiscard]] bool opens_all() const { return opens_all_; }
  // Who the owner checks are about: the caller, or this process when it cannot be anybody else.
  [[nodiscard]] std::uint32_t acting_uid(const Credentials& who) const {
    return switching_ ? who.uid : own_uid_;
  }
  // True if nothing is refused to the caller: user 0, and this process may be it.
  [[nodiscard]] bool is_superuser(const Credentials& who) const { return switching_ && who.uid == 0; }

  // Runs f() as `who` on this thread, which is itself again on return. Only the calling thread is touched, so
  // this is fit for reactor threads; f cannot suspend. acces: the kernel does not let us be `who`.
  template <class F>
  auto as(const Credentials& who, F&& f) const -> std::invoke_result_t<F&> {
    static_assert(!base::Awaitable<std::invoke_result_t<F&>>, "nothing suspends as somebody else");
    if (!switching_) return f();
    const Worn worn(who);
    if (!worn.fits()) return base::fail(Error::acces);
    return f();
  }
  // The same with the right that a file's owner has by being it (CAP_FOWNER), where this process may give it.
  template <class F>
  auto as_owner(const Credentials& who, F&& f) const -> std::invoke_result_t<F&> {
    return as(who, [&] {
      const Owning owning(switching_ && who.uid != 0);
      return f();
    });
  }

 private:
  Identity(bool switching, bool opens_all);

  // The thread's file-system identity, taken in the constructor and given back in the destructor.
  class Worn {
   public:
    explicit Worn(const Credentials& who);
    ~Worn();
    Worn(const Worn&) = delete;
    Worn& operator=(const Worn&) = delete;
    [[nodiscard]] bool fits() const { return fits_; }

   private:
    bool fits_;
  };

  // The thread has CAP_FOWNER from the constructor to the destructor, if the process may.
  class Owning {
   public:
    explicit Owning(bool wanted);
    ~Owning();
    Owning(const Owning&) = delete;
    Owning& operator=(const Owning&) = delete;

   private:
    bool raised_;
  };

  bool switching_;
  bool opens_all_;
  std::uint32_t own_uid_;
};

}  // namespace braid::vfs::posix
