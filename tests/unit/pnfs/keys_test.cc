#include "pnfs/keys.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace braid::pnfs {
namespace {

const base::Bytes content(40, std::byte{7});

std::string text_of(const hashing::Key& key) {
  return {reinterpret_cast<const char*>(key.bytes().data()), key.bytes().size()};
}

TEST(ClusterSecretTest, each_purpose_has_a_key_of_its_own) {
  const ClusterSecret secret = ClusterSecret::from(content).value();
  ClusterId other{};
  other[15] = std::byte{1};
  const std::set<std::string> keys{text_of(secret.handle_key({}, KeyNumber(1))),
                                   text_of(secret.handle_key({}, KeyNumber(2))),
                                   text_of(secret.handle_key(other, KeyNumber(1))),
                                   text_of(secret.proof_key()),
                                   text_of(secret.session_key({})),
                                   text_of(secret.session_key(base::bytes_of("hello")))};
  EXPECT_EQ(keys.size(), 6U);
}

TEST(ClusterSecretTest, the_same_content_gives_the_same_keys_and_another_one_others) {
  base::Bytes changed = content;
  changed.back() = std::byte{8};
  const auto key_of = [](const base::Bytes& bytes) {
    return text_of(ClusterSecret::from(bytes).value().handle_key({}, KeyNumber(1)));
  };
  EXPECT_EQ(key_of(content), key_of(content));
  EXPECT_NE(key_of(content), key_of(changed));
}

TEST(ClusterSecretTest, a_secret_that_can_be_guessed_is_none) {
  EXPECT_FALSE(ClusterSecret::from({}));
  EXPECT_FALSE(ClusterSecret::from(base::Bytes(ClusterSecret::bytes_min - 1)));
  EXPECT_TRUE(ClusterSecret::from(base::Bytes(ClusterSecret::bytes_min)));
  EXPECT_FALSE(ClusterSecret::from(base::Bytes(ClusterSecret::bytes_max + 1)));
}

TEST(MacTest, parts_cannot_be_shifted_into_each_other) {
  const hashing::Key key;
  const auto mac_of = [&](std::string_view a, std::string_view b) {
    return sign(key, {base::bytes_of(a), base::bytes_of(b)});
  };
  EXPECT_TRUE(equal(mac_of("ab", "c"), mac_of("ab", "c").bytes));
  EXPECT_FALSE(equal(mac_of("ab", "c"), mac_of("a", "bc").bytes));
  EXPECT_FALSE(equal(mac_of("ab", "c"), base::BytesView(mac_of("ab", "c").bytes).first(15)));
}

TEST(MacTest, every_bit_counts) {
  const Mac mac = sign(hashing::Key(), {base::bytes_of("x")});
  for (std::size_t bit = 0; bit < 8 * Mac::bytes_count; ++bit) {
    Mac other = mac;
    other.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(equal(mac, other.bytes));
  }
}

TEST(ClientTagTest, depends_on_the_client_and_on_the_cluster) {
  ClusterId other{};
  other[0] = std::byte{1};
  const auto tag = client_tag({}, base::bytes_of("Linux NFSv4.2 host"));
  EXPECT_EQ(tag, client_tag({}, base::bytes_of("Linux NFSv4.2 host")));
  EXPECT_NE(tag, client_tag(other, base::bytes_of("Linux NFSv4.2 host")));
  EXPECT_NE(tag, client_tag({}, base::bytes_of("Linux NFSv4.2 hosu")));
}

}  // namespace
}  // namespace braid::pnfs
