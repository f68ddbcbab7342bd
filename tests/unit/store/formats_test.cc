// What lies in a store, byte by byte. The golden bytes were made by another program, after
// docs/format-store.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "store/chunks/container_format.h"
#include "store/chunks/forwarding.h"
#include "store/chunks/node.h"
#include "store/format_file.h"
#include "store/gone_file.h"
#include "store/marks_file.h"
#include "store/recipes/record.h"
#include "store/registry.h"
#include "store/scrub_file.h"
#include "store/trees.h"

namespace braid::store {
namespace {

const std::string aa_32 = std::string(64, 'a');

hashing::Digest digest_of_aa() {
  hashing::Digest out;
  out.bytes.fill(std::byte{0xaa});
  return out;
}
StoreId counting_id() {
  StoreId out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i);
  return out;
}
KernelHandle some_handle() {
  KernelHandle out{.type = 1, .size = 8};
  for (std::size_t i = 0; i < 8; ++i) out.bytes[i] = static_cast<std::byte>(i + 1);
  return out;
}
Node some_node() {
  return {.height = 0,
          .span = 300,
          .entries = {{.offset = 0,
                       .length = 100,
                       .kind = EntryKind::chunk,
                       .slice = 5,
                       .chunk = {.id = digest_of_aa(), .at = {0, 3, 64}, .bytes = 200}},
                      {.offset = 200, .length = 100, .kind = EntryKind::plain, .slice = 0, .chunk = {}}}};
}
const std::string node_hex =
    "4e6f646501000002000000000000012c0000000000000000000000000000006400000005000000c801000000" + aa_32 +
    "00000000000000c80000000000000064000000000000000002000000" + std::string(64, '0') +
    "000000000c0000400000000000000000";
Root some_root() {
  return {.size = 4096,
          .mtime = {-1, 999'999'999},
          .ctime = {2, 3},
          .steps = {{StepKind::punch, 0, 65536}, {StepKind::cut, 4096, 0}},
          .top = some_node()};
}

TEST(StoreFormats, a_container_has_a_head) {
  const ContainerHeader header{.store = counting_id(), .volume = 0, .number = 0x102};
  const base::Bytes bytes = encode(header);
  EXPECT_EQ(
      hex_text(bytes),
      "4272616964436f6e00000001010000000000010200000000000102030405060708090a0b0c0d0e0f00000000000000000000"
      "000000000000aad249c2285f7fa9");
  EXPECT_EQ(decode_container_header(bytes), header);
}

TEST(StoreFormats, a_chunk_has_a_head) {
  const base::Bytes bytes = encode_chunk(ChunkKind::data, digest_of_aa(), base::bytes_of("chunk"));
  EXPECT_EQ(hex_text(bytes), "43686e6b010000000000000500000005" + aa_32 + "e5fd11e0a82587eb" + "6368756e6b");
  const auto header = decode_chunk_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->id, digest_of_aa());
  EXPECT_TRUE(is_whole(*header, base::bytes_of("chunk")));
  EXPECT_FALSE(is_whole(*header, base::bytes_of("chuck")));
}

TEST(StoreFormats, a_chunk_in_a_group_says_where_its_bytes_are) {
  const GroupPlace place{.following = 2, .distance = 112};
  const base::Bytes bytes =
      encode_header(ChunkKind::data, digest_of_aa(), StoredBytes::plain(base::bytes_of("chunk")), place);
  EXPECT_EQ(hex_text(bytes), "43686e67010200000500000500000070" + aa_32 + "8028da1df3cc3dbb");
  const auto header = decode_chunk_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->place, place);
  EXPECT_EQ(header->length, 5U);
  EXPECT_EQ(header->stored_at(1000), 1000U + 56 + 112);
  EXPECT_EQ(header->next_at(1000), 1056U) << "the next header";
  EXPECT_TRUE(is_whole(*header, base::bytes_of("chunk")));
  EXPECT_FALSE(is_whole(*header, base::bytes_of("chuck")));
  const auto refused = [&](std::size_t at, std::byte value) {
    base::Bytes other = bytes;
    other[at] = value;
    return !decode_chunk_header(other);
  };
  EXPECT_TRUE(refused(4, std::byte{4})) << "a directory is alone";
  EXPECT_TRUE(refused(5, std::byte{3})) << "it would be among the headers";
  EXPECT_TRUE(refused(12, std::byte{4})) << "behind any container";
  EXPECT_TRUE(refused(11, std::byte{6})) << "more than it has";
  EXPECT_TRUE(refused(11, std::byte{0})) << "nothing";
  base::Bytes alone = bytes;
  alone[5] = alone[15] = std::byte{0};
  EXPECT_FALSE(decode_chunk_header(alone));

  const StoredBytes frame{.length = 0x10005, .compressed = true, .bytes = base::bytes_of("frame")};
  const base::Bytes last =
      encode_header(ChunkKind::data, digest_of_aa(), frame, {.following = 0, .distance = 7});
  EXPECT_EQ(hex_text(last), "43686e67010001000500000500000007" + aa_32 + "758c6664a33d3d92");
  EXPECT_EQ(decode_chunk_header(last)->compressed, 5U);
  EXPECT_EQ(decode_chunk_header(last)->next_at(1000), 1000U + 56 + 7 + 5);
}

