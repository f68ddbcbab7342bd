// The tables of braid-hashing.
#pragma once

#include <span>

#include "base/clock.h"
#include "bench/hashing/table.h"
#include "hashing/card.h"

namespace braid::bench {

// One core: each row beside this machine's memcpy and OpenSSL's SHA-256.
void print_cpu_rows();

// Which cards: CUDA's, or one that is the host running a card's code, to see that the rows work.
enum class CardSource : std::uint8_t { cuda, host };
// Cards: the link, their functions, throughput and latency of the engine, and how many cores do as much.
// Returns the exit code: 1 if there is no card to measure.
int print_card_rows(CardSource source);

// The rows of one card without an engine.
constexpr const char* row_link = "host to card, pinned";
constexpr const char* row_blake3 = "on the card: BLAKE3, messages of 64 KiB";
constexpr const char* row_fused = "on the card: cut and hash, general";
constexpr const char* row_direct = "on the card: MD5 tree (direct hashing)";
constexpr const char* row_sliding = "on the card: sliding MD5, m=20 p=1 k=14";
constexpr const char* row_kept = "direct hashing from the host, buffers kept";
constexpr const char* row_taken = "direct hashing from the host, buffers taken";
constexpr const char* resident_rows[] = {row_link,    row_blake3, row_fused, row_direct,
                                         row_sliding, row_kept,   row_taken};

// As long as a card takes for a mebibyte.
constexpr base::Duration card_time = std::chrono::microseconds(100);

// The engine beside a card that takes `card_time` and no CPU: what is left is the engine's own. Beside it,
// what two threads take on this machine that do nothing but sleep and wake each other for each job. Then what
// the calls of a CUDA card take, those of the driver included, where there is one: a real one, or that of the
// tests.
constexpr const char* row_engine = "engine beside a card: 1024 KiB, 1 at a time";
constexpr const char* row_engine_busy = "engine beside a card: 1024 KiB, 16 at a time";
constexpr const char* row_wakeups = "two threads that sleep and wake each other, 1 at a time";
constexpr const char* row_cuda_calls = "calls of a CUDA card: a batch of 8 x 1024 KiB, pinned";
void print_engine_rows();
void print_wakeups_row();

// `data` is memory of the pool, whose pieces are multiples of 4096 bytes.
void print_resident_rows(const Table& table, hashing::Card& card, std::span<const base::BytesView> data);

}  // namespace braid::bench
