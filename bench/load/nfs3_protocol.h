// NFSv3 (RFC 1813).
#pragma once

#include <string>

#include "bench/load/protocol.h"
#include "nfs3/nfs3.x.h"

namespace braid::load {

class Nfs3Protocol final : public Protocol {
 public:
  // `mount`: to the server's MOUNT port; find_export() and end() use it.
  Nfs3Protocol(Connection& connection, Connection& mount) : connection_(connection), mount_(mount) {}

  [[nodiscard]] bool usable() const override { return connection_.connected(); }
  [[nodiscard]] unsigned width() const override { return width_max; }

  LoadOp<> begin() override { return base::Result<void, Fault>(); }
  LoadOp<> end() override;
  LoadOp<Handle> find_export(std::string_view path) override;

  LoadOp<Handle> make_directory(const Handle& parent, std::string_view name) override;
  LoadOp<Handle> make_file(const Handle& parent, std::string_view name) override;
  LoadOp<> remove_directory(const Handle& parent, std::string_view name) override;
  LoadOp<> open_data(const Handle& parent, std::string_view name, const Handle& file) override;
  LoadOp<> close_data() override { return base::Result<void, Fault>(); }

  LoadOp<Done> null() override;
  LoadOp<Done> getattr(const Handle& file) override;
  LoadOp<Done> lookup(const Handle& parent, std::string_view name) override;
  LoadOp<Done> access(const Handle& file) override;
  LoadOp<Done> read(Extent extent) override;
  LoadOp<Done> write(Extent extent, const io::Payload& data, Stability stability) override;
  LoadOp<> commit() override;
  LoadOp<Done> create(const Handle& parent, std::string_view name) override;
  LoadOp<Done> remove(const Handle& parent, std::string_view name) override;
  LoadOp<Done> list(const Handle& parent, Listing& listing) override;

 private:
  static constexpr unsigned width_max = 16;

  // Any status but NFS3_OK is a Fault; `look` sees the OK arm.
  template <class Res, class Args, class Look>
  LoadOp<Done> call(nfs3::NFS_V3_procedure procedure, Args args, Look look);
  template <class Res, class Args>
  LoadOp<Done> call(nfs3::NFS_V3_procedure procedure, Args args);

  Connection& connection_;
  Connection& mount_;
  Handle data_;
  std::string mounted_;  // what find_export() mounted
};

}  // namespace braid::load
