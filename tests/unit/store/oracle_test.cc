// Cuts and ids that the bytes themselves tell, for benchmarks.
#include "store/sealing/oracle.h"

#include <fcntl.h>

#include <cstring>

#include "base/big_endian.h"
#include "store/sealing/sealer.h"
#include "store/store.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

// A chunk that says what it is, of bytes that are all `fill`.
base::Bytes marked(std::uint32_t length, unsigned char fill) {
  base::Bytes out(length, std::byte{fill});
  std::memcpy(out.data(), "BraidOrc", 8);
  base::store_be(out, 8, length);
  base::store_be(out, 12, std::uint32_t{0});
  return out;
}

hashing::Job job_of(const std::vector<base::BytesView>& spans, bool is_end) {
  static const hashing::ChunkParams params = *hashing::ChunkParams::fixed(4096);
  return {.params = &params, .spans = spans, .stream_offset = 1000, .is_end = is_end};
}

TEST(OracleTest, cuts_and_ids_are_what_the_bytes_say) {
  base::Bytes stream = marked(100, 7);
  const base::Bytes second = marked(60, 9);
  stream.insert(stream.end(), second.begin(), second.end());
  const base::BytesView all = stream;
  // Marks that lie in two spans, too.
  for (std::size_t at = 0; at <= stream.size(); ++at) {
    const auto done = run_as_oracle(job_of({all.first(at), all.subspan(at)}, true));
    ASSERT_TRUE(done);
    ASSERT_EQ(done->chunks.size(), 2U);
    EXPECT_EQ(done->consumed, 160U);
    EXPECT_EQ(done->chunks[0].offset, 1000U);
    EXPECT_EQ(done->chunks[0].length, 100U);
    EXPECT_EQ(done->chunks[1].offset, 1100U);
    EXPECT_EQ(done->chunks[1].length, 60U);
    EXPECT_EQ(done->chunks[0].id.bytes[0], std::byte{7});
    EXPECT_EQ(done->chunks[1].id.bytes[31], std::byte{9});
  }
}

TEST(OracleTest, what_is_not_all_there_waits_or_is_the_end) {
  const base::Bytes chunk = marked(100, 7);
  for (std::size_t count = 1; count < chunk.size(); ++count) {
    const auto open = run_as_oracle(job_of({base::BytesView(chunk).first(count)}, false));
    ASSERT_TRUE(open);
    EXPECT_EQ(open->consumed, 0U);
  }
  const auto end = run_as_oracle(job_of({base::BytesView(chunk).first(70)}, true));
  ASSERT_TRUE(end);
  ASSERT_EQ(end->chunks.size(), 1U);
  EXPECT_EQ(end->chunks[0].length, 70U);
}

TEST(OracleTest, bytes_without_a_mark_are_refused) {
  base::Bytes chunk = marked(100, 7);
  EXPECT_EQ(run_as_oracle(job_of({base::BytesView(chunk).first(20)}, true)).error(), base::errno_of(EBADMSG));
  for (const std::uint32_t length : {std::uint32_t{0}, hashing::chunk_bytes_max + 1}) {
    base::store_be(chunk, 8, length);
    EXPECT_EQ(run_as_oracle(job_of({chunk}, false)).error(), base::errno_of(EBADMSG));
  }
  const base::Bytes zeros(100);
  EXPECT_EQ(run_as_oracle(job_of({zeros}, false)).error(), base::errno_of(EBADMSG));
}

class OracleStoreTest : public ScratchTest {
 protected:
  std::expected<std::unique_ptr<Store>, std::string> opened(const std::string& name, bool oracle,
                                                            OpenFor what = OpenFor::creating) const {
    return Store::open((path_ / name).string(), {.what = what, .for_benchmarks = oracle});
  }
};

TEST_F(OracleStoreTest, a_store_is_of_one_kind) {
  ASSERT_TRUE(opened("made", true));
  EXPECT_TRUE(opened("made", true));
  EXPECT_TRUE(opened("made", true, OpenFor::reading));
  for (const OpenFor what : {OpenFor::creating, OpenFor::writing, OpenFor::reading}) {
    const auto refused = opened("made", false, what);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().find("a benchmark has filled it"), std::string::npos) << refused.error();
  }

  ASSERT_TRUE((*opened("real", false))->chunks().put(ChunkKind::data, base::Bytes(100, std::byte{1})));
  const auto full = opened("real", true);
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().find("take a store that is empty"), std::string::npos) << full.error();
  EXPECT_TRUE(opened("real", false));
}

}  // namespace
}  // namespace braid::store::test