TEST(StoreFormats, a_chunk_that_is_compressed_says_so) {
  const StoredBytes stored{.length = 0x10005, .compressed = true, .bytes = base::bytes_of("frame")};
  const base::Bytes bytes = encode_chunk(ChunkKind::data, digest_of_aa(), stored);
  EXPECT_EQ(hex_text(bytes), "43686e6b010100000001000500000005" + aa_32 + "530dc41248f6af63" + "6672616d65");
  const auto header = decode_chunk_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->length, 0x10005U);
  EXPECT_EQ(header->stored(), 5U);
  EXPECT_TRUE(is_whole(*header, base::bytes_of("frame")));
  EXPECT_FALSE(is_whole(*header, base::bytes_of("framf")));
  const auto refused = [&](std::size_t at, std::byte value) {
    base::Bytes other = bytes;
    other[at] = value;
    return !decode_chunk_header(other);
  };
  EXPECT_TRUE(refused(4, std::byte{2})) << "a node is not compressed";
  EXPECT_TRUE(refused(5, std::byte{2})) << "by something that is not known";
  EXPECT_TRUE(refused(5, std::byte{0})) << "it is not, and shorter than it is";
  EXPECT_TRUE(refused(15, std::byte{0})) << "to nothing";
  EXPECT_TRUE(refused(13, std::byte{1})) << "to as much as it was";
  const std::vector<DirectoryEntry> entries{{64, ChunkKind::data, 0x10005, digest_of_aa(), 0x1234},
                                            {64 + 56 + 0x1234, ChunkKind::node, 5, digest_of_aa()}};
  EXPECT_EQ(hex_text(encode(entries)),
            "000000400100123400010005" + aa_32 + "000012ac0200000000000005" + aa_32);
  EXPECT_EQ(decode_directory(encode(entries)), entries);
  EXPECT_FALSE(decode_directory(encode({{64, ChunkKind::node, 5, digest_of_aa(), 4}})));
  EXPECT_FALSE(decode_directory(encode({{64, ChunkKind::data, 5, digest_of_aa(), 5}})));
}

TEST(StoreFormats, a_container_ends_with_a_directory) {
  const std::vector<DirectoryEntry> entries{{64, ChunkKind::data, 5, digest_of_aa()}};
  EXPECT_EQ(hex_text(encode(entries)), "000000400100000000000005" + aa_32);
  EXPECT_EQ(decode_directory(encode(entries)), entries);
  EXPECT_EQ(hex_text(encode_footer(125)), "42726169644469720000007d000000006d94f7a8e87f64ca");
  EXPECT_EQ(decode_footer(encode_footer(125)), 125U);
  EXPECT_FALSE(decode_directory(encode({{65, ChunkKind::data, 5, digest_of_aa()}}))) << "there is a gap";
  const auto second_at = [](std::uint32_t offset) {
    return decode_directory(
        encode({{64, ChunkKind::data, 5, digest_of_aa()}, {offset, ChunkKind::data, 5, digest_of_aa()}}));
  };
  EXPECT_TRUE(second_at(64 + 56)) << "of a group";
  EXPECT_FALSE(second_at(64 + 55));
}

TEST(StoreFormats, an_entry_of_the_registry) {
  const RegistryEntry entry{RegistryKind::sealed, 7, 0x1234, some_handle()};
  EXPECT_EQ(hex_text(encode(entry)),
            "01080001000000070000000000001234"
            "0102030405060708" +
                std::string(96, '0') + "6108d9afa56e2fde");
  EXPECT_EQ(decode_registry_entry(encode(entry)), entry);
  EXPECT_EQ(hex_text(encode_registry_header(counting_id())),
            "42726169645265670000000100000000000102030405060708090a0b0c0d0e0f" + std::string(80, '0') +
                "ba1ed06e20601a8d");
}

