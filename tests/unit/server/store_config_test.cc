// [[store]], and the exports that have one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "server/config/config.h"
#include "server/process.h"
#include "server/roles/stores/stores.h"
#include "server/run/capabilities.h"

namespace braid::server::config {
namespace {

using testing::HasSubstr;

const std::string export_text = "\n[[export]]\npath = \"/data\"\ndirectory = \"/srv/data\"\n";

std::string complaints_of(const std::string& text) {
  const auto config = parse_config(text);
  return config ? "right" : problems_text("braid.toml", config.error());
}

TEST(Config, stores_have_names_that_exports_refer_to) {
  const std::string store = "[[store]]\nname = \"a\"\ndirectory = \"/srv/s\"\n";
  const auto config = parse_config(store + export_text + "read_only = true\nstore = \"a\"\n");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->stores.front().directory, "/srv/s");
  EXPECT_EQ(config->exports.front().store, "a");
  EXPECT_EQ(complaints_of(store + export_text + "store = \"a\"\n"), "right");
  EXPECT_EQ(
      complaints_of(store + export_text + "read_only = true\nstore = \"b\"\n"),
      "braid.toml:9: 'store' is \"b\", and there is no such store; add [[store]] with name = \"b\" and a "
      "directory\n");
  EXPECT_THAT(complaints_of(store + store + export_text),
              testing::AllOf(HasSubstr("braid.toml:5: two stores are called \"a\""),
                             HasSubstr("have one directory")));
  EXPECT_THAT(
      complaints_of("[[store]]\n" + export_text),
      testing::AllOf(HasSubstr("[[store]] has no 'name'"), HasSubstr("[[store]] has no 'directory'")));
  EXPECT_THAT(complaints_of("[store]\nname = \"a\"\n" + export_text), HasSubstr("stores are a list"));
}

TEST(Config, a_data_server_may_have_a_store_of_its_own) {
  const std::string store = "[[store]]\nname = \"a\"\ndirectory = \"/srv/s\"\n";
  const std::string own =
      "[data_server]\ndirectory = \"/srv/o\"\nmds = \"h:1\"\nsecret = \"/srv/k\"\nstore = \"a\"\n";
  const auto config = parse_config(own + store);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->data_servers.front().store, "a");
  EXPECT_THAT(complaints_of(own), HasSubstr("braid.toml:5: 'store' is \"a\", and there is no such store"));
  EXPECT_THAT(complaints_of(own + "port = 2050\n" + store + export_text + "store = \"a\"\n"),
              HasSubstr("the store \"a\" is that of the data server"));
}

