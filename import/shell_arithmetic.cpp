#include "import/shell_arithmetic.hpp"

#include <cctype>
#include <charconv>
#include <string_view>

namespace lockstep::importing {
namespace {

using MaybeNumber = std::optional<std::int64_t>;
constexpr std::int64_t kMost = 1'000'000'000;  // products of two of them stay whole

MaybeNumber bounded(std::int64_t value) {
  return value > kMost || value < -kMost ? std::nullopt : MaybeNumber{value};
}

class Expression {
 public:
  Expression(std::string_view text, const std::map<std::string, std::string>& variables)
      : text_{text}, variables_{variables} {}

  MaybeNumber value() {
    const MaybeNumber all = sum();
    return next() == '\0' ? all : std::nullopt;
  }

 private:
  char next() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '$' || text_[at_] == '{' || text_[at_] == '}')) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  MaybeNumber sum() {
    MaybeNumber left = product();
    while (left && (next() == '+' || next() == '-')) {
      const char sign = text_[at_++];
      const MaybeNumber right = product();
      left = right ? bounded(sign == '+' ? *left + *right : *left - *right) : std::nullopt;
    }
    return left;
  }

  MaybeNumber product() {
    MaybeNumber left = atom();
    while (left && (next() == '*' || next() == '/' || next() == '%')) {
      const char sign = text_[at_++];
      const MaybeNumber right = atom();
      if (!right || (sign != '*' && *right == 0)) {
        return std::nullopt;
      }
      left = bounded(sign == '*' ? *left * *right : (sign == '/' ? *left / *right : *left % *right));
    }
    return left;
  }

  MaybeNumber atom() {
    if (next() == '(') {
      if (++depth_ > kDeepest) {
        return std::nullopt;
      }
      ++at_;
      const MaybeNumber inside = sum();
      if (next() != ')') {
        return std::nullopt;
      }
      ++at_;
      --depth_;
      return inside;
    }
    std::string word;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      word += text_[at_++];
    }
    if (const auto found = variables_.find(word); found != variables_.end()) {
      word = found->second;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc{} && end == word.data() + word.size() ? bounded(number) : std::nullopt;
  }

  static constexpr int kDeepest = 100;
  std::string_view text_;
  const std::map<std::string, std::string>& variables_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_number(const std::string& expression,
                                         const std::map<std::string, std::string>& variables) {
  return Expression{expression, variables}.value();
}

}  // namespace lockstep::importing
