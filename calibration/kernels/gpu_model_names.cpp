#include "calibration/kernels/gpu_model_names.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace lockstep {
namespace {

using Words = std::vector<std::string>;

bool is_of_a_word(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0;
}

Words words_of(const std::string& name) {
  Words words;
  bool is_inside = false;
  for (const char character : name) {
    if (is_of_a_word(character)) {
      if (!is_inside) words.emplace_back();
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
    }
    is_inside = is_of_a_word(character);
  }
  return words;
}

/// 80gb
bool is_memory(const std::string& word) {
  return word.ends_with("gb") && word.size() > 2 &&
         std::all_of(word.begin(), word.end() - 2, [](char digit) { return digit >= '0' && digit <= '9'; });
}

std::string joined(const Words& words) {
  return fmt::format("{}", fmt::join(words, ""));
}

/// Whether words that follow each other make up @p model, however they are divided: RTX 2080 Ti, rtx_2080ti.
bool speaks_of(const Words& name, const std::string& model) {
  for (std::size_t from = 0; from < name.size(); ++from) {
    std::string run;
    for (std::size_t to = from; to < name.size() && run.size() < model.size(); ++to) run += name[to];
    if (run == model) return true;
  }
  return false;
}

}  // namespace

GpuModelNames::GpuModelNames(const std::vector<std::string>& names) {
  std::vector<Words> found;
  for (const std::string& name : names) {
    Words words = words_of(name);
    words.erase(std::ranges::find_if(words, is_memory), words.end());
    if (!words.empty()) found.push_back(std::move(words));
  }
  for (const Words& words : found) {
    const bool is_variant = std::ranges::any_of(found, [&](const Words& other) {
      return other.size() < words.size() && std::equal(other.begin(), other.end(), words.begin());
    });
    if (!is_variant && std::ranges::find(models_, words) == models_.end()) models_.push_back(words);
  }
}

std::string GpuModelNames::in(const std::string& name) const {
  const Words words = words_of(name);
  const Words* longest = nullptr;
  for (const Words& model : models_) {
    if (speaks_of(words, joined(model)) &&
        (longest == nullptr || joined(model).size() > joined(*longest).size())) {
      longest = &model;
    }
  }
  return longest == nullptr ? "" : fmt::format("{}", fmt::join(*longest, " "));
}

bool GpuModelNames::tell_apart(const std::string& one, const std::string& other) const {
  const std::string first = in(one), second = in(other);
  return !first.empty() && !second.empty() && first != second;
}

}  // namespace lockstep
