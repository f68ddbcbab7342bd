// Chunks that are kept compressed.
#include "store/chunks/compression.h"

#include "store/chunks/containers.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

constexpr CompressionOptions with_zstd{.how = Compression::zstd};

base::Bytes digits(std::size_t size, unsigned seed) {
  std::string out;
  for (unsigned i = seed * 1000; out.size() < size; ++i) out += std::to_string(i) + " ";
  out.resize(size);
  const base::BytesView view = base::bytes_of(out);
  return {view.begin(), view.end()};
}

class CompressionTest : public ScratchTest {
 protected:
  std::unique_ptr<Containers> opened(std::uint32_t bytes_max = Location::offset_end) const {
    return std::move(*Containers::open(*medium_, id_, OpenFor::writing, bytes_max));
  }
  Location append(Containers& containers, const base::Bytes& bytes) {
    const base::Bytes compressed = compressor_.compress(bytes);
    const Containers::NewChunk chunk{.id = id_of(bytes), .bytes = bytes, .compressed = compressed};
    return containers.append_all(ChunkKind::data, std::span(&chunk, 1))->front();
  }
  auto read(Containers& containers, Location at, const base::Bytes& bytes) const {
    return containers.read(at, ChunkKind::data, id_of(bytes), static_cast<std::uint32_t>(bytes.size()));
  }
  hashing::Digest id_of(const base::Bytes& bytes) const { return keys_.id_of(ChunkKind::data, bytes); }

  Compressor compressor_{with_zstd};
};

TEST_F(CompressionTest, options_have_a_text) {
  EXPECT_EQ(parse_compression("none"), CompressionOptions());
  EXPECT_EQ(parse_compression("zstd"), with_zstd);
  EXPECT_EQ(parse_compression("zstd:1")->level, 1);
  EXPECT_EQ(parse_compression("zstd:19")->level, 19);
  for (const char* const wrong :
       {"", "lz4", "zstd:", "zstd:0", "zstd:20", "zstd:-1", "zstd:3 ", "zstd3", "none:1"})
    EXPECT_FALSE(parse_compression(wrong)) << wrong;
}

