// BLAKE3 in every mode and on every instruction set, against the authors' vectors and against an independent
// implementation; the two trees of OpenSSL's functions against their definitions.
#include "hashing/blake3.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "hashing/blake3_batch.h"
#include "hashing/tree_hash.h"
#include "tests/unit/hashing/random_data.h"

namespace braid::hashing {
namespace {

using testing::Values;

struct Vector {
  std::size_t length = 0;
  std::string hash, keyed, derived;  // 131 bytes each, in hexadecimal
};

std::vector<Vector> vectors() {
  std::vector<Vector> out;
  std::ifstream file(BRAID_BLAKE3_VECTORS);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    Vector v;
    std::istringstream(line) >> v.length >> v.hash >> v.keyed >> v.derived;
    out.push_back(v);
  }
  return out;
}

base::Bytes vector_input(std::size_t length) {
  base::Bytes out(length);
  for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<std::byte>(i % 251);
  return out;
}

const Key& vector_key() {
  static const Key key = Key::from(base::bytes_of("whats the Elvish word for friend")).value();
  return key;
}

std::string hex(base::BytesView bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += digits[std::to_integer<std::size_t>(b) >> 4];
    out += digits[std::to_integer<std::size_t>(b) & 15];
  }
  return out;
}

std::string output_of(const blake3::Mode& mode, base::BytesView message, Simd simd, std::size_t piece) {
  Blake3 hasher(mode, simd);
  for (std::size_t at = 0; at < message.size(); at += piece)
    hasher.update(message.subspan(at, std::min(piece, message.size() - at)));
  base::Bytes out(131);
  hasher.output(0, out);
  EXPECT_EQ(hex_of(hasher.digest()), hex(base::BytesView(out).first(32)));
  return hex(out);
}

class OnEveryLevel : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override {
    if (std::ranges::find(available_simd(), GetParam()) == available_simd().end())
      GTEST_SKIP() << "this processor has no " << name_of(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Blake3, OnEveryLevel, Values(Simd::portable, Simd::avx2, Simd::avx512),
                         [](const auto& simd) { return std::string(name_of(simd.param)); });

TEST_P(OnEveryLevel, the_published_vectors_are_met_in_all_modes_and_pieces) {
  const auto all = vectors();
  ASSERT_EQ(all.size(), 35u);
  for (const Vector& v : all) {
    SCOPED_TRACE(v.length);
    const base::Bytes input = vector_input(v.length);
    const auto derive = blake3::derive_key_mode("BLAKE3 2019-12-27 16:29:52 test vectors context");
    for (const std::size_t piece :
         {std::size_t{1} << 20, std::size_t{1000}, std::size_t{1024}, std::size_t{5000}}) {
      EXPECT_EQ(output_of(blake3::plain_mode(), input, GetParam(), piece), v.hash);
      EXPECT_EQ(output_of(blake3::keyed_mode(vector_key()), input, GetParam(), piece), v.keyed);
      EXPECT_EQ(output_of(derive, input, GetParam(), piece), v.derived);
    }
  }
}

TEST_P(OnEveryLevel, a_batch_gives_each_message_the_digest_it_has_alone) {
  const auto all = vectors();
  std::vector<base::Bytes> inputs;
  for (const Vector& v : all) inputs.push_back(vector_input(v.length));
  const std::vector<base::BytesView> views(inputs.begin(), inputs.end());
  std::vector<Digest> ids(views.size());
  Blake3Batch(GetParam()).hash(blake3::keyed_mode(vector_key()), views, ids);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(hex_of(ids[i]), all[i].keyed.substr(0, 64)) << all[i].length;
}

TEST_P(OnEveryLevel, batches_of_random_lengths_agree_with_the_portable_hash) {
  std::mt19937_64 random(7);
  const base::Bytes pool = test::random_bytes(3 << 20, 1);
  const auto mode = blake3::keyed_mode(vector_key());
  Blake3Batch batch(GetParam());
  for (int round = 0; round < 20; ++round) {
    std::vector<base::BytesView> messages;
    std::size_t total = 0;
    while (total < pool.size()) {
      const std::size_t bits = random() % 22;
      const std::size_t length = std::min<std::size_t>(random() % (std::size_t{2} << bits), pool.size());
      messages.push_back(base::BytesView(pool).subspan(random() % (pool.size() - length + 1), length));
      total += length + 1;
    }
    std::vector<Digest> ids(messages.size());
    batch.hash(mode, messages, ids);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      Blake3 alone(mode, Simd::portable);
      alone.update(messages[i]);
      ASSERT_EQ(ids[i], alone.digest()) << messages[i].size();
    }
  }
}

TEST_P(OnEveryLevel, subtree_values_join_to_the_digest_of_the_whole) {
  const base::Bytes message = test::random_bytes(64 * 1024, 3);
  const auto mode = blake3::keyed_mode(vector_key());
  const base::BytesView view(message);
  const auto left = blake3::subtree_value(mode, view.first(32 * 1024), 0, GetParam());
  const auto right = blake3::subtree_value(mode, view.subspan(32 * 1024), 32, GetParam());
  Blake3 whole(mode, Simd::portable);
  whole.update(message);
  EXPECT_EQ(blake3::digest_of(blake3::parent_value(mode, left, right, true)), whole.digest());
}

TEST(Blake3Output, may_be_asked_for_in_any_parts) {
  Blake3 hasher;
  hasher.update(base::bytes_of("abc"));
  base::Bytes whole(1000);
  hasher.output(0, whole);
  for (const std::size_t offset : std::initializer_list<std::size_t>{0, 1, 63, 64, 65, 500, 999}) {
    base::Bytes part(std::min<std::size_t>(100, whole.size() - offset));
    hasher.output(offset, part);
    EXPECT_TRUE(base::equal(part, base::BytesView(whole).subspan(offset, part.size()))) << offset;
  }
}

