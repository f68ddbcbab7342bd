#include "bench/load/nfs3_protocol.h"

#include <utility>

#include "bench/load/mount.h"

namespace braid::load {

namespace {

using nfs3::NFS_V3_procedure;

// What the Linux client asks for by default.
constexpr std::uint32_t directory_bytes_max = 32 * base::KiB;

nfs3::nfs_fh3 wire(const Handle& handle) { return {.data = handle.view()}; }

nfs3::sattr3 attributes_with_mode(std::uint32_t mode) {
  nfs3::sattr3 attributes;
  attributes.mode = nfs3::set_mode3::with_mode(mode);
  return attributes;
}

nfs3::CREATE3args create_args(const Handle& parent, std::string_view name, nfs3::createmode3 mode) {
  return {.where = {.dir = wire(parent), .name = name},
          .how = nfs3::createhow3::with_obj_attributes(mode, attributes_with_mode(0644))};
}

// CREATE and MKDIR may leave out the handle; servers that do would need a LOOKUP, and none is known.
template <class Resok>
base::Result<Done, Fault> take_handle(const Resok& resok, Handle& to) {
  if (resok.obj.handle() == nullptr) return base::fail(Fault{"a new file without a handle"});
  to = Handle(resok.obj.handle()->data);
  return Done{};
}

nfs3::stable_how wire_stability(Stability stability) {
  switch (stability) {
    case Stability::unstable:
      return nfs3::stable_how::UNSTABLE;
    case Stability::data_sync:
      return nfs3::stable_how::DATA_SYNC;
    case Stability::file_sync:
      return nfs3::stable_how::FILE_SYNC;
  }
  return nfs3::stable_how::UNSTABLE;
}

}  // namespace

template <class Res, class Args, class Look>
LoadOp<Done> Nfs3Protocol::call(NFS_V3_procedure procedure, Args args, Look look) {
  return connection_.call<Done>(
      {nfs3::NFS_PROGRAM, nfs3::NFS_V3, static_cast<std::uint32_t>(procedure)},
      [args = std::move(args)](xdr::Encoder& out) { encode(out, args); },
      [look = std::move(look)](xdr::Decoder& in) -> base::Result<Done, Fault> {
        Res res;
        if (!decode(in, res)) return base::fail(Fault{"results that do not decode"});
        if (res.status != nfs3::nfsstat3::NFS3_OK)
          return base::fail(Fault{nfs3::name_of(res.status), res.status == nfs3::nfsstat3::NFS3ERR_JUKEBOX});
        return look(*res.resok());
      });
}

template <class Res, class Args>
LoadOp<Done> Nfs3Protocol::call(NFS_V3_procedure procedure, Args args) {
  return call<Res>(procedure, std::move(args),
                   [](const auto&) -> base::Result<Done, Fault> { return Done{}; });
}

LoadOp<Handle> Nfs3Protocol::find_export(std::string_view path) {
  const Handle root = co_await mount(mount_, path);
  mounted_ = path;
  co_return root;
}

LoadOp<> Nfs3Protocol::end() {
  if (!mounted_.empty()) co_await unmount(mount_, mounted_);
}

LoadOp<Handle> Nfs3Protocol::make_directory(const Handle& parent, std::string_view name) {
  Handle made;
  const nfs3::MKDIR3args args{.where = {.dir = wire(parent), .name = name},
                              .attributes = attributes_with_mode(0755)};
  co_await call<nfs3::MKDIR3res>(NFS_V3_procedure::NFSPROC3_MKDIR, args,
                                 [&made](const auto& resok) { return take_handle(resok, made); });
  co_return made;
}

LoadOp<Handle> Nfs3Protocol::make_file(const Handle& parent, std::string_view name) {
  Handle made;
  co_await call<nfs3::CREATE3res>(NFS_V3_procedure::NFSPROC3_CREATE,
                                  create_args(parent, name, nfs3::createmode3::GUARDED),
                                  [&made](const auto& resok) { return take_handle(resok, made); });
  co_return made;
}

LoadOp<> Nfs3Protocol::remove_directory(const Handle& parent, std::string_view name) {
  const nfs3::RMDIR3args args{.object = {.dir = wire(parent), .name = name}};
  co_await call<nfs3::RMDIR3res>(NFS_V3_procedure::NFSPROC3_RMDIR, args);
}

LoadOp<> Nfs3Protocol::open_data(const Handle& /*parent*/, std::string_view /*name*/, const Handle& file) {
  data_ = file;
  return base::Result<void, Fault>();
}

LoadOp<Done> Nfs3Protocol::null() { return connection_.call_null({nfs3::NFS_PROGRAM, nfs3::NFS_V3, 0}); }

LoadOp<Done> Nfs3Protocol::getattr(const Handle& file) {
  return call<nfs3::GETATTR3res>(NFS_V3_procedure::NFSPROC3_GETATTR,
                                 nfs3::GETATTR3args{.object = wire(file)});
}

LoadOp<Done> Nfs3Protocol::lookup(const Handle& parent, std::string_view name) {
  return call<nfs3::LOOKUP3res>(NFS_V3_procedure::NFSPROC3_LOOKUP,
                                nfs3::LOOKUP3args{.what = {.dir = wire(parent), .name = name}});
}

LoadOp<Done> Nfs3Protocol::access(const Handle& file) {
  constexpr std::uint32_t all =
      nfs3::ACCESS3_READ | nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND | nfs3::ACCESS3_EXECUTE;
  return call<nfs3::ACCESS3res>(NFS_V3_procedure::NFSPROC3_ACCESS,
                                nfs3::ACCESS3args{.object = wire(file), .access = all});
}

LoadOp<Done> Nfs3Protocol::read(Extent extent) {
  const nfs3::READ3args args{.file = wire(data_), .offset = extent.offset, .count = extent.count};
  return call<nfs3::READ3res>(
      NFS_V3_procedure::NFSPROC3_READ, args,
      [count = extent.count](const nfs3::READ3resok& ok) -> base::Result<Done, Fault> {
        if (ok.count != count || ok.data.size() != count) return base::fail(Fault{"short READ"});
        return Done{.bytes = count};
      });
}

LoadOp<Done> Nfs3Protocol::write(Extent extent, const io::Payload& data, Stability stability) {
  const nfs3::WRITE3args args{.file = wire(data_),
                              .offset = extent.offset,
                              .count = extent.count,
                              .stable = wire_stability(stability),
                              .data = data};
  return call<nfs3::WRITE3res>(
      NFS_V3_procedure::NFSPROC3_WRITE, args,
      [count = extent.count, asked = args.stable](const nfs3::WRITE3resok& ok) -> base::Result<Done, Fault> {
        if (ok.count != count) return base::fail(Fault{"short WRITE"});
        if (ok.committed < asked) return base::fail(Fault{"WRITE less stable than asked"});
        return Done{.bytes = count};
      });
}

LoadOp<> Nfs3Protocol::commit() {
  co_await call<nfs3::COMMIT3res>(NFS_V3_procedure::NFSPROC3_COMMIT,
                                  nfs3::COMMIT3args{.file = wire(data_), .offset = 0, .count = 0});
}

LoadOp<Done> Nfs3Protocol::create(const Handle& parent, std::string_view name) {
  return call<nfs3::CREATE3res>(NFS_V3_procedure::NFSPROC3_CREATE,
                                create_args(parent, name, nfs3::createmode3::UNCHECKED));
}

LoadOp<Done> Nfs3Protocol::remove(const Handle& parent, std::string_view name) {
  return call<nfs3::REMOVE3res>(NFS_V3_procedure::NFSPROC3_REMOVE,
                                nfs3::REMOVE3args{.object = {.dir = wire(parent), .name = name}});
}

LoadOp<Done> Nfs3Protocol::list(const Handle& parent, Listing& listing) {
  const nfs3::READDIRPLUS3args args{.dir = wire(parent),
                                    .cookie = listing.cookie,
                                    .cookieverf = listing.verifier,
                                    .dircount = directory_bytes_max,
                                    .maxcount = directory_bytes_max};
  return call<nfs3::READDIRPLUS3res>(
      NFS_V3_procedure::NFSPROC3_READDIRPLUS, args,
      [&listing](const nfs3::READDIRPLUS3resok& ok) -> base::Result<Done, Fault> {
        const auto entries = ok.reply.entries;
        if (entries.empty() && !ok.reply.eof) return base::fail(Fault{"READDIRPLUS without progress"});
        listing = ok.reply.eof ? Listing{} : Listing{entries.back().cookie, ok.cookieverf};
        return Done{.bytes = 0, .entries = static_cast<std::uint32_t>(entries.size())};
      });
}

}  // namespace braid::load
