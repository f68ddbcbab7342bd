#include "xdr/compiler/lexer.h"

#include <string>

namespace braid::xdrc {
namespace {

// ASCII only, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '_'; }
constexpr std::string_view punctuation = "{}()[]<>;:,=*";

class Lexer {
 public:
  Lexer(std::string_view file, std::string_view source) : file_(file), source_(source) {}

  base::Result<std::vector<Token>, Diagnostic> run() {
    std::vector<Token> tokens;
    while (true) {
      if (!skip_blanks()) return error("this comment never ends");
      if (at_ == source_.size()) break;
      token_at_ = here_;
      const std::size_t begin = at_;
      auto kind = scan();
      if (!kind) return base::fail(kind.error());
      std::string_view text = source_.substr(begin, at_ - begin);
      if (*kind == Token::Kind::text) text = text.substr(1, text.size() - 2);
      tokens.push_back({*kind, token_at_, text});
    }
    tokens.push_back({Token::Kind::end, here_, {}});
    return tokens;
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void step() {
    if (source_[at_++] == '\n') {
      ++here_.line;
      here_.column = 1;
    } else {
      ++here_.column;
    }
  }
  void skip_line() {
    while (at_ < source_.size() && source_[at_] != '\n') step();
  }

  // False in a comment without an end; token_at_ is then its start.
  bool skip_blanks() {
    while (at_ < source_.size()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
        step();
      } else if ((c == '%' && here_.column == 1) || (c == '/' && peek(1) == '/')) {
        skip_line();
      } else if (c == '/' && peek(1) == '*') {
        token_at_ = here_;
        const std::size_t end = source_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return false;
        while (at_ < end + 2) step();
      } else {
        break;
      }
    }
    return true;
  }

  base::Result<Token::Kind, Diagnostic> scan() {
    const char c = peek();
    if (is_letter(c)) {
      while (is_word(peek())) step();
      return Token::Kind::identifier;
    }
    if (is_digit(c) || (c == '-' && is_digit(peek(1)))) {
      step();
      while (is_word(peek())) step();
      return Token::Kind::number;
    }
    if (c == '"') {
      step();
      while (at_ < source_.size() && peek() != '"' && peek() != '\n') step();
      if (peek() != '"') return error("this text has no closing quote on its line");
      step();
      return Token::Kind::text;
    }
    if (punctuation.find(c) == std::string_view::npos) {
      return error(c > ' ' && c < 127 ? std::string("unexpected character '") + c + "'"
                                      : "unexpected byte " + std::to_string(static_cast<unsigned char>(c)));
    }
    step();
    return Token::Kind::punctuation;
  }

  [[nodiscard]] base::Failure<Diagnostic> error(std::string what) const {
    return base::fail(Diagnostic{std::string(file_), token_at_, std::move(what)});
  }

  std::string_view file_;
  std::string_view source_;
  std::size_t at_ = 0;
  Position here_;
  Position token_at_;
};

}  // namespace

base::Result<std::vector<Token>, Diagnostic> tokens_of(std::string_view file, std::string_view source) {
  return Lexer(file, source).run();
}

}  // namespace braid::xdrc
