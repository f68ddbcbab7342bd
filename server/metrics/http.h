// The little HTTP/1.1 that a scraper needs (RFC 9112): GET and HEAD of a few pages, one per connection.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace braid::server::metrics {

struct HttpPage {
  std::string body;
  std::string_view content_type = "text/plain; charset=utf-8";
  int status = 200;
};
// The page of a path such as "/metrics", without the query; nothing: 404.
using HttpPages = std::function<std::optional<HttpPage>(std::string_view path)>;

constexpr std::size_t http_request_bytes_max = 8192;

// Whether the header section has ended.
bool http_complete(std::string_view so_far);
// The whole response to what was received: 400, 404, 405, 431 or 505 where it is no proper request.
std::string http_answer(std::string_view request, const HttpPages& pages);

}  // namespace braid::server::metrics
