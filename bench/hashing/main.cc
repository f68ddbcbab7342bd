// braid-hashing: how fast this machine cuts and hashes.
#include <cstdio>
#include <string_view>

#include "bench/hashing/rows.h"

namespace {

constexpr std::string_view usage =
    "Usage: braid-hashing [--card|--host-card|--engine] [--quick]\n\n"
    "Without an option: one core's rates. With --card: those of the CUDA cards and of the engine.\n"
    "With --host-card: the same rows of a card's code run by the host. With --engine: of those, what the "
    "engine\n"
    "itself takes. With --quick each row ends at once: it is seen to work, and its figures say nothing.\n";

enum class What { cores, cuda, host, engine, help, wrong };

What parse(int argc, char** argv) {
  What out = What::cores;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--quick")
      braid::bench::set_quick();
    else if (option == "--card" && out == What::cores)
      out = What::cuda;
    else if (option == "--host-card" && out == What::cores)
      out = What::host;
    else if (option == "--engine" && out == What::cores)
      out = What::engine;
    else
      return option == "--help" ? What::help : What::wrong;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  switch (parse(argc, argv)) {
    case What::cores:
      braid::bench::print_cpu_rows();
      return 0;
    case What::cuda:
      return braid::bench::print_card_rows(braid::bench::CardSource::cuda);
    case What::host:
      return braid::bench::print_card_rows(braid::bench::CardSource::host);
    case What::engine:
      braid::bench::print_engine_rows();
      return 0;
    case What::help:
      std::fputs(usage.data(), stdout);
      return 0;
    case What::wrong:
      break;
  }
  std::fputs(usage.data(), stderr);
  return 2;
}
