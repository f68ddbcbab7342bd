// Which content a file has at the moment, who uses it, and its exchange under load.
#pragma once

#include <array>
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "io/reactor.h"
#include "vfs/content.h"

namespace braid::vfs {

// Of one file of an export that has sources of contents. Thread-safe. At first nobody knows the content: the
// first call that needs it loads it, and the others wait for that.
//
// Each call on the content is a Use from its beginning to its end. exchange() publishes the next content,
// then waits until the calls have ended that began before: what they do to the former content is done then.
// There are two counts of calls, which take turns: new calls go to one, and exchange() waits until the other
// one is empty (as SRCU of Linux does). replace() keeps new calls out, too, until it has ended.
//
// Who waits does so on a reactor, and holds no Use of this slot or of another one: two such could wait for
// each other.
class ContentSlot {
 public:
  ContentSlot() = default;
  // The content is known.
  explicit ContentSlot(ContentRef content)
      : owner_(std::move(content)), current_(owner_.get()), open_(true), known_(true) {}
  ContentSlot(const ContentSlot&) = delete;
  ContentSlot& operator=(const ContentSlot&) = delete;
  ~ContentSlot();

  // A call on the content that the file had when it began. The slot outlives it; any thread may end it.
  class Use {
   public:
    Use(Use&& other) noexcept
        : slot_(std::exchange(other.slot_, nullptr)), side_(other.side_), content_(other.content_) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (slot_ != nullptr) slot_->leave(side_);
    }
    // Null: the file's own bytes. Valid as long as this.
    [[nodiscard]] Content* content() const { return content_; }

   private:
    friend class ContentSlot;
    Use(ContentSlot& slot, unsigned side, Content* content) : slot_(&slot), side_(side), content_(content) {}
    ContentSlot* slot_;
    unsigned side_;
    Content* content_;
  };
  // Nothing, if the content is not known, or is being replaced: acquire() waits for it.
  [[nodiscard]] std::optional<Use> enter();
  // Finds the content of the file.
  using Load = std::function<VfsOp<ContentRef>()>;
  // `load` is called if nobody knows the content and nobody looks for it. Its error is that of all who wait
  // for it; the next one tries again.
  VfsOp<Use> acquire(Load load);

  // Null, too, as long as it is not known. For who wants to keep it: a call on it need not be a Use then, and
  // exchange() does not wait for it.
  [[nodiscard]] ContentRef content() const;

  // From now on calls go to `next`; ends when no call is left that began before, with the content that the
  // file had. Exchanges of one file take turns.
  io::Op<ContentRef> exchange(ContentRef next);
  // Makes the next content of the former one.
  using Replace = std::function<VfsOp<ContentRef>(const ContentRef& former)>;
  // `next` runs while no call does; who comes meanwhile waits. The result is what it says; after its error
  // the file has the content that it had.
  VfsOp<ContentRef> replace(Load load, Replace next);

 private:
  struct Waiter {
    io::Reactor* reactor = nullptr;
    std::coroutine_handle<> handle;
    Waiter* next = nullptr;  // that waits for its turn, too
    void wake() const { reactor->post(handle); }
  };
  class Turn;
  class Drained;

  void leave(unsigned side);
  // The calls of this side may all have ended, and somebody waits for that.
  void look_for_drained(unsigned side);
  // With the turn. `failures`: how many loads had failed when the caller came.
  VfsOp<> make_known(const Load& load, std::uint64_t failures);
  void publish(ContentRef content);
  void end_turn();

  std::atomic<std::uint32_t> generation_{0};  // its lowest bit: the side that new calls go to
  std::array<std::atomic<std::uint32_t>, 2> users_{};
  std::atomic<unsigned> draining_{no_side};  // that somebody waits for

  mutable std::mutex mutex_;  // of what is below
  ContentRef owner_;
  std::atomic<Content*> current_{nullptr};  // written with the lock held, as open_
  std::atomic<bool> open_{false};           // calls may begin
  Waiter drain_{};                          // its handle is null when nobody waits
  bool taken_ = false;                      // somebody has the turn
  Waiter* first_ = nullptr;                 // who waits for it, each in its own frame
  Waiter* last_ = nullptr;

  // Written by who has the turn.
  bool known_ = false;
  Error failure_{};
  std::atomic<std::uint64_t> failures_{0};

  static constexpr unsigned no_side = 2;
};

// A call on the content of a file by who copies from it.
struct ContentHold {
  ContentSlot::Use use;
  std::unique_ptr<Stub> stub;  // null: the file's own bytes
};

}  // namespace braid::vfs