TEST(StoreFormats, a_node_and_a_root) {
  EXPECT_EQ(hex_text(encode(some_node())), node_hex);
  EXPECT_EQ(decode_node(encode(some_node())), some_node());
  const std::string root_hex =
      "526f6f74010000000000000000001000ffffffffffffffff3b9ac9ff0000000000000002000000030000000200000000010000"
      "0000"
      "000000000000000000000000000000000100000200000000000000000000000000100000000000000000"
      "00";
  const std::string encoded = hex_text(encode(some_root()));
  EXPECT_EQ(encoded.substr(0, 96 + 96), root_hex.substr(0, 96 + 96));
  EXPECT_EQ(encoded.substr(96 + 96), node_hex);
  EXPECT_EQ(decode_root(encode(some_root())), some_root());
}

TEST(StoreFormats, ids_do_not_cover_locations) {
  Root moved = some_root();
  moved.top.entries[0].chunk.at = {0, 9, 99};
  EXPECT_NE(encode(moved), encode(some_root()));
  const base::Bytes a = encode(moved), b = encode(some_root());
  EXPECT_TRUE(base::equal(*named_bytes(ChunkKind::root, a), *named_bytes(ChunkKind::root, b)));
  const StoreKeys keys{hashing::Key()};
  EXPECT_NE(keys.id_of(ChunkKind::data, b), keys.id_of(ChunkKind::root, b)) << "kinds are apart";
}

TEST(StoreFormats, a_record_is_of_one_file_and_one_store) {
  const StoreKeys keys{hashing::Key()};
  const Record record{.root = digest_of_aa(), .at = {0, 3, 64}, .mapped = 100, .pending = true};
  const base::Bytes bytes = encode(record, keys, some_handle());
  EXPECT_LE(bytes.size(), 60U);
  EXPECT_EQ(hex_text(base::BytesView(bytes).first(50)), "0101000000000c0000400000000000000064" + aa_32);
  EXPECT_EQ(decode_record(bytes, keys, some_handle()), record);
  KernelHandle other = some_handle();
  other.bytes[0] = std::byte{9};
  EXPECT_FALSE(decode_record(bytes, keys, other));
  std::array<std::byte, 32> key{};
  key[3] = std::byte{1};
  EXPECT_FALSE(decode_record(bytes, StoreKeys(hashing::Key(key)), some_handle()));
  base::Bytes later = bytes;
  later[0] = std::byte{2};
  EXPECT_EQ(decode_record(later, keys, some_handle()).error(), RecordFault::too_new);
}

TEST(StoreFormats, no_bit_can_change) {
  const StoreKeys keys{hashing::Key()};
  const auto each_bit = [](base::Bytes bytes, const auto& refused) {
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const std::byte mask{static_cast<unsigned char>(1U << bit % 8)};
      bytes[bit / 8] ^= mask;
      EXPECT_TRUE(refused(bytes)) << bit;
      bytes[bit / 8] ^= mask;
    }
  };
  each_bit(encode(Record{.root = digest_of_aa(), .at = {0, 3, 64}, .mapped = 100, .pending = false}, keys,
                  some_handle()),
           [&](base::BytesView bytes) { return !decode_record(bytes, keys, some_handle()); });
  each_bit(encode(ContainerHeader{.store = counting_id(), .volume = 0, .number = 5}),
           [](base::BytesView bytes) { return !decode_container_header(bytes); });
  each_bit(encode_footer(125), [](base::BytesView bytes) { return !decode_footer(bytes); });
  each_bit(encode(RegistryEntry{RegistryKind::sealed, 7, 1, some_handle()}),
           [](base::BytesView bytes) { return !decode_registry_entry(bytes); });
  each_bit(encode_chunk(ChunkKind::data, digest_of_aa(),
                        StoredBytes{.length = 9, .compressed = true, .bytes = base::bytes_of("frame")}),
           [](base::BytesView bytes) {
             const auto header = decode_chunk_header(bytes);
             return !header || !is_whole(*header, bytes.subspan(ChunkHeader::bytes));
           });
  each_bit(encode_chunk(ChunkKind::data, digest_of_aa(), base::bytes_of("chunk")), [](base::BytesView bytes) {
    const auto header = decode_chunk_header(bytes);
    return !header || !is_whole(*header, bytes.subspan(ChunkHeader::bytes));
  });
  const base::BytesView grouped = base::bytes_of("chunk");
  each_bit(encode_header(ChunkKind::data, digest_of_aa(), StoredBytes::plain(grouped),
                         {.following = 2, .distance = 112}),
           [&](base::BytesView bytes) {
             const auto header = decode_chunk_header(bytes);
             return !header || !is_whole(*header, grouped);
           });
  const std::string format = encode(FormatFile{.store = counting_id(), .key = digest_of_aa()});
  const base::BytesView view = base::bytes_of(format);
  each_bit(base::Bytes(view.begin(), view.end()),
           [](base::BytesView bytes) { return !decode_format(base::text_of(bytes)); });
}