TEST(Config, what_rests_is_sealed_after_a_time) {
  const std::string store = "[[store]]\nname = \"a\"\ndirectory = \"/srv/s\"\n";
  EXPECT_EQ(parse_config(store + export_text)->stores.front().seal_seconds, 30U);
  EXPECT_EQ(parse_config(store + "seal_seconds = 0\n" + export_text)->stores.front().seal_seconds, 0U);
  EXPECT_EQ(parse_config(store + export_text)->stores.front().gc_keep_seconds, 86400U);
  EXPECT_EQ(parse_config(store + "gc_keep_seconds = 0\n" + export_text)->stores.front().gc_keep_seconds, 0U);
  EXPECT_EQ(parse_config(store + export_text)->stores.front().gc_bytes_per_second, 32U << 20U);
  EXPECT_EQ(parse_config(store + "gc_bytes_per_second = \"1MiB\"\n" + export_text)
                ->stores.front()
                .gc_bytes_per_second,
            1U << 20U);
  EXPECT_FALSE(parse_config(store + export_text)->stores.front().guard);
  EXPECT_TRUE(parse_config(store + "guard = true\n" + export_text)->stores.front().guard);
  EXPECT_EQ(parse_config(store + export_text)->stores.front().scrub_days, 30U);
  EXPECT_EQ(parse_config(store + "scrub_days = 0\n" + export_text)->stores.front().scrub_days, 0U);
  EXPECT_EQ(parse_config(store + export_text)->stores.front().hashing, StoreHashing::automatic);
  EXPECT_EQ(parse_config(store + "hashing = \"cuda\"\n" + export_text)->stores.front().hashing,
            StoreHashing::cuda);
  EXPECT_EQ(parse_config(store + "hashing = \"oracle\"\n" + export_text)->stores.front().hashing,
            StoreHashing::oracle);
  EXPECT_EQ(parse_config(store + "hashing = \"md5-tree\"\n" + export_text)->stores.front().hashing,
            StoreHashing::md5_tree);
  EXPECT_THAT(complaints_of(store + "hashing = \"gpu\"\n" + export_text), HasSubstr("braid.toml:4: "));
  EXPECT_EQ(parse_config(store + export_text)->stores.front().ingest, StoreIngest::after);
  EXPECT_EQ(parse_config(store + "ingest = \"window\"\nwindow_bytes_max = \"64MiB\"\n" + export_text)
                ->stores.front()
                .ingest,
            StoreIngest::window);
  EXPECT_THAT(complaints_of(store + "ingest = \"pieces\"\n" + export_text), HasSubstr("braid.toml:4: "));
  EXPECT_EQ(parse_config(store + export_text)->stores.front().similarity, store::Similarity::global);
  EXPECT_EQ(parse_config(store + "similarity = \"global\"\n" + export_text)->stores.front().similarity,
            store::Similarity::global);
  EXPECT_EQ(parse_config(store + "similarity = \"previous\"\n" + export_text)->stores.front().similarity,
            store::Similarity::previous);
  EXPECT_THAT(complaints_of(store + "similarity = \"local\"\n" + export_text),
              HasSubstr("write \"global\" or"));
  EXPECT_THAT(complaints_of(store + "window_bytes_max = 1\n" + export_text), HasSubstr("braid.toml:4: "));
  EXPECT_THAT(complaints_of(store + "seal_seconds = -1\n" + export_text), HasSubstr("braid.toml:4: "));
  EXPECT_THAT(complaints_of(store + "gc_bytes_per_second = 1\n" + export_text), HasSubstr("braid.toml:4: "));
  EXPECT_THAT(complaints_of(store + "scrub_days = 5000\n" + export_text), HasSubstr("braid.toml:4: "));
  EXPECT_EQ(parse_config(store + export_text)->stores.front().compression.how, store::Compression::none);
  EXPECT_EQ(parse_config(store + "compression = \"zstd:9\"\n" + export_text)->stores.front().compression,
            (store::CompressionOptions{.how = store::Compression::zstd, .level = 9}));
  for (const std::string wrong : {"gzip", "zstd:0", "zstd:20", "zstd:", "zstd:3x", "Zstd", ""})
    EXPECT_THAT(complaints_of(store + "compression = \"" + wrong + "\"\n" + export_text),
                HasSubstr("write \"none\", \"zstd\""));
  EXPECT_THAT(complaints_of(store + "seal_second = 5\n" + export_text), HasSubstr("seal_seconds"));
}

TEST(Config, a_reload_brings_no_store) {
  Config running, next;
  ExportConfig& added = next.exports.emplace_back();
  added.path = "/a";
  added.directory = "/srv/a";
  added.store = "s";
  EXPECT_THAT(run::can_reload(running, next).error(), HasSubstr("[[store]] is read at the start only"));
  running.stores.push_back({.name = "s", .directory = "/srv/s"});
  EXPECT_TRUE(run::can_reload(running, next));
}

}  // namespace
// Not to be told by the paths as they are written.
TEST(Config, a_store_does_not_lie_in_an_exported_directory) {
  if (!may_keep_trusted_attributes()) GTEST_SKIP() << "needs root";
  std::string pattern = testing::TempDir() + "store-XXXXXX";
  const std::filesystem::path place = ::mkdtemp(pattern.data());
  std::filesystem::create_directory(place / "exported");
  std::filesystem::create_directory_symlink(place / "exported", place / "link");
  Config config;
  ExportConfig exported;
  exported.path = "/a";
  exported.directory = place / "exported";
  exported.store = "s";
  config.exports.push_back(exported);
  config.stores.push_back({.name = "s", .directory = place / "link" / "store", .make = true});
  const base::SystemClock clock;
  const auto inside = roles::stores::Stores::open(config, clock);
  ASSERT_FALSE(inside);
  EXPECT_THAT(inside.error(), HasSubstr("which is exported as /a"));
  EXPECT_TRUE(std::filesystem::is_empty(place / "exported"));
  config.stores.front().directory = place / "exported-store";
  EXPECT_TRUE(roles::stores::Stores::open(config, clock)) << "beside it";
  EXPECT_TRUE(std::filesystem::exists(place / "exported-store" / "FORMAT")) << "it was made";
  std::filesystem::remove_all(place);
}

}  // namespace braid::server::config
