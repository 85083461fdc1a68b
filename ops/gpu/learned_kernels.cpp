#include "ops/gpu/learned_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 5> kTypes{"fp32", "tf32", "fp16", "bf16", "fp8"};
constexpr std::array<std::string_view, 4> kLayouts{"nn", "nt", "tn", "tt"};

bool is_product(LearnedFamily family) {
  return family == LearnedFamily::Gemm || family == LearnedFamily::BatchedGemm;
}

std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    at = std::find_if(at, end, [](char c) { return c != ' ' && c != '\n'; });
    if (at == end) return numbers;
    double number = 0;
    const auto [stop, problem] = std::from_chars(at, end, number);
    if (problem != std::errc{} || !std::isfinite(number)) {
      throw FieldError("numbers", fmt::format("'{}' is no finite number",
                                              std::string(at, std::find(at, end, ' ')).substr(0, 24)));
    }
    numbers.push_back(number);
    at = stop;
  }
}

void check_chain(const char* key, const std::vector<LearnedLayer>& layers, std::size_t inputs) {
  auto expected = static_cast<int>(inputs);
  for (const LearnedLayer& layer : layers) {
    if (layer.inputs != expected) {
      throw FieldError(key, fmt::format("a layer has {} inputs, {} come in", layer.inputs, expected));
    }
    expected = layer.outputs;
  }
}

}  // namespace

void LearnedFeature::check() const {
  if (!(least <= most)) throw FieldError("most", "not less than least");
}

void LearnedLayer::check() {
  if (inputs < 1) throw FieldError("inputs", "at least 1");
  if (outputs < 1) throw FieldError("outputs", "at least 1");
  values = numbers_in(numbers);
  const auto wanted = static_cast<std::size_t>(outputs) * (static_cast<std::size_t>(inputs) + 1);
  if (values.size() != wanted) {
    throw FieldError("numbers", fmt::format("{} numbers, {} x {} weights and {} biases are {}", values.size(),
                                            outputs, inputs, outputs, wanted));
  }
}

void LearnedKernel::check() const {
  if (std::ranges::find(kTypes, type) == kTypes.end()) {
    throw FieldError("type", fmt::format("'{}' is none of fp32, tf32, fp16, bf16, fp8", type));
  }
  if (is_product(family) ? std::ranges::find(kLayouts, layout) == kLayouts.end() : !layout.empty()) {
    throw FieldError("layout", "matrix products have one of nn, nt, tn, tt; others have none");
  }
  if (!(band > 0)) throw FieldError("band", "must be above 0");
  if (features.empty()) throw FieldError("features", "at least one");
  if (elements.empty() != trunk.empty()) throw FieldError("trunk", "a trunk has elements, and they a trunk");
  if (head.empty() || head.back().outputs != 1) throw FieldError("head", "the last layer has one output");
  check_chain("trunk", trunk, elements.size());
  check_chain("head", head,
              features.size() + (trunk.empty() ? 0U : static_cast<std::size_t>(trunk.back().outputs)));
}

const LearnedKernel* LearnedKernels::find(LearnedFamily family, const std::string& type,
                                          const std::string& layout) const {
  for (const LearnedKernel& kernel : kernels) {
    if (kernel.family == family && kernel.type == type && kernel.layout == layout) return &kernel;
  }
  return nullptr;
}

bool LearnedKernels::measured_on(const std::string& gpu) const {
  return std::ranges::find(gpus, gpu) != gpus.end();
}

void LearnedKernels::check() const {
  for (const LearnedKernel& kernel : kernels) {
    if (find(kernel.family, kernel.type, kernel.layout) != &kernel) {
      throw FieldError("kernels", fmt::format("two networks for {} {} {}", name_of(kernel.family),
                                              kernel.type, kernel.layout));
    }
  }
  for (const auto& [gpu, numbers] : scale) {
    if (!measured_on(gpu)) {
      throw FieldError("scale", fmt::format("'{}' is not among the 'gpus': {}", gpu, fmt::join(gpus, ", ")));
    }
  }
}

}  // namespace lockstep