TEST(StoreFormats, nodes_that_make_no_sense_are_refused) {
  const auto refused = [](const auto& spoil) {
    Node node = some_node();
    node.entries[1] = node.entries[0];
    node.entries[1].offset = 100;
    base::Bytes bytes = encode(node);
    spoil(bytes);
    return !decode_node(bytes);
  };
  EXPECT_FALSE(refused([](base::Bytes&) {}));
  EXPECT_TRUE(refused([](base::Bytes& b) { b[Node::header_bytes + Node::entry_bytes + 7] = std::byte{99}; }))
      << "one entry lies over the other";
  EXPECT_TRUE(refused([](base::Bytes& b) { b[Node::header_bytes + 16] = std::byte{0xff}; })) << "slice";
  EXPECT_TRUE(refused([](base::Bytes& b) { b[Node::header_bytes + 20] = std::byte{0xff}; }))
      << "chunk too long";
  EXPECT_TRUE(refused([](base::Bytes& b) { b[Node::header_bytes + 24] = std::byte{3}; }))
      << "a child of a leaf";
  EXPECT_TRUE(refused([](base::Bytes& b) { b[14] = std::byte{}; })) << "span";
  EXPECT_TRUE(refused([](base::Bytes& b) { b[5] = std::byte{200}; })) << "height";
  EXPECT_TRUE(refused([](base::Bytes& b) { b.pop_back(); }));
  EXPECT_TRUE(refused([](base::Bytes& b) { b.push_back({}); }));
}

