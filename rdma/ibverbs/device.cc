#include "rdma/ibverbs/device.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace braid::rdma::ibverbs {
namespace {

class IbRegion final : public MemoryRegion {
 public:
  explicit IbRegion(ibv_mr* region) : region_(region) {}
  ~IbRegion() override { ::ibv_dereg_mr(region_); }
  IbRegion(const IbRegion&) = delete;
  IbRegion& operator=(const IbRegion&) = delete;
  [[nodiscard]] LocalKey local_key() const override { return LocalKey(region_->lkey); }
  [[nodiscard]] RemoteKey remote_key() const override { return RemoteKey(region_->rkey); }

 private:
  ibv_mr* const region_;
};

unsigned flags_of(Access access) {
  switch (access) {
    case Access::local:
      break;
    case Access::remote_read:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    case Access::remote_write:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  }
  return IBV_ACCESS_LOCAL_WRITE;
}

Port::State state_of(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_INIT:
      return Port::State::initializing;
    case IBV_PORT_ARMED:
      return Port::State::armed;
    case IBV_PORT_ACTIVE:
    case IBV_PORT_ACTIVE_DEFER:
      return Port::State::active;
    case IBV_PORT_NOP:
    case IBV_PORT_DOWN:
      break;
  }
  return Port::State::down;
}

base::Result<std::unique_ptr<MemoryRegion>> wrapped(ibv_mr* region) {
  if (region == nullptr) return base::fail(base::last_errno());
  return std::make_unique<IbRegion>(region);
}

}  // namespace

IbDevice::IbDevice(ibv_context* context, ibv_pd* domain)
    : context_(context), domain_(domain), name_(::ibv_get_device_name(context->device)) {}

IbDevice::~IbDevice() { ::ibv_dealloc_pd(domain_); }

base::Result<std::unique_ptr<IbDevice>> IbDevice::open(ibv_context* context) {
  if (context->device->transport_type != IBV_TRANSPORT_IB) return base::fail(ENOTSUP);
  ibv_pd* domain = ::ibv_alloc_pd(context);
  if (domain == nullptr) return base::fail(base::last_errno());
  std::unique_ptr<IbDevice> device(new IbDevice(context, domain));
  if (auto asked = device->query(); !asked) return base::fail(asked.error());
  return device;
}

base::Result<void> IbDevice::query() {
  ibv_device_attr_ex extended{};
  if (const int error = ::ibv_query_device_ex(context_, nullptr, &extended); error != 0)
    return base::fail(error);
  const ibv_device_attr& all = extended.orig_attr;
  constexpr std::uint32_t pieces_useful = 16;  // more make the device's queues large
  limits_.requests_max = static_cast<std::uint32_t>(all.max_qp_wr);
  // RDMA Reads may be limited more than others.
  const int pieces = all.max_sge_rd > 0 ? std::min(all.max_sge, all.max_sge_rd) : all.max_sge;
  limits_.pieces_max = std::min(pieces_useful, static_cast<std::uint32_t>(pieces));
  limits_.reads_max = static_cast<std::uint32_t>(std::min(all.max_qp_init_rd_atom, 255));
  completions_max_ = all.max_cqe;
  ports_ = all.phys_port_cnt;
  // InfiniBand 10.6.5: what ibv_reg_mr() made cannot be invalidated by a peer, only memory windows can.
  limits_.invalidation = false;
  limits_.sends_invalidate = (all.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0;
  constexpr std::uint32_t needed =
      IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  limits_.on_demand = (extended.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT) != 0 &&
                      (extended.odp_caps.per_transport_caps.rc_odp_caps & needed) == needed;
  return {};
}

std::vector<Port> IbDevice::ports() const {
  std::vector<Port> out;
  for (unsigned number = 1; number <= ports_; ++number) {
    ibv_port_attr port{};
    const bool known = ibv_query_port(context_, static_cast<std::uint8_t>(number), &port) == 0;
    out.push_back({number, known ? state_of(port.state) : Port::State::down});
  }
  return out;
}

base::Result<std::unique_ptr<MemoryRegion>> IbDevice::register_memory(base::MutableBytes memory,
                                                                      Access access) {
  return wrapped(::ibv_reg_mr(domain_, memory.data(), memory.size(), flags_of(access)));
}

base::Result<std::unique_ptr<MemoryRegion>> IbDevice::register_everything() {
  if (!limits_.on_demand) return base::fail(ENOTSUP);
  return wrapped(::ibv_reg_mr(domain_, nullptr, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND));
}

}  // namespace braid::rdma::ibverbs
