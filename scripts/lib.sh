# shellcheck shell=bash
# Shared by the scripts of this directory; sourced by bash.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '== %s\n' "$*" >&2; }
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Runs a command as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "needs root for: $*"
  fi
}

# missing_packages SET...: names of packages of these sets that are not installed, one per line.
missing_packages() {
  local set package
  while read -r set package; do
    case " $* " in *" $set "*) ;; *) continue ;; esac
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done < <(grep -v '^#' "$root/scripts/packages.txt")
}

# install_packages SET...: installs what is missing; nothing is asked of the network when nothing is.
install_packages() {
  command -v dpkg-query >/dev/null ||
    fail "this script installs packages on Debian 12, Ubuntu 24.04 and later; elsewhere install what scripts/packages.txt lists"
  local missing
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  say "Installing packages: $missing"
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    fail "packages are missing and there is no sudo; as root run: apt-get install $missing"
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
  # shellcheck disable=SC2086  # one word per package
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

# configure PRESET [OPTION...]: runs CMake unless the build directory is already configured that way.
configure() {
  local preset=$1 build="$root/build/$1" stamp
  shift
  stamp="$build/.configured"
  if [ ! -f "$build/build.ninja" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$*" ]; then
    say "Configuring build/$preset"
    local log
    log=$(mktemp)
    if ! (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1; then
      cat "$log" >&2
      rm -f "$log"
      fail "CMake failed"
    fi
    rm -f "$log"
    printf '%s' "$*" >"$stamp"
  fi
}
