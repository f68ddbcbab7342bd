#include "server/metrics/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace braid::server::metrics {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string reply_to(const std::string& request) {
  return http_answer(request, [](std::string_view path) -> std::optional<HttpPage> {
    if (path != "/metrics") return std::nullopt;
    return HttpPage{.body = "braid_up 1\n", .content_type = "text/plain; version=0.0.4", .status = 200};
  });
}

TEST(Http, a_page_is_answered_with_its_length_and_closes_the_connection) {
  EXPECT_EQ(reply_to("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: 11\r\n"
            "Connection: close\r\n\r\nbraid_up 1\n");
}

TEST(Http, head_has_the_length_but_no_body) {
  const std::string response = reply_to("HEAD /metrics HTTP/1.0\r\n\r\n");
  EXPECT_THAT(response, HasSubstr("Content-Length: 11\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\n"));
}

TEST(Http, a_query_is_ignored_and_bare_line_feeds_are_taken) {
  EXPECT_THAT(reply_to("GET /metrics?name=x HTTP/1.1\n\n"), StartsWith("HTTP/1.1 200 "));
}

TEST(Http, what_is_no_request_is_refused_with_its_status) {
  EXPECT_THAT(reply_to("GET /other HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(reply_to("POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(reply_to("POST /metrics HTTP/1.1\r\n\r\n"), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_THAT(reply_to("GET /metrics HTTP/2.0\r\n\r\n"), StartsWith("HTTP/1.1 505 "));
  EXPECT_THAT(reply_to("GET metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(reply_to("GET\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(reply_to("\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(reply_to(std::string("\0\xff\x80 / x\r\n\r\n", 11)), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(reply_to("GET /metrics HTTP/1.1\r\nHost:"), StartsWith("HTTP/1.1 400 "));
}

TEST(Http, a_header_without_end_is_too_large) {
  EXPECT_THAT(reply_to("GET /metrics HTTP/1.1\r\nX: " + std::string(http_request_bytes_max, 'a')),
              StartsWith("HTTP/1.1 431 "));
}

TEST(Http, a_request_is_complete_at_the_empty_line) {
  EXPECT_FALSE(http_complete("GET / HTTP/1.1\r\nHost: x\r\n"));
  EXPECT_TRUE(http_complete("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
}

}  // namespace
}  // namespace braid::server::metrics
