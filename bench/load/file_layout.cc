#include "bench/load/file_layout.h"

#include <algorithm>
#include <limits>

#include "nfs4/callback/universal_address.h"
#include "pnfs/file_layout.x.h"
#include "xdr/decoder.h"

namespace braid::load {
namespace {

using enum nfs4::nfs_opnum4;

constexpr auto files_type = static_cast<std::uint32_t>(nfs4::layouttype4::LAYOUT4_NFSV4_1_FILES);
constexpr std::uint64_t whole = std::numeric_limits<std::uint64_t>::max();
// What Linux asks for.
constexpr std::uint32_t layout_bytes_max = 4096;
constexpr std::uint32_t device_bytes_max = 65536;
constexpr std::uint32_t low_bits = 63;  // of nfl_util: flags

// LAYOUTGET4resok with one layout, and GETDEVICEINFO4resok, whose bodies are decoded with them.
struct LayoutBody {
  nfs4::stateid4 id;
  pnfs::nfsv4_1_file_layout4 content;
};
bool decode(xdr::Decoder& in, LayoutBody& out) {
  bool on_close = false;
  std::uint64_t range = 0;
  std::uint32_t count = 0, iomode = 0, type = 0, bytes = 0;
  return in.boolean(on_close) && decode(in, out.id) && in.u32(count) && count == 1 && in.u64(range) &&
         in.u64(range) && in.u32(iomode) && in.u32(type) && in.u32(bytes) && decode(in, out.content);
}
struct DeviceBody {
  pnfs::nfsv4_1_file_layout_ds_addr4 content;
};
bool decode(xdr::Decoder& in, DeviceBody& out) {
  std::uint32_t type = 0, bytes = 0;
  return in.u32(type) && in.u32(bytes) && decode(in, out.content);
}

}  // namespace

Step<nfs4::LAYOUTGET4args> get_layout() {
  // RFC 8881 16.2.3.1.2: the current stateid.
  constexpr nfs4::stateid4 current{.seqid = 1, .other = {}};
  return step(OP_LAYOUTGET, nfs4::LAYOUTGET4args{.loga_signal_layout_avail = false,
                                                 .loga_layout_type = files_type,
                                                 .loga_iomode = nfs4::layoutiomode4::LAYOUTIOMODE4_RW,
                                                 .loga_offset = 0,
                                                 .loga_length = whole,
                                                 .loga_minlength = 4096,
                                                 .loga_stateid = current,
                                                 .loga_maxcount = layout_bytes_max});
}

base::Result<FileLayout, Fault> take_layout(Results& results) {
  LayoutBody body;
  if (!results.next(OP_LAYOUTGET, body)) return base::fail(results.fault());
  const pnfs::nfsv4_1_file_layout4& content = body.content;
  if (content.nfl_fh_list.empty()) return base::fail(Fault{"a layout without handles"});
  if ((content.nfl_util & pnfs::NFL4_UFLG_DENSE) != 0)
    return base::fail(Fault{"a layout with dense packing"});
  FileLayout out;
  out.id = body.id;
  out.device = content.nfl_deviceid;
  out.unit = std::max(content.nfl_util & ~low_bits, 1U);
  out.first = content.nfl_first_stripe_index;
  out.handles.reserve(content.nfl_fh_list.size());
  for (const pnfs::layout_handle& handle : content.nfl_fh_list) out.handles.emplace_back(handle.data);
  return out;
}

Step<nfs4::LAYOUTRETURN4args> return_layout(const FileLayout& layout) {
  return step(OP_LAYOUTRETURN,
              nfs4::LAYOUTRETURN4args{
                  .lora_reclaim = false,
                  .lora_layout_type = files_type,
                  .lora_iomode = nfs4::layoutiomode4::LAYOUTIOMODE4_ANY,
                  .lora_layoutreturn = nfs4::layoutreturn4::with_lr_layout(
                      {.lrf_offset = 0, .lrf_length = whole, .lrf_stateid = layout.id, .lrf_body = {}})});
}

Step<nfs4::LAYOUTCOMMIT4args> commit_layout(const FileLayout& layout) {
  nfs4::LAYOUTCOMMIT4args args;
  args.loca_length = whole;
  args.loca_stateid = layout.id;
  args.loca_layoutupdate.lou_type = files_type;
  return step(OP_LAYOUTCOMMIT, args);
}

Step<nfs4::GETDEVICEINFO4args> get_device(const FileLayout& layout) {
  return step(OP_GETDEVICEINFO, nfs4::GETDEVICEINFO4args{.gdia_device_id = layout.device,
                                                         .gdia_layout_type = files_type,
                                                         .gdia_maxcount = device_bytes_max,
                                                         .gdia_notify_types = {}});
}

base::Result<std::vector<rpc::PeerAddress>, Fault> take_device(Results& results) {
  DeviceBody body;
  if (!results.next(OP_GETDEVICEINFO, body)) return base::fail(results.fault());
  const pnfs::nfsv4_1_file_layout_ds_addr4& device = body.content;
  std::vector<rpc::PeerAddress> out;
  for (const std::uint32_t index : device.nflda_stripe_indices) {
    if (index >= device.nflda_multipath_ds_list.size() ||
        device.nflda_multipath_ds_list[index].addresses.empty())
      return base::fail(Fault{"a device without a server's address"});
    const pnfs::layout_address& first = device.nflda_multipath_ds_list[index].addresses.front();
    const auto address = nfs4::callback::parse_universal_address(first.na_r_netid, first.na_r_addr);
    if (!address) return base::fail(Fault{"a data server without an address of TCP"});
    out.push_back(*address);
  }
  return out;
}

}  // namespace braid::load
