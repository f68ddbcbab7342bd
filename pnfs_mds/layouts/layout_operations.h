// The operations of a metadata server (RFC 8881 sections 18.40 to 18.44): rows for its operation table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nfs4/compound/compound.h"
#include "nfs4/compound/operation_table.h"
#include "nfs4/op4.h"
#include "pnfs/file_layout.x.h"
#include "pnfs_mds/layouts/layouts.h"
#include "xdr/encoder.h"

namespace braid::pnfs_mds::layouts {

// Of a server whose kinds of state have Layouts among them.
std::span<const nfs4::Operation> layout_operations();

// LAYOUTGET4resok with one layout, of the whole file.
struct LayoutGranted {
  nfs4::stateid4 id;
  nfs4::layoutiomode4 iomode = nfs4::layoutiomode4::LAYOUTIOMODE4_READ;
  std::vector<vfs::FileHandle> handles;
  std::vector<pnfs::layout_handle> views;  // of them
  pnfs::nfsv4_1_file_layout4 body;         // refers to the views
};
void encode(xdr::Encoder& out, const LayoutGranted& granted);
std::size_t encoded_size(const LayoutGranted& granted);

// GETDEVICEINFO4resok
struct Device {
  std::vector<std::vector<Address>> servers;                 // what the client is told of each
  std::vector<std::vector<pnfs::layout_address>> addresses;  // of each; they refer to `servers`
  std::vector<pnfs::multipath_list4> lists;                  // they refer to `addresses`
  std::vector<std::uint32_t> indices;
  pnfs::nfsv4_1_file_layout_ds_addr4 body;  // refers to them
  std::vector<std::uint32_t> notifications;
};
void encode(xdr::Encoder& out, const Device& device);
std::size_t encoded_size(const Device& device);

// Result bodies of failures: logr_will_signal_layout_avail, and gdir_mincount.
struct TryLater {};
inline void encode(xdr::Encoder& out, const TryLater& /*body*/) { out.boolean(false); }
inline std::size_t encoded_size(const TryLater& /*body*/) { return 4; }
struct TooSmall {
  std::uint32_t bytes_min = 0;
};
inline void encode(xdr::Encoder& out, const TooSmall& body) { out.u32(body.bytes_min); }
inline std::size_t encoded_size(const TooSmall& /*body*/) { return 4; }

nfs4::Op4<LayoutGranted, TryLater> layoutget(nfs4::Compound& compound, const nfs4::LAYOUTGET4args& args);
nfs4::Op4<nfs4::LAYOUTCOMMIT4resok> layoutcommit(nfs4::Compound& compound,
                                                 const nfs4::LAYOUTCOMMIT4args& args);
nfs4::Op4<nfs4::layoutreturn_stateid> layoutreturn(nfs4::Compound& compound,
                                                   const nfs4::LAYOUTRETURN4args& args);
nfs4::Op4<Device, TooSmall> getdeviceinfo(nfs4::Compound& compound, const nfs4::GETDEVICEINFO4args& args);
nfs4::Op4<nfs4::GETDEVICELIST4resok> getdevicelist(nfs4::Compound& compound,
                                                   const nfs4::GETDEVICELIST4args& args);

// The layouts of this server.
Layouts& layouts_of(nfs4::Compound& compound);

}  // namespace braid::pnfs_mds::layouts
