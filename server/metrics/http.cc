#include "server/metrics/http.h"

#include <fmt/format.h>

#include <algorithm>

namespace braid::server::metrics {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

std::string response(const HttpPage& page, bool with_body) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n{}",
      page.status, reason_of(page.status), page.content_type, page.body.size(),
      page.status == 405 ? "Allow: GET, HEAD\r\n" : "",
      with_body ? std::string_view(page.body) : std::string_view());
}

std::string refusal(int status) {
  HttpPage page;
  page.status = status;
  page.body = fmt::format("{} {}\n", status, reason_of(status));
  return response(page, true);
}

// Takes the part of `text` up to `separator`, or all of it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

bool http_complete(std::string_view so_far) {
  return so_far.find("\r\n\r\n") != std::string_view::npos || so_far.find("\n\n") != std::string_view::npos;
}

std::string http_answer(std::string_view request, const HttpPages& pages) {
  if (!http_complete(request)) return refusal(request.size() > http_request_bytes_max ? 431 : 400);
  std::string_view line = take(request, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string_view method = take(line, ' ');
  std::string_view target = take(line, ' ');
  const std::string_view version = line;
  // RFC 9112 3: three parts, each separated by one space.
  if (method.empty() || !target.starts_with('/') || !version.starts_with("HTTP/")) return refusal(400);
  if (!version.starts_with("HTTP/1.")) return refusal(505);
  if (method != "GET" && method != "HEAD") return refusal(405);
  const std::optional<HttpPage> page = pages(take(target, '?'));
  if (!page) return refusal(404);
  return response(*page, method == "GET");
}

}  // namespace braid::server::metrics
