#include "synth/class_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <variant>

#include "ops/model_flops.hpp"
#include "ops/program_builder.hpp"
#include "traces/kernels/kernel_families.hpp"

namespace lockstep::synth {
namespace {

std::string lower(std::string_view text) {
  std::string low{text};
  std::ranges::transform(low, low.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return low;
}

}  // namespace

std::string class_of(const KernelCall& call) {
  // Classes by index of KernelWork, in the words of the kernel families.
  constexpr std::array<std::string_view, std::variant_size_v<KernelWork>> kClasses{
      "gemm",      "elementwise",   "reduction", "copy",      "copy",          "indexing",
      "softmax",   "normalisation", "attention", "embedding", "embedding",     "embedding",
      "optimizer", "copy",          "copy",      "",          "normalisation", "convolution"};
  if (!std::holds_alternative<Timed>(call.work)) return std::string{kClasses.at(call.work.index())};
  // A class that a kernel is called by stays it.
  const KernelFamilies& families = standard_families();
  const bool is_class = std::ranges::binary_search(families.names(), call.name) ||
                        (!call.name.empty() && std::ranges::find(kClasses, call.name) != kClasses.end());
  return is_class ? call.name : families.of(call.name);
}

std::string class_of_range(std::string_view name) {
  if (name == kRecomputeRange) return std::string{kRecomputeRange};
  // The first word that the name holds decides.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kWords{{
      {"profilerstep", "step"},
      {"optimizer", "optimizer"},
      {"dataloader", "input"},
      {"data_loading", "input"},
      {"backward", "backward"},
      {"forward", "forward"},
      {"aten::", "operator"},
      {"c10d::", "operator"},
      {"::", "operator"},
  }};
  const std::string low = lower(name);
  for (const auto& [word, range_class] : kWords) {
    if (low.find(word) != std::string::npos) return std::string{range_class};
  }
  return "range";
}

RoleNames role_names(const Program& program) {
  std::vector<bool> communicates(program.streams.size(), false);
  std::vector<std::size_t> copies(program.streams.size(), 0);
  std::vector<std::size_t> kernels(program.streams.size(), 0);
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Collective) communicates[instruction.stream] = true;
      if (instruction.op != Opcode::Launch) continue;
      const bool is_copy =
          !instruction.per_rank && std::holds_alternative<Memcpy>(program.kernels[instruction.operand].work);
      ++(is_copy ? copies : kernels)[instruction.stream];
    }
  }
  RoleNames names;
  for (std::size_t i = 0; i < program.streams.size(); ++i) {
    const char* role = communicates[i] ? "communication" : copies[i] > kernels[i] ? "copy" : "compute";
    names.streams.push_back(fmt::format("{}{}", role, i));
  }
  for (std::size_t i = 0; i < program.threads.size(); ++i) {
    const bool is_autograd = program.threads[i].name == kAutogradThread;
    names.threads.push_back(i == 0        ? "main"
                            : is_autograd ? std::string{kAutogradThread}
                                          : fmt::format("thread{}", i));
  }
  for (std::size_t i = 0; i < program.groups.size(); ++i) {
    names.groups.push_back(fmt::format("group{}", i + 1));
  }
  return names;
}

}  // namespace lockstep::synth