TEST_F(CompressionTest, what_saves_too_little_stays_as_it_is) {
  EXPECT_TRUE(compressor_.compress(noise(100'000, 1)).empty());
  EXPECT_TRUE(compressor_.compress({}).empty());
  EXPECT_TRUE(compressor_.compress(digits(3, 1)).empty());
  base::Bytes part = noise(80'000, 1);
  part.resize(100'000);
  EXPECT_FALSE(compressor_.compress(part).empty()) << "a fifth of it are zeros";
  EXPECT_TRUE(Compressor(CompressionOptions()).compress(part).empty());
}

TEST_F(CompressionTest, only_the_frame_of_so_many_bytes_is_taken) {
  const base::Bytes bytes = digits(50'000, 1);
  const base::Bytes frame = compressor_.compress(bytes);
  ASSERT_LT(frame.size(), bytes.size() / 2);
  base::Bytes out(bytes.size());
  ASSERT_TRUE(decompress(frame, out));
  EXPECT_TRUE(out == bytes);
  base::Bytes shorter(bytes.size() - 1), longer(bytes.size() + 1);
  EXPECT_FALSE(decompress(frame, shorter));
  EXPECT_FALSE(decompress(frame, longer));
  for (std::size_t size = 0; size < frame.size(); size += 7)
    EXPECT_FALSE(decompress(base::BytesView(frame).first(size), out)) << size;
  base::Bytes two = frame;
  two.insert(two.end(), frame.begin(), frame.end());
  EXPECT_FALSE(decompress(two, out));
  EXPECT_FALSE(decompress(noise(1000, 1), out));
}

TEST_F(CompressionTest, a_chunk_is_read_as_it_was) {
  const auto containers = opened();
  const base::Bytes a = digits(50'000, 1), b = noise(50'000, 2), c = digits(60'000, 3);
  const Location at_a = append(*containers, a), at_b = append(*containers, b), at_c = append(*containers, c);
  EXPECT_LT(at_b.offset, 25'000U) << "it is compressed";
  EXPECT_EQ(at_c.offset, at_b.offset + ChunkHeader::bytes + b.size()) << "it is not";
  const auto got_a = read(*containers, at_a, a), got_b = read(*containers, at_b, b),
             got_c = read(*containers, at_c, c);
  ASSERT_TRUE(got_a && got_b && got_c);
  EXPECT_TRUE(got_a->bytes == a && got_a->compressed);
  EXPECT_TRUE(got_b->bytes == b && !got_b->compressed);
  EXPECT_TRUE(got_c->bytes == c && got_c->compressed) << "the last one: nothing lies behind it";
  EXPECT_TRUE(containers->holds(at_a, ChunkKind::data, id_of(a), a).whole);
  EXPECT_TRUE(containers->holds(at_c, ChunkKind::data, id_of(c), c).whole);
  base::Bytes other = a;
  other[40'000] ^= std::byte{1};
  EXPECT_FALSE(containers->holds(at_a, ChunkKind::data, id_of(a), other).whole) << "an id is not believed";
  EXPECT_EQ(containers->look(at_a)->length, a.size());
}

TEST_F(CompressionTest, containers_are_walked) {
  const base::Bytes a = digits(50'000, 1), b = digits(50'000, 2);
  Location at_b;
  {
    const auto containers = opened(20'000);
    append(*containers, a);
    at_b = append(*containers, b);  // in the next one: the first is full, and has a directory
    ASSERT_EQ(at_b.container, 2U);
  }
  for (const std::uint32_t number : {1U, 2U})
    for (const bool with_bytes : {false, true}) {
      SCOPED_TRACE(number);
      const base::Bytes& wanted = number == 1 ? a : b;
      const auto walked =
          opened()->walk(number, with_bytes, [&](Location, const ChunkHeader& header, base::BytesView bytes) {
            EXPECT_EQ(header.length, wanted.size());
            EXPECT_LT(header.stored(), wanted.size() / 2);
            EXPECT_TRUE(!with_bytes || base::equal(bytes, wanted));
          });
      ASSERT_TRUE(walked);
      EXPECT_EQ(walked->chunks, 1U);
      EXPECT_EQ(walked->damaged, 0U);
      EXPECT_EQ(walked->full, number == 1);
    }
}

TEST_F(CompressionTest, a_tail_that_is_cut_short_anywhere_is_taken_off) {
  const base::Bytes a = digits(5000, 1), b = digits(5000, 2), c = digits(5000, 3);
  Location at;
  {
    const auto containers = opened();
    append(*containers, a);
    at = append(*containers, b);
  }
  const std::string whole = content(first());
  for (std::size_t size = at.offset; size < whole.size(); size += 13) {
    put(first(), whole.substr(0, size));
    const auto containers = opened();
    EXPECT_EQ(append(*containers, c), at) << size;
    EXPECT_TRUE(read(*containers, at, c)->bytes == c);
  }
}

TEST_F(CompressionTest, damage_is_found_wherever_it_is) {
  const base::Bytes a = digits(3000, 1);
  const Location at = append(*opened(), a);
  const std::string whole = content(first());
  for (std::size_t i = at.offset; i < whole.size(); ++i) {
    std::string rotten = whole;
    rotten[i] = static_cast<char>(rotten[i] ^ (1 << i % 8));
    put(first(), rotten);
    const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::reading));
    EXPECT_EQ(read(*containers, at, a).error(), base::errno_of(EBADMSG)) << i;
    EXPECT_FALSE(containers->holds(at, ChunkKind::data, id_of(a), a).whole) << i;
  }
}

// Its checksum is right: who has made it has made it so.
TEST_F(CompressionTest, a_frame_that_is_none_is_damage) {
  const base::Bytes a = digits(3000, 1), frame = noise(1000, 1);
  const Containers::NewChunk chunk{.id = id_of(a), .bytes = a, .compressed = frame};
  const auto containers = opened();
  const Location at = containers->append_all(ChunkKind::data, std::span(&chunk, 1))->front();
  EXPECT_EQ(read(*containers, at, a).error(), base::errno_of(EBADMSG));
  EXPECT_FALSE(containers->holds(at, ChunkKind::data, id_of(a), a).whole);
  append(*containers, digits(3000, 2));
  EXPECT_EQ(containers->walk(1, true, [](Location, const ChunkHeader&, base::BytesView) {})->damaged, 1U);
}

TEST_F(CompressionTest, a_chunk_is_found_whether_it_is_compressed_or_not) {
  const base::Bytes a = digits(50'000, 1), b = digits(50'000, 2);
  const auto containers = opened();
  auto index = Index::open((path_ / "index").string(), {});
  ASSERT_TRUE(index);
  ChunkStore plain(*containers, index->get(), keys_, 1 << 20);
  ChunkStore compressing(*containers, index->get(), keys_, 1 << 20, with_zstd);
  const auto put = [](ChunkStore& store, const base::Bytes& bytes) {
    return *store.put(ChunkKind::data, bytes);
  };
  const ChunkRef at_a = put(plain, a), at_b = put(compressing, b);
  EXPECT_EQ(put(compressing, a), at_a);
  EXPECT_EQ(put(plain, b), at_b);
  EXPECT_LT(compressing.counts().bytes_added, b.size() / 2);
  EXPECT_GT(plain.counts().bytes_added, a.size());
  // What is compressed is never read from where it lies.
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(**compressing.get(ChunkKind::data, at_a) == a);
    EXPECT_TRUE(**compressing.get(ChunkKind::data, at_b) == b);
    base::Bytes some(100);
    ASSERT_TRUE(compressing.read_data(at_b, 30'000, some));
    EXPECT_TRUE(base::equal(some, base::BytesView(b).subspan(30'000, 100)));
  }
  VerifiedChunk asked_a{.lies = at_a}, asked_b{.lies = at_b};
  EXPECT_TRUE(containers->verified().find(std::span(&asked_a, 1)));
  EXPECT_FALSE(containers->verified().find(std::span(&asked_b, 1)));
}

TEST_F(CompressionTest, several_are_compressed_together) {
  const base::Bytes a = digits(50'000, 1), b = noise(50'000, 2), c = digits(50'000, 3);
  const auto containers = opened();
  ChunkStore store(*containers, nullptr, keys_, 1 << 20, with_zstd);
  const Containers::NewChunk all[] = {{.id = id_of(a), .bytes = a},
                                      {.id = id_of(b), .bytes = b},
                                      {.id = id_of(c), .bytes = c},
                                      {.id = id_of(a), .bytes = a}};
  const auto refs = store.put_all(ChunkKind::data, all);
  ASSERT_TRUE(refs);
  for (std::size_t i = 0; i < std::size(all); ++i)
    EXPECT_TRUE(base::equal(**store.get(ChunkKind::data, (*refs)[i]), all[i].bytes)) << i;
  EXPECT_EQ((*refs)[0], (*refs)[3]);
  EXPECT_LT(store.counts().bytes_added, 100'000U);
}

}  // namespace
}  // namespace braid::store::test
