// A version of NFS over one connection, as far as a load needs it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bench/load/connection.h"
#include "bench/load/handle.h"
#include "bench/load/options.h"
#include "bench/load/outcome.h"
#include "io/payload.h"

namespace braid::load {

// Where a listing of a directory stands; cookie 0 is the beginning (RFC 1813 3.3.17, RFC 7530 16.24).
struct Listing {
  std::uint64_t cookie = 0;
  std::array<std::byte, 8> verifier{};
};

// Which part of the file to read or write.
struct Extent {
  std::uint64_t offset = 0;
  std::uint32_t count = 0;
};

// Belongs to the thread of its connection, which outlives it. What handles and names given to it refer to
// must stay until the Op ends.
class Protocol {
 public:
  Protocol() = default;
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;
  virtual ~Protocol() = default;

  // False once nothing more can succeed.
  [[nodiscard]] virtual bool usable() const = 0;
  // The most calls at a time.
  [[nodiscard]] virtual unsigned width() const = 0;

  // Makes the server's acquaintance: first. end() comes last, after a failure of begin() too.
  virtual LoadOp<> begin() = 0;
  virtual LoadOp<> end() = 0;
  // The directory that the server offers as `path`.
  virtual LoadOp<Handle> find_export(std::string_view path) = 0;

  // Preparing and cleaning up.
  virtual LoadOp<Handle> make_directory(const Handle& parent, std::string_view name) = 0;
  virtual LoadOp<Handle> make_file(const Handle& parent, std::string_view name) = 0;
  virtual LoadOp<> remove_directory(const Handle& parent, std::string_view name) = 0;
  // The file that read() and write() are about from now on.
  virtual LoadOp<> open_data(const Handle& parent, std::string_view name, const Handle& file) = 0;
  virtual LoadOp<> close_data() = 0;

  // What can be measured, each as the Linux client does it.
  virtual LoadOp<Done> null() = 0;
  virtual LoadOp<Done> getattr(const Handle& file) = 0;
  virtual LoadOp<Done> lookup(const Handle& parent, std::string_view name) = 0;
  virtual LoadOp<Done> access(const Handle& file) = 0;
  virtual LoadOp<Done> read(Extent extent) = 0;
  virtual LoadOp<Done> write(Extent extent, const io::Payload& data, Stability stability) = 0;
  // Of the whole data file; with a layout at all of its servers, and LAYOUTCOMMIT after that.
  virtual LoadOp<> commit() = 0;
  // Of a file that is not there.
  virtual LoadOp<Done> create(const Handle& parent, std::string_view name) = 0;
  virtual LoadOp<Done> remove(const Handle& parent, std::string_view name) = 0;
  // The next part of a listing with attributes; begins anew after the last.
  virtual LoadOp<Done> list(const Handle& parent, Listing& listing) = 0;
};

}  // namespace braid::load