TEST(StoreFormats, what_a_mark_leaves) {
  const Marks marks{.marked = 1'700'000'000,
                    .live = 123'456,
                    .garbage = 789,
                    .missed = {{3, 1'690'000'000}, {17, 1'700'000'000}},
                    .thin = {{4, {.since = 1'695'000'000, .chunks = 77}}}};
  const std::string text = encode(marks);
  EXPECT_EQ(text,
            "braid marks 1\nmarked 1700000000\nlive 123456\ngarbage 789\nmissed 3 1690000000\n"
            "missed 17 1700000000\nthin 4 1695000000 77\ncheck aeb3527cec26c6fb\n");
  EXPECT_EQ(decode_marks(text), marks);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ static_cast<char>(1U << bit % 8));
    EXPECT_FALSE(decode_marks(other)) << bit;
  }
  EXPECT_EQ(decode_marks(encode(Marks())), Marks());
}

TEST(StoreFormats, which_files_are_gone) {
  const StoreId store{std::byte{1}, std::byte{2}};
  const std::vector<GoneFile> files{{.key = {.a = 1, .b = 9}, .since = 1'700'000'000},
                                    {.key = {.a = 1, .b = 10}, .since = 1'690'000'000},
                                    {.key = {.a = 0xfedc'ba98'7654'3210, .b = 0}, .since = 5}};
  const base::Bytes bytes = encode_gone(store, files);
  EXPECT_EQ(bytes.size(), 32U + 3 * 24 + 8);
  EXPECT_TRUE(base::text_of(bytes).starts_with(std::string_view("BraidGon\0\0\0\1\0\0\0\0\1\2", 18)));
  EXPECT_EQ(bytes[32 + 2 * 24], std::byte{0xfe});
  EXPECT_EQ(decode_gone(store, bytes), files);
  EXPECT_EQ(decode_gone(store, encode_gone(store, {})), std::vector<GoneFile>());
  EXPECT_FALSE(decode_gone(StoreId{}, bytes)) << "of another store";
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    base::Bytes other = bytes;
    other[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_FALSE(decode_gone(store, other)) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_gone(store, base::BytesView(bytes).first(size))) << size;
  EXPECT_FALSE(decode_gone(store, encode_gone(store, std::vector{files[1], files[0]}))) << "out of order";
  EXPECT_FALSE(decode_gone(store, encode_gone(store, std::vector{files[0], files[0]}))) << "twice";
}

// What a file is found by again must not change.
TEST(StoreFormats, what_tells_a_file_of_the_registry) {
  RegistryEntry entry{.kind = RegistryKind::sealed, .tree = 3, .logical = 77, .file = {.type = 1, .size = 8}};
  entry.file.bytes[0] = std::byte{42};
  const FileKey key = FileKey::of(entry);
  EXPECT_EQ(key.a, 6403039858991696U);
  EXPECT_EQ(key.b, 5401537870656616008U);
  entry.logical = 78;
  entry.kind = RegistryKind::unsealed;
  EXPECT_EQ(FileKey::of(entry), key);
  entry.tree = 4;
  EXPECT_NE(FileKey::of(entry), key);
}

TEST(StoreFormats, how_far_a_scrub_is) {
  const ScrubState state{
      .begun = 1'700'000'000,
      .ended = 1'690'000'000,
      .next = 5,
      .bad = {{.volume = 0, .container = 3, .offset = 64}, {.volume = 0, .container = 4, .offset = 0}}};
  const std::string text = encode(state);
  EXPECT_EQ(text,
            "braid scrub 1\nbegun 1700000000\nended 1690000000\nnext 5\nbad 3 64\nbad 4 0\n"
            "check 804fa8d12f05bb88\n");
  EXPECT_EQ(decode_scrub(text), state);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ static_cast<char>(1U << bit % 8));
    EXPECT_FALSE(decode_scrub(other)) << bit;
  }
  EXPECT_EQ(decode_scrub(encode(ScrubState())), ScrubState());
}

TEST(StoreFormats, entries_of_a_container_that_was_rewritten) {
  const ForwardingEntry entry{.offset = 64,
                              .kind = ChunkKind::root,
                              .length = 1000,
                              .id = digest_of_aa(),
                              .to = {.volume = 0, .container = 9, .offset = 4096}};
  const base::Bytes bytes = encode(entry, 7);
  EXPECT_EQ(store::hex_text(bytes),
            "46776472"
            "03000000"
            "00000040"
            "000003e8" +
                aa_32 + "0000000024001000bacc47ffa4df31b4");
  EXPECT_EQ(decode_forwarding_entry(bytes, 7), entry);
  EXPECT_FALSE(decode_forwarding_entry(bytes, 8)) << "it is of container 7";
  EXPECT_FALSE(decode_forwarding_entry(encode(entry, 9), 9)) << "it leads nowhere else";
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    base::Bytes other = bytes;
    other[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_FALSE(decode_forwarding_entry(other, 7)) << bit;
  }
  const base::Bytes file = encode_forwarding(counting_id(), 7, std::span(&entry, 1));
  const auto head = decode_container_header(base::BytesView(file).first(ContainerHeader::bytes));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->role, ContainerRole::forwarding);
  const Forwarding all = Forwarding::decode(base::BytesView(file).subspan(ContainerHeader::bytes), 7);
  EXPECT_EQ(all.find(64), entry.to);
  EXPECT_FALSE(all.find(65));
  EXPECT_EQ(all.damaged(), 0U);
}

TEST(StoreFormats, the_file_format_tells_versions_and_features) {
  const FormatFile format{.store = counting_id(), .key = digest_of_aa(), .required = 0, .optional = 5};
  const std::string text = encode(format);
  EXPECT_EQ(text, "braid store 1\nid 000102030405060708090a0b0c0d0e0f\nkey " + aa_32 +
                      "\nrequired 0000000000000000\noptional 0000000000000005\ncheck 2ee4e0ecc2845b6d\n");
  EXPECT_EQ(decode_format(text), format);
  std::string later = text;
  later[12] = '2';
  EXPECT_EQ(decode_format(later).error(), "is of a later version of braid");
  FormatFile featured = format;
  featured.required = FormatFile::known_features;
  EXPECT_EQ(decode_format(encode(featured)), featured);
  featured.required = FormatFile::known_features + 1;
  EXPECT_THAT(decode_format(encode(featured)).error(), testing::HasSubstr("features"));
}

TEST(StoreFormats, trees) {
  const std::vector<Tree> trees{{1, "ext:ab", "/srv/a b"}};
  EXPECT_EQ(encode(trees), "braid trees 1\n1 6578743a6162 2f7372762f612062\ncheck 9e99d93204372b32\n");
  EXPECT_EQ(decode_trees(encode(trees)), trees);
  EXPECT_FALSE(decode_trees(encode(trees).substr(0, 30)));
}

}  // namespace
}  // namespace braid::store
