#include "server/config/section.h"

namespace braid::server::config {

std::span<const Section> sections() {
  static constexpr Section all[] = {
      {"server", read_server},
      {"limits", read_limits},
      {"rdma", read_rdma},
      {"pnfs", read_pnfs},
      {"store", read_stores},
      {"data_server", read_data_server},
      {exports_section, read_exports},
  };
  return all;
}

}  // namespace braid::server::config
