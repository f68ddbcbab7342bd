// braid-hashing: how fast this machine cuts and hashes.
#include <cstdio>
#include <string_view>

#include "bench/hashing/rows.h"

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (argc == 1) {
    braid::bench::print_cpu_rows();
    return 0;
  }
  if (argc == 2 && what == "--card") return braid::bench::print_card_rows(braid::bench::CardSource::cuda);
  if (argc == 2 && what == "--host-card")
    return braid::bench::print_card_rows(braid::bench::CardSource::host);
  std::puts(
      "Usage: braid-hashing [--card|--host-card]\n\nWithout an option: one core's rates. With --card: those "
      "of the "
      "CUDA cards and of the engine.\nWith --host-card: the same rows of a card's code run by the host, to "
      "see that "
      "they work.");
  return what == "--help" ? 0 : 2;
}
