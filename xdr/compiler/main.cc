// xdrc: compiles an XDR file to C++.
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "xdr/compiler/emitter.h"
#include "xdr/compiler/schema.h"

namespace braid::xdrc {
namespace {

constexpr const char* help =
    "usage: xdrc --input FILE.x --include-as FOLDER/FILE.x --output PATH\n"
    "\n"
    "Compiles an XDR file (RFC 4506, with the attributes described in docs/xdr.md) to PATH.h and PATH.cc.\n"
    "\n"
    "  --input FILE.x            the file to compile\n"
    "  --include-as FOLDER/FILE  how the C++ code includes the result, without .h; the types are in\n"
    "                            namespace braid::FOLDER (the last one of several), and imports are found\n"
    "                            relative to the same root\n"
    "  --output PATH             where to write PATH.h and PATH.cc\n"
    "  --depfile FILE            also write the files that were read, as a make rule\n"
    "  --help                    print this\n";

struct Options {
  std::string input;
  std::string include_as;
  std::string output;
  std::string depfile;
};

std::optional<Options> options_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string_view word = words[i];
    std::string* to = word == "--input"        ? &options.input
                      : word == "--include-as" ? &options.include_as
                      : word == "--output"     ? &options.output
                      : word == "--depfile"    ? &options.depfile
                                               : nullptr;
    if (to == nullptr || i + 1 == count) {
      std::fprintf(stderr, "xdrc: %s '%s'; see xdrc --help\n",
                   to == nullptr ? "unknown option" : "no value for", words[i]);
      return std::nullopt;
    }
    *to = words[i + 1];
  }
  const std::size_t slash = options.include_as.rfind('/');
  if (options.input.empty() || options.output.empty() || slash == std::string::npos || slash == 0) {
    std::fputs("xdrc: --input, --include-as FOLDER/FILE and --output are needed; see xdrc --help\n", stderr);
    return std::nullopt;
  }
  return options;
}

base::Result<std::string, std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  const bool empty = file.peek() == std::char_traits<char>::eof();
  if (!file.is_open() || file.bad()) return base::fail("cannot read '" + path + "'");
  if (!empty) text << file.rdbuf();
  return text.str();
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "xdrc: cannot write '%s'\n", path.c_str());
  return static_cast<bool>(file);
}

// The folder that include names are relative to: FILE.x without the include name, if it ends in it.
std::string root_of(const Options& options) {
  if (!options.input.ends_with(options.include_as)) return {};
  return options.input.substr(0, options.input.size() - options.include_as.size());
}

int run(const Options& options) {
  auto source = read_file(options.input);
  if (!source) {
    std::fprintf(stderr, "xdrc: %s\n", source.error().c_str());
    return 1;
  }
  const std::string root = root_of(options);
  auto schema = load(options.input, options.include_as, *source,
                     [&](const std::string& include_as) { return read_file(root + include_as); });
  if (!schema) {
    const Diagnostic& wrong = schema.error();
    std::fprintf(stderr, "%s:%u:%u: %s\n", wrong.file.c_str(), wrong.at.line, wrong.at.column,
                 wrong.what.c_str());
    return 1;
  }
  const Output output = emit(*schema);
  std::string rule = options.output + ".h " + options.output + ".cc: " + options.input;
  for (const auto& file : schema->files) {
    if (file.get() != &schema->target()) rule += " " + root + file->path;
  }
  if (!options.depfile.empty() && !write_file(options.depfile, rule + "\n")) return 1;
  return write_file(options.output + ".h", output.header) && write_file(options.output + ".cc", output.source)
             ? 0
             : 1;
}

}  // namespace
}  // namespace braid::xdrc

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--help") {
    std::fputs(braid::xdrc::help, stdout);
    return 0;
  }
  auto options = braid::xdrc::options_of(count, words);
  return options ? braid::xdrc::run(*options) : 2;
}
