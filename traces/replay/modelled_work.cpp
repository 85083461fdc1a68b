#include "traces/replay/modelled_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "traces/replay/embedding_work.hpp"
#include "traces/replay/shaped_operator.hpp"

namespace lockstep::replay {
namespace {

/// `Memcpy HtoD (Pinned -> Device)`; none: the trace does not say how much.
std::optional<ModelledWork> moved_bytes(const kineto::RecordedTrace& trace, std::uint32_t index) {
  const kineto::Work& work = trace.work[index];
  const std::string& name = trace.names.text(work.name);
  if (!(work.bytes > 0)) {
    return std::nullopt;
  }
  if (work.kind == kineto::WorkKind::Memset) {
    return ModelledWork{"memset", {{"memset", DataType::UINT8, Memset{Bytes{work.bytes}}}}, {index}};
  }
  using Path = Memcpy::Path;
  const bool is_to = name.find("HtoD") != std::string::npos;
  const bool is_from = name.find("DtoH") != std::string::npos;
  if (!is_to && !is_from && name.find("DtoD") == std::string::npos) {
    return std::nullopt;
  }
  const Memcpy copy{.size = Bytes{work.bytes},
                    .path = is_to     ? Path::HostToDevice
                            : is_from ? Path::DeviceToHost
                                      : Path::DeviceToDevice,
                    .pinned = name.find("Pageable") == std::string::npos};
  return ModelledWork{is_to || is_from ? "copies to and from the host" : "copies on the GPU",
                      {{"memcpy", DataType::UINT8, copy}},
                      {index}};
}

/// Kernels by the operator that says what they do, in the order of their launches.
std::map<std::uint32_t, OperatorLaunches> launches_of(const RankRecording& rank,
                                                      const std::vector<bool>& is_communication) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < rank.trace.work.size(); ++i) {
    if (!is_communication[i] && rank.trace.work[i].kind == kineto::WorkKind::Kernel) {
      order.push_back(i);
    }
  }
  std::ranges::stable_sort(order, {}, [&](std::uint32_t work) { return rank.links.issued[work]; });
  std::map<std::uint32_t, OperatorLaunches> launches;
  for (const std::uint32_t work : order) {
    const std::uint32_t op = operator_with_shapes(rank, rank.links.call_of_work[work]);
    if (op != kNone) {
      const kineto::Work& kernel = rank.trace.work[work];
      launches[op].kernels.push_back({work, rank.trace.names.text(kernel.name), seconds_of(kernel)});
    }
  }
  return launches;
}

ConvolutionOutputs convolution_outputs(const kineto::RecordedTrace& trace) {
  ConvolutionOutputs outputs;
  for (const kineto::Operator& op : trace.operators) {
    if (op.input_dims != 0 && trace.names.text(op.name).find("convolution_backward") != std::string::npos) {
      note_output(arguments_of(trace, op), outputs);
    }
  }
  return outputs;
}

}  // namespace

double seconds_of(const kineto::Work& work) {
  return 1e-9 * static_cast<double>(work.duration());
}

std::vector<bool> communicates(const RankRecording& rank) {
  std::vector<bool> made(rank.trace.work.size(), false);
  for (const std::uint32_t work : rank.communication) {
    made[work] = true;
  }
  return made;
}

std::vector<ModelledWork> modelled_work(const RankRecording& rank, std::span<const EmbeddingTable> tables) {
  const std::vector<bool> is_communication = communicates(rank);
  const ConvolutionOutputs outputs = convolution_outputs(rank.trace);
  const std::map<std::uint32_t, std::uint32_t> pairs = lookup_pairs(rank.trace);
  std::vector<ModelledWork> made;
  for (auto& [index, launches] : launches_of(rank, is_communication)) {
    launches.tables = tables;
    launches.called = arguments_of(rank.trace, rank.trace.operators[index]);
    const std::uint32_t caller = rank.links.parent[index];
    if (caller != kNone) {
      launches.caller = arguments_of(rank.trace, rank.trace.operators[caller]);
    }
    if (const auto other = pairs.find(index); other != pairs.end()) {
      launches.other_pass = arguments_of(rank.trace, rank.trace.operators[other->second]);
    }
    try {
      std::ranges::move(modelled_work(launches, outputs), std::back_inserter(made));
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument{fmt::format("{}: {}", rank.trace.file, problem.what())};
    }
  }
  for (std::uint32_t i = 0; i < rank.trace.work.size(); ++i) {
    if (!is_communication[i] && rank.trace.work[i].kind != kineto::WorkKind::Kernel) {
      if (auto moved = moved_bytes(rank.trace, i)) {
        made.push_back(*std::move(moved));
      }
    }
  }
  return made;
}

}  // namespace lockstep::replay
