// "did you mean ...?"
#pragma once

#include <span>
#include <string_view>

namespace braid::server::config {

// The known word that `word` was most likely meant to be; empty if none is near.
std::string_view closest(std::string_view word, std::span<const std::string_view> known);

}  // namespace braid::server::config
