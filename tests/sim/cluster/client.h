// A model client with layouts: what a Linux client does, with the parts of it that matter here, and one that
// does not stop using what it was granted.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/gate.h"
#include "tests/sim/cluster/session.h"
#include "tests/sim/cluster/world.h"

namespace braid::sim::cluster {

struct ClientTraits {
  std::uint32_t index = 0;
  std::uint32_t workers = 1;
  std::uint32_t minor_version = 2;  // ALLOCATE and DEALLOCATE there are since 2
  // Goes on to use layouts that it has returned, or was refused by.
  bool stubborn = false;
};

// One layout as it was granted. The stateid is that of the file's latest.
struct Layout {
  bool writes = false;
  std::vector<base::Bytes> handles;    // of the stripe indices
  std::vector<std::uint32_t> servers;  // the same
  std::uint32_t unit = 0;
  std::uint32_t first = 0;
  bool dense = false;
  std::array<std::byte, 16> device{};
  base::TimePoint asked{}, granted{};  // when the client asked for it, and when it came
  // Another layout of the client may have ended meanwhile. The server then does not know which ones of the
  // client's handles are over, and keeps none of these through its truncations.
  bool beside_an_end = false;
  // Returned, or its file closed, and that answered well.
  base::TimePoint given_up = base::TimePoint::max();
  std::uint32_t life = 0;      // of the metadata server
  std::uint32_t instance = 0;  // of the client there
  std::uint32_t lapses = 0;    // of its lease

  struct Place {
    std::size_t index = 0;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] Place place_of(std::uint64_t offset) const;
};
using LayoutRef = std::shared_ptr<Layout>;

// A file that the client has open.
struct Opened {
  std::string name;
  std::string handle;
  FileNumber file = 0;
  stateid4 open{};
  std::uint32_t instance = 0;
  LayoutRef layout;
  stateid4 layout_id{};
  // When the client was asked for the layout, or may have been had there been a way to it.
  std::optional<base::TimePoint> recalled;
  // When it was first asked for one that may have been on its way, and said so.
  std::optional<base::TimePoint> put_off;
  bool disowned = false;  // and said, while it returned it, that it has none
  std::uint32_t io = 0;   // under way by the layout
  bool asking = false;    // for a layout
  base::TimePoint asked_at{};
  bool ending = false;  // the layout is about to be returned, or the file to be closed
  std::map<std::uint32_t, base::Bytes> uncommitted;  // by server: the handle that it was written with
};
using OpenedRef = std::shared_ptr<Opened>;

// One boot. start() once, crash() once; destroyed when ended().
class Client {
 public:
  Client(World& world, const ClientTraits& traits, std::uint32_t boot, const Random& random);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();
  void crash();
  [[nodiscard]] bool ended() const;
  void fall_silent(base::TimePoint until) { silent_until_ = std::max(silent_until_, until); }

 private:
  // --- client.cc
  SessionOp<> pause_between(base::Duration low, base::Duration high);
  SessionOp<> keep_alive();
  SessionOp<> work();
  SessionOp<> one_operation();
  Session& data_session(std::uint32_t server);
  // The client's lease has not run out, as far as it knows.
  [[nodiscard]] bool within_lease() const;
  [[nodiscard]] bool is_current(const Opened& opened) const;
  OpenedRef some_open();

  // --- metadata.cc: what goes to the metadata server.
  [[nodiscard]] static Request at(const std::string& handle);
  SessionOp<> open();
  SessionOp<> close(OpenedRef opened);
  SessionOp<> get_layout(OpenedRef opened, bool writes);
  SessionOp<> ask_for_layout(OpenedRef opened, bool writes);
  SessionOp<bool> learn_device(const std::array<std::byte, 16>& id);
  SessionOp<> return_layout(OpenedRef opened);
  SessionOp<Answer> send_return(OpenedRef opened);
  SessionOp<> commit_layout(OpenedRef opened);
  SessionOp<> remove();
  struct Repeated {
    nfsstat4 status;
    Answer answer;  // its body is next
  };
  // An operation on the file. What is answered NFS4ERR_DELAY has not failed, and may be done: it is sent
  // again, as Linux does. `what`: for the trace.
  SessionOp<Repeated> repeat(OpenedRef opened, Request operation, std::string what);
  SessionOp<> truncate(OpenedRef opened);
  // As Linux does by O_TRUNC.
  SessionOp<> overwrite(OpenedRef opened);
  SessionOp<> look(OpenedRef opened);
  SessionOp<> allocate(OpenedRef opened);
  SessionOp<> deallocate(OpenedRef opened);
  SessionOp<> write_in_band(OpenedRef opened);
  SessionOp<> commit_in_band(OpenedRef opened);
  // What the stateid of a layout has brought that the client holds.
  void check_layout(const Opened& opened, const LayoutRef& layout, const Answer& answer, nfsstat4 status);
  // The tag of a cell; nothing: it cannot be read now.
  SessionOp<std::optional<std::uint64_t>> read_in_band(OpenedRef opened, std::uint32_t cell);
  nfsstat4 recalled(const LayoutRecall& recall);
  SessionOp<> return_recalled(OpenedRef opened);

  // --- data.cc: what goes to data servers.
  SessionOp<> write_by_layout(OpenedRef opened, LayoutRef layout);
  SessionOp<> commit_by_layout(OpenedRef opened);
  SessionOp<std::optional<std::uint64_t>> read_by_layout(OpenedRef opened, LayoutRef layout,
                                                         std::uint32_t cell);
  SessionOp<> read(OpenedRef opened);
  SessionOp<> compare(OpenedRef opened);
  SessionOp<> use_old_layout();
  std::uint64_t taken(FileNumber file, std::uint32_t cell, base::TimePoint sent, const READ4resok& given,
                      std::string_view how);
  void refused(Opened& opened, const LayoutRef& layout);
  void hoard(const OpenedRef& opened);
  // As a call is under way that ends a layout.
  class LayoutEnds;
  // A data server has refused a WRITE.
  void check_refusal(const Opened& opened, const Layout& layout, std::uint32_t server,
                     const base::Bytes& handle);
  // A data server has answered well what was sent then.
  void check_contact(std::uint32_t server, base::TimePoint sent, base::TimePoint limit, FileNumber file);
  [[nodiscard]] std::uint32_t some_cell() { return static_cast<std::uint32_t>(random_.below(world_.cells)); }

  World& world_;
  const ClientTraits traits_;
  const std::uint32_t boot_;
  const std::string owner_;
  Random random_;
  bool crashed_ = false;
  // What ends a layout: under way, and when the last one was.
  std::uint32_t ends_ = 0;
  base::TimePoint last_end_{};
  base::TimePoint silent_until_{};
  Session metadata_;
  std::map<std::uint32_t, std::unique_ptr<Session>> data_;
  std::map<std::string, OpenedRef> opens_;  // by name
  std::map<std::array<std::byte, 16>, std::vector<std::uint32_t>> devices_;
  std::deque<std::pair<OpenedRef, LayoutRef>> hoard_;
  io::Gate gate_;
};

}  // namespace braid::sim::cluster
