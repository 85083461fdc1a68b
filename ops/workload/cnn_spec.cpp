#include "ops/workload/cnn_spec.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <stdexcept>

#include "ops/workload/cnn_layers.hpp"
#include "ops/workload/model_sizes.hpp"

namespace lockstep {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw std::invalid_argument{
      fmt::format("layer '{}': {}; e.g. 'conv 64 3x3 /2', 'max_pool 3x3 /2 valid'", text, why)};
}

/// The whole number that all of @p word is; below 1: refused.
std::int64_t number(const std::string& word, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  constexpr std::int64_t kMost = 1'000'000;
  if (error != std::errc{} || end != word.data() + word.size() || value < 1 || value > kMost) {
    refuse(text, fmt::format("'{}' is no whole number of 1 to {}", word, kMost));
  }
  return value;
}

std::vector<CnnLayer::Filter> filters_in(const std::string& word, const std::string& text) {
  std::vector<CnnLayer::Filter> found;
  std::istringstream parts{word};
  for (std::string part; std::getline(parts, part, '+');) {
    const std::size_t cross = part.find('x');
    if (cross == std::string::npos) refuse(text, fmt::format("'{}' is no filter HEIGHTxWIDTH", part));
    found.push_back({number(part.substr(0, cross), text), number(part.substr(cross + 1), text)});
  }
  return found;
}

}  // namespace

CnnLayer CnnLayer::parse(const std::string& text) {
  std::istringstream words{text};
  std::string word, size;
  CnnLayer layer;
  words >> word;
  if (word == "conv") {
    words >> word;
    layer.channels = number(word, text);
  } else if (word == "max_pool" || word == "average_pool") {
    layer.kind = word == "max_pool" ? Kind::MaxPool : Kind::AveragePool;
  } else {
    refuse(text, fmt::format("'{}' is none of conv, max_pool, average_pool", word));
  }
  words >> size;
  layer.filters = filters_in(size, text);
  if (layer.filters.empty() || (layer.kind != Kind::Convolution && layer.filters.size() > 1)) {
    refuse(text, "one filter HEIGHTxWIDTH is needed");
  }
  while (words >> word) {
    if (word.starts_with('/')) {
      layer.stride = number(word.substr(1), text);
    } else if (word == "valid") {
      layer.padded = false;
    } else if (word == "linear" && layer.kind == Kind::Convolution) {
      layer.activation = false;
    } else {
      refuse(text, fmt::format("'{}' is none of /STRIDE, valid, linear", word));
    }
  }
  return layer;
}

void CnnBlock::check() const {
  if (repeat < 1) throw FieldError{"repeat", "at least 1"};
  if (branches.empty()) throw FieldError{"branches", "at least one branch"};
  for (std::size_t branch = 0; branch < branches.size(); ++branch) {
    for (std::size_t layer = 0; layer < branches[branch].size(); ++layer) {
      try {
        (void)CnnLayer::parse(branches[branch][layer]);
      } catch (const std::invalid_argument& problem) {
        throw FieldError{fmt::format("branches.{}.{}", branch, layer), problem.what()};
      }
    }
  }
}

void CnnSpec::check() const {
  if (image_channels < 1) throw FieldError{"image_channels", "at least 1"};
  if (image_size < 1) throw FieldError{"image_size", "at least 1 pixel"};
  if (classes < 1) throw FieldError{"classes", "at least 1"};
  if (!(dropout >= 0 && dropout < 1)) throw FieldError{"dropout", "a probability below 1"};
  if (blocks.empty()) throw FieldError{"blocks", "at least one block"};
  check_sizes(*this);
  (void)cnn_layers(*this, 1);
}

}  // namespace lockstep