TEST(Blake3Key, of_a_wrong_length_is_refused) {
  for (const std::size_t length : std::initializer_list<std::size_t>{0, 31, 33, 64})
    EXPECT_EQ(Key::from(base::Bytes(length)).error(), base::errno_of(EINVAL)) << length;
}

// The BLAKE3 authors' C and assembly, which the LLVM library carries and exports; clang needs that library,
// so it is there where the tests are built with clang. The functions are those of llvm-c/blake3.h.
class LlvmBlake3 {
 public:
  LlvmBlake3() {
    for (const char* name : {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-15.so.1"})
      if (library_ == nullptr) library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return;
    init_ = reinterpret_cast<decltype(init_)>(::dlsym(library_, "llvm_blake3_hasher_init_keyed"));
    update_ = reinterpret_cast<decltype(update_)>(::dlsym(library_, "llvm_blake3_hasher_update"));
    finalize_ = reinterpret_cast<decltype(finalize_)>(::dlsym(library_, "llvm_blake3_hasher_finalize_seek"));
  }
  [[nodiscard]] bool exists() const { return init_ != nullptr && update_ != nullptr && finalize_ != nullptr; }
  [[nodiscard]] base::Bytes keyed(const Key& key, base::BytesView message, std::uint64_t seek,
                                  std::size_t bytes) const {
    alignas(16) std::array<std::byte, 4096> state;  // of 1912 bytes
    base::Bytes out(bytes);
    init_(state.data(), key.bytes().data());
    update_(state.data(), message.data(), message.size());
    finalize_(state.data(), seek, out.data(), out.size());
    return out;
  }

 private:
  void* library_ = nullptr;  // stays loaded
  void (*init_)(void* state, const std::byte* key) = nullptr;
  void (*update_)(void* state, const void* message, std::size_t bytes) = nullptr;
  void (*finalize_)(const void* state, std::uint64_t seek, std::byte* out, std::size_t bytes) = nullptr;
};

TEST_P(OnEveryLevel, agrees_with_the_authors_implementation_on_random_messages) {
  static const LlvmBlake3 theirs;
  if (!theirs.exists()) GTEST_SKIP() << "there is no libLLVM to compare with";
  std::mt19937_64 random(11);
  const base::Bytes pool = test::random_bytes(4 << 20, 2);
  for (int i = 0; i < 300; ++i) {
    const std::size_t length = random() % (std::size_t{2} << random() % 21);
    const base::BytesView message = base::BytesView(pool).subspan(random() % (pool.size() - length), length);
    const auto key = Key::from(base::BytesView(pool).subspan(random() % 1000, 32)).value();
    const std::uint64_t seek = random() % 100000;
    Blake3 ours(blake3::keyed_mode(key), GetParam());
    const std::size_t split = random() % (length + 1);
    ours.update(message.first(split));
    ours.update(message.subspan(split));
    base::Bytes output(200);
    ours.output(seek, output);
    ASSERT_EQ(hex(output), hex(theirs.keyed(key, message, seek, 200))) << length;
  }
}

Digest sha256(base::BytesView a, base::BytesView b) {
  base::Bytes all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  Digest out;
  EVP_Digest(all.data(), all.size(), reinterpret_cast<unsigned char*>(out.bytes.data()), nullptr,
             EVP_sha256(), nullptr);
  return out;
}

// The definition of docs/hashing.md, by recursion from the top.
Digest sha256_node(base::BytesView message) {
  constexpr std::byte leaf{0}, node{1};
  if (message.size() <= 4096) return sha256({&leaf, 1}, message);
  std::size_t left = 4096;
  while (left * 2 < message.size()) left *= 2;
  base::Bytes pair;
  for (const Digest& half : {sha256_node(message.first(left)), sha256_node(message.subspan(left))})
    pair.insert(pair.end(), half.bytes.begin(), half.bytes.end());
  return sha256({&node, 1}, pair);
}

TEST(Sha256Tree, is_what_its_definition_says) {
  const base::Bytes pool = test::random_bytes(100'000, 5);
  for (const std::size_t length :
       std::initializer_list<std::size_t>{0, 1, 4095, 4096, 4097, 8192, 12288, 12289, 65536, 100'000}) {
    const base::BytesView message = base::BytesView(pool).first(length);
    base::Bytes top{std::byte{2}};
    for (int i = 0; i < 8; ++i) top.push_back(static_cast<std::byte>(length >> 8 * i));
    const Digest node = sha256_node(message);
    top.insert(top.end(), node.bytes.begin(), node.bytes.end());
    Digest expected;
    HMAC(EVP_sha256(), vector_key().bytes().data(), 32, reinterpret_cast<const unsigned char*>(top.data()),
         top.size(), reinterpret_cast<unsigned char*>(expected.bytes.data()), nullptr);
    EXPECT_EQ(sha256_tree(vector_key(), message).value(), expected) << length;
  }
}

TEST(Md5Tree, is_the_md5_of_the_leaves_md5s) {
  const base::Bytes message = test::random_bytes(10'000, 6);
  base::Bytes leaves(48);
  for (std::size_t i = 0; i < 3; ++i)
    EVP_Digest(message.data() + i * 4096, std::min<std::size_t>(4096, message.size() - i * 4096),
               reinterpret_cast<unsigned char*>(leaves.data()) + 16 * i, nullptr, EVP_md5(), nullptr);
  Digest expected;
  EVP_Digest(leaves.data(), leaves.size(), reinterpret_cast<unsigned char*>(expected.bytes.data()), nullptr,
             EVP_md5(), nullptr);
  EXPECT_EQ(md5_tree(message).value(), expected);
}

}  // namespace
}  // namespace braid::hashing
