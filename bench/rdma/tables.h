// The tables of braid-rdma-bench.
#pragma once

#include <cstdint>

namespace braid::bench {

struct CpuTableOptions {
  // What it costs to register and deregister a page of 4 KiB, of `dynamic`. R. Noronha, "Designing
  // High-Performance and Scalable Clustered Network Attached Storage with InfiniBand", PhD, Ohio State 2008,
  // chapter 3: a registration cache took reads of 128 KiB from 350 to 730 MB/s, which is 195 us for 32 pages.
  std::uint32_t page_ns = 6000;
  bool brief = false;
};

// What a call costs the server's CPU, by strategy of registration. False if something is not as it should be:
// a payload was copied, or the count of copies does not count.
bool print_cpu_table(const CpuTableOptions& options);

// How much of a link's bandwidth is left when it is long. False if large segments and many credits keep less
// than nine tenths at 1 ms.
bool print_wan_table(bool brief);

}  // namespace braid::bench
