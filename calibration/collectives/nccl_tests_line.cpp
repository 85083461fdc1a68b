#include "calibration/collectives/nccl_tests_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <exception>
#include <regex>

namespace lockstep::nccl_tests {
namespace {

/// A type of data as nccl-tests names it.
bool is_type(const std::string& word) {
  static constexpr std::array<std::string_view, 14> kTypes{
      "int8",  "uint8",  "int32",    "uint32",   "int64",    "uint64", "half",
      "float", "double", "bfloat16", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"};
  return std::ranges::find(kTypes, word) != kTypes.end();
}

}  // namespace

std::vector<std::string> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

std::string_view without_launcher(std::string_view line) {
  static const std::regex kPrefix{
      R"(\s*(\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?\]?:?\s)"
      R"(|([A-Z][a-z]{2} )?([A-Z][a-z]{2} [ \d]\d )?\d\d:\d\d:\d\d([.,]\d{1,9})?( \d{4}(?=\[)|\s))"
      R"(|\[[^\]\s<>]+,\d+\](<std(out|err|diag)>)?:?\s?)"
      R"(|\[pod/[^\]\s]+\]\s)"
      R"(|\[[\w.-]+:\d+\]:?\s)"
      R"(|[\w.-]+ [\w.-]+\[\d+\]:\s)"
      R"(|\[\d+\]:?\s)"
      R"(|\d+:\s?))"};
  std::cmatch found;
  while (std::regex_search(line.data(), line.data() + line.size(), found, kPrefix,
                           std::regex_constants::match_continuous)) {
    line.remove_prefix(static_cast<std::size_t>(found.length()));
  }
  return line;
}

bool has_row(const std::vector<std::string>& words) {
  const auto is_count = [](const std::string& word) {
    return std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (is_type(words[i]) && is_count(words[i - 1]) && is_count(words[i - 2])) {
      return true;
    }
  }
  return false;
}

bool was_row(const std::vector<std::string>& words) {
  const std::string& first = words.front();
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto may_group = [&](unsigned char c) {
    return is_digit(c) || c == '.' || c == ',' || c == '\'' || c == '_' || c >= 0x80;
  };
  constexpr std::size_t kFewest = 4;  // size, count, type and a time
  if (words.size() < kFewest || !is_digit(static_cast<unsigned char>(first.front()))) {
    return false;
  }
  return std::ranges::all_of(first, may_group) || std::ranges::any_of(words, is_type);
}

std::optional<double> number_of(const std::string& word) {
  double value = 0;
  std::size_t used = 0;
  try {
    value = std::stod(word, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return used == word.size() ? std::optional{value} : std::nullopt;
}

}  // namespace lockstep::nccl_tests
