// Where a server keeps its files when nobody says where: the system's directories for root, the user's for
// others.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace braid::server::config {

// Keys that must survive a restart: /var/lib/braid, or $XDG_STATE_HOME/braid or ~/.local/state/braid.
std::string default_state_dir();
// Of servers of root.
inline constexpr const char* runtime_dir_of_root = "/run/braid";
// Directory of admin sockets: /run/braid, or $XDG_RUNTIME_DIR/braid, or /tmp/braid-UID.
std::string default_runtime_dir();
// DIRECTORY/PORT.sock, so that several servers of one host do not meet.
std::string default_admin_socket(std::uint16_t port);
// The admin sockets in default_runtime_dir(), of running servers or left over.
std::vector<std::string> default_admin_sockets();

// Makes the directory with mode 0700 below existing or new parents. An error is a sentence.
std::expected<void, std::string> make_private_directory(const std::string& path);

}  // namespace braid::server::config
