#include "server/admin_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace braid::server {
namespace {

using testing::HasSubstr;

std::string status() { return R"({"version":"1"})"; }
std::string answer(std::string_view request) { return admin_answer(request, status); }

TEST(AdminAnswer, status_is_answered_with_the_report) {
  EXPECT_EQ(answer("{\"command\":\"status\"}\n"), "{\"version\":\"1\"}\n");
  EXPECT_EQ(answer("{\"command\":\"status\"}\r\nrest"), "{\"version\":\"1\"}\n");
}

TEST(AdminAnswer, what_is_no_known_request_is_refused) {
  EXPECT_EQ(answer("{\"command\":\"reboot\"}\n"), "{\"error\":\"unknown command; known: status\"}\n");
  EXPECT_EQ(answer("{}\n"), "{\"error\":\"the request has no \\\"command\\\"\"}\n");
  EXPECT_EQ(answer("{\"command\":7}\n"), "{\"error\":\"the request has no \\\"command\\\"\"}\n");
  EXPECT_EQ(answer("[1,2]\n"), "{\"error\":\"the request is no JSON object\"}\n");
  EXPECT_EQ(answer("status\n"), "{\"error\":\"the request is no JSON object\"}\n");
  EXPECT_EQ(answer("\n"), "{\"error\":\"the request is no JSON object\"}\n");
  EXPECT_EQ(answer(std::string(3, '\xff') + "\n"), "{\"error\":\"the request is no JSON object\"}\n");
  EXPECT_EQ(answer(std::string(4000, '[') + "\n"), "{\"error\":\"the request is no JSON object\"}\n");
}

TEST(AdminAnswer, a_line_that_does_not_end_is_refused) {
  EXPECT_EQ(answer("{\"command\":\"status\"}"),
            "{\"error\":\"the request is no line of at most 4096 bytes\"}\n");
}

class AdminSocketTest : public testing::Test {
 protected:
  AdminSocketTest() : path_(testing::TempDir() + "admin_test." + std::to_string(::getpid()) + ".sock") {}
  ~AdminSocketTest() override { ::unlink(path_.c_str()); }
  [[nodiscard]] bool exists() const { return ::access(path_.c_str(), F_OK) == 0; }
  const std::string path_;
};

TEST_F(AdminSocketTest, the_file_is_private_and_goes_with_its_owner) {
  {
    const auto socket = AdminSocket::create(path_);
    ASSERT_TRUE(socket.has_value()) << socket.error();
    struct stat found{};
    ASSERT_EQ(::stat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777u, 0600u);
    EXPECT_TRUE(connect_admin(path_).has_value());
  }
  EXPECT_FALSE(exists());
}

TEST_F(AdminSocketTest, a_file_left_by_a_dead_server_is_replaced) {
  {
    auto dead = AdminSocket::create(path_);
    ASSERT_TRUE(dead.has_value());
    dead->take_listener().reset();
    ASSERT_EQ(::rename(path_.c_str(), (path_ + ".kept").c_str()), 0);
  }
  ASSERT_EQ(::rename((path_ + ".kept").c_str(), path_.c_str()), 0);
  EXPECT_FALSE(connect_admin(path_).has_value());
  EXPECT_TRUE(AdminSocket::create(path_).has_value());
}

TEST_F(AdminSocketTest, the_socket_of_a_running_server_is_left_alone) {
  const auto first = AdminSocket::create(path_);
  ASSERT_TRUE(first.has_value());
  const auto second = AdminSocket::create(path_);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error(), HasSubstr("another server answers on the admin socket"));
  EXPECT_TRUE(connect_admin(path_).has_value());
}

TEST_F(AdminSocketTest, a_file_that_is_no_socket_is_not_replaced) {
  std::ofstream(path_) << "precious";
  const auto socket = AdminSocket::create(path_);
  ASSERT_FALSE(socket.has_value());
  EXPECT_THAT(socket.error(), HasSubstr("is no socket"));
  EXPECT_TRUE(exists());
}

TEST_F(AdminSocketTest, a_path_beyond_the_limit_of_unix_sockets_is_an_error) {
  const auto socket = AdminSocket::create("/tmp/" + std::string(200, 'a'));
  ASSERT_FALSE(socket.has_value());
  EXPECT_THAT(socket.error(), HasSubstr("too long (205 bytes, at most 107)"));
}

}  // namespace
}  // namespace braid::server
