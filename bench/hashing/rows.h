// The two tables of braid-hashing.
#pragma once

namespace braid::bench {

// One core: each row beside this machine's memcpy and OpenSSL's SHA-256.
void print_cpu_rows();
// Cards: throughput and latency of the engine, and how many cores do as much. Returns the exit code: 1 if
// there is no card to measure.
int print_card_rows();

}  // namespace braid::bench
