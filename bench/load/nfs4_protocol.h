// NFSv4.0 (RFC 7530), 4.1 (RFC 8881) and 4.2 (RFC 7862), in the COMPOUNDs that the Linux client sends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/file_layout.h"
#include "bench/load/nfs4_client.h"
#include "bench/load/protocol.h"

namespace braid::load {

// Makes a connection, and keeps it until the end.
using Connector = std::function<LoadOp<Connection*>(rpc::PeerAddress server)>;

// Each connection is a client of its own.
class Nfs4Protocol final : public Protocol {
 public:
  // `name` is no other client's; `width`: calls at a time. With `connector`, which outlives it, files have
  // layouts, and the data file is read and written by its own.
  Nfs4Protocol(Connection& connection, std::uint32_t minor_version, std::string name, unsigned width,
               Connector connector = {});

  [[nodiscard]] bool usable() const override;
  [[nodiscard]] unsigned width() const override { return client_.width(); }

  LoadOp<> begin() override { return client_.begin(); }
  LoadOp<> end() override;
  LoadOp<Handle> find_export(std::string_view path) override;

  LoadOp<Handle> make_directory(const Handle& parent, std::string_view name) override;
  LoadOp<Handle> make_file(const Handle& parent, std::string_view name) override;
  LoadOp<> remove_directory(const Handle& parent, std::string_view name) override;
  LoadOp<> open_data(const Handle& parent, std::string_view name, const Handle& file) override;
  LoadOp<> close_data() override;

  LoadOp<Done> null() override;
  LoadOp<Done> getattr(const Handle& file) override;
  LoadOp<Done> lookup(const Handle& parent, std::string_view name) override;
  LoadOp<Done> access(const Handle& file) override;
  LoadOp<Done> read(Extent extent) override;
  LoadOp<Done> write(Extent extent, const io::Payload& data, Stability stability) override;
  LoadOp<> commit() override;
  // OPEN and CLOSE.
  LoadOp<Done> create(const Handle& parent, std::string_view name) override;
  LoadOp<Done> remove(const Handle& parent, std::string_view name) override;
  LoadOp<Done> list(const Handle& parent, Listing& listing) override;

 private:
  // An open file, and the owner that opened it.
  struct Opened {
    Handle file;
    nfs4::stateid4 id;
    Lane* owner = nullptr;
    bool confirmed = true;
    std::optional<FileLayout> layout;
  };
  // Of a READ or WRITE: who is asked, and for what.
  struct Aim {
    Nfs4Client& client;
    const Handle& file;
  };
  [[nodiscard]] Aim aim(Extent extent);
  // The servers of the data file's layout, each with a session.
  LoadOp<> reach_data_servers();
  // A COMMIT of all that the server has of the file.
  static LoadOp<> commit_at(Nfs4Client& client, const Handle& file);
  LoadOp<> commit_layout();
  LoadOp<> close_with_layout(Lane& lane, const Opened& opened);
  LoadOp<Opened> open(Lane& lane, const Handle& parent, nfs4::OPEN4args args);
  LoadOp<> confirm(Lane& lane, Opened& opened);
  LoadOp<> close(Lane& lane, const Opened& opened);
  [[nodiscard]] nfs4::OPEN4args open_args(const Lane& lane, std::string_view name,
                                          std::uint32_t access) const;
  [[nodiscard]] nfs4::openflag4 creating(nfs4::createmode4 mode) const;
  LoadOp<Opened> make_and_open(Lane& lane, const Handle& parent, std::string_view name,
                               nfs4::createmode4 mode);

  Nfs4Client client_;
  const Connector connector_;
  std::vector<std::unique_ptr<Nfs4Client>> data_clients_;  // by the index of the device
  io::Payload file_mode_;                                  // the values of a fattr4 that has a mode
  io::Payload directory_mode_;                             // the same
  std::optional<Opened> data_;
};

}  // namespace braid::load
