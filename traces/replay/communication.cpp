#include "traces/replay/communication.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace lockstep::replay {
namespace {

using kineto::Communication;
using kineto::RecordedTrace;

constexpr Oddity kSizeOfOperator{"size of a collective from its operator",
                                 "the kernel does not say it; the shapes of the operator around it do"};
constexpr Oddity kNoSize{"collective of unknown size",
                         "neither kernel nor operator says it: it can be replayed as recorded only",
                         Severity::Warning};
constexpr Oddity kUnknownKind{
    "communication of unknown kind and size",
    "nothing says what it sends: replayed with its recorded time, waiting included; "
    "what_if.communication scales that",
    Severity::Warning};

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_' && c != '-') {
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return text;
}

struct KindName {
  std::string_view text;
  CollectiveKind kind;
};

// The first that a name holds, in lower case without _ and -.
constexpr auto kKinds = std::to_array<KindName>({{"crossdevicereduce", CollectiveKind::AllReduce},
                                                 {"reducescatter", CollectiveKind::ReduceScatter},
                                                 {"allreduce", CollectiveKind::AllReduce},
                                                 {"allgather", CollectiveKind::AllGather},
                                                 {"alltoall", CollectiveKind::AllToAll},
                                                 {"broadcast", CollectiveKind::Broadcast},
                                                 {"barrier", CollectiveKind::Barrier},
                                                 {"reduce", CollectiveKind::Reduce}});

/// Ends of a send or receive as PyTorch titles its range: `nccl:send 0->1`, `nccl:recv 1<-0`.
struct TitledPair {
  CollectiveKind kind = CollectiveKind::Send;
  std::int64_t peer = -1;
};

std::optional<TitledPair> pair_titled(std::string_view title) {
  for (const auto& [start, arrow, kind] : {std::tuple{"nccl:send ", "->", CollectiveKind::Send},
                                           std::tuple{"nccl:recv ", "<-", CollectiveKind::Receive}}) {
    const std::size_t at = title.find(arrow);
    if (title.starts_with(start) && at != std::string_view::npos) {
      TitledPair pair{kind, -1};
      std::from_chars(title.data() + at + 2, title.data() + title.size(), pair.peer);
      return pair;
    }
  }
  return std::nullopt;
}

/// A kernel's name alone (SendRecv) does not say which, and may be an all-to-all's.
std::optional<CollectiveKind> kind_named(std::string_view name) {
  const std::string text = plain(name);
  if (text == "send" || text == "recv") {
    return text == "send" ? CollectiveKind::Send : CollectiveKind::Receive;
  }
  for (const KindName& kind : kKinds) {
    if (text.find(kind.text) != std::string::npos) {
      return kind.kind;
    }
  }
  return std::nullopt;
}

struct TypeName {
  std::string_view text;
  DataType type;
  double bytes;
};

// c10 and NCCL spellings.
constexpr auto kTypes = std::to_array<TypeName>({{"float8", DataType::FP8, 1},
                                                 {"bfloat16", DataType::BF16, 2},
                                                 {"half", DataType::FP16, 2},
                                                 {"float16", DataType::FP16, 2},
                                                 {"double", DataType::INT64, 8},
                                                 {"float", DataType::FP32, 4},
                                                 {"long", DataType::INT64, 8},
                                                 {"int64", DataType::INT64, 8},
                                                 {"char", DataType::UINT8, 1},
                                                 {"byte", DataType::UINT8, 1},
                                                 {"int8", DataType::UINT8, 1},
                                                 {"bool", DataType::BOOL, 1},
                                                 {"int", DataType::INT32, 4}});

const TypeName& type_named(std::string_view name) {
  const std::string text = plain(name);
  const auto known = std::ranges::find_if(
      kTypes, [&](const TypeName& type) { return text.find(type.text) != std::string::npos; });
  return known == kTypes.end() ? kTypes[5] : *known;
}

/// Elements of all tensors in a (nested) list of shapes.
double elements_of(const nlohmann::json& shapes) {
  if (!shapes.is_array() || shapes.empty()) {
    return 0;
  }
  double product = 1;
  double sum = 0;
  bool is_shape = true;
  for (const nlohmann::json& entry : shapes) {
    is_shape = is_shape && entry.is_number();
    product *= entry.is_number() ? entry.get<double>() : 1;
    sum += elements_of(entry);
  }
  return is_shape ? product : sum;
}

/// Converts a rank's input and output to the size that CollectiveCall::size counts.
double whole_size(CollectiveKind kind, double input, double output, double ranks) {
  if (kind == CollectiveKind::AllGather) {
    return std::max(output, input * ranks);
  }
  if (kind == CollectiveKind::Receive) {
    return std::max(output, input);
  }
  return kind == CollectiveKind::Barrier ? 0 : input;
}

/// Bytes to each member of an all-to-all that says its splits and splits unevenly; else empty.
std::vector<double> splits_of(const Communication& said, double type_size) {
  const auto list = nlohmann::json::parse(said.in_splits, nullptr, false);
  std::vector<double> bytes;
  if (!list.is_array() || said.in_elements <= 0) {
    return bytes;
  }
  double rows = 0;
  for (const nlohmann::json& entry : list) {
    bytes.push_back(entry.is_number() ? std::max(entry.get<double>(), 0.0) : 0);
    rows += bytes.back();
  }
  // Splits count rows of the tensor.
  const double row = rows > 0 ? static_cast<double>(said.in_elements) * type_size / rows : 0;
  for (double& part : bytes) {
    part *= row;
  }
  return rows > 0 ? bytes : std::vector<double>{};
}

class CollectiveSearch {
 public:
  CollectiveSearch(RecordedTrace& trace, const TraceLinks& links, std::int64_t ranks)
      : trace_{trace}, links_{links}, ranks_{ranks} {}

  FoundCommunication run(const WorkFamilies& families) {
    FoundCommunication found;
    for (std::uint32_t work = 0; work < trace_.work.size(); ++work) {
      if (trace_.work[work].kind != kineto::WorkKind::Kernel || !families.communicates(work)) {
        continue;
      }
      RecordedCollective collective;
      collective.work = work;
      if (describe(collective)) {
        found.collectives.push_back(collective);
      } else {
        found.of_unknown_kind.push_back(work);
      }
    }
    return found;
  }

 private:
  bool describe(RecordedCollective& collective) {
    const kineto::Work& work = trace_.work[collective.work];
    const std::string& name = trace_.names.text(work.name);
    std::optional<CollectiveKind> kind = kind_named(name);
    if (work.communication >= 0) {
      const Communication& said = trace_.communications[static_cast<std::size_t>(work.communication)];
      kind = kind_named(said.collective).has_value() ? kind_named(said.collective) : kind;
      collective.group = said.group + said.ranks;
      collective.stated = stated_group(trace_, said);
      collective.peer = said.peer;
    }
    const std::uint32_t around = operator_of(collective.work);
    if (!kind && around != kNone) {
      const std::string& title = trace_.names.text(trace_.operators[around].name);
      const std::optional<TitledPair> pair = pair_titled(title);
      kind = pair ? pair->kind : kind_named(title);
      collective.peer = pair ? pair->peer : -1;
    }
    if (!kind) {
      trace_.report.add(kUnknownKind, name);
      return false;
    }
    collective.kind = *kind;
    take_size(collective, around);
    return true;
  }

  void take_size(RecordedCollective& collective, std::uint32_t around) {
    const kineto::Work& work = trace_.work[collective.work];
    if (work.communication >= 0) {
      const Communication& said = trace_.communications[static_cast<std::size_t>(work.communication)];
      const TypeName& type = type_named(said.type);
      const double ranks = static_cast<double>(said.group_size > 0 ? said.group_size : ranks_);
      collective.type = type.type;
      collective.send_bytes = splits_of(said, type.bytes);
      collective.size = whole_size(collective.kind, static_cast<double>(said.in_elements) * type.bytes,
                                   static_cast<double>(said.out_elements) * type.bytes, ranks);
      return;
    }
    if (around == kNone || trace_.operators[around].input_dims == 0) {
      trace_.report.add(kNoSize, trace_.names.text(work.name));
      return;
    }
    const kineto::Operator& op = trace_.operators[around];
    const auto shapes = nlohmann::json::parse(trace_.names.text(op.input_dims), nullptr, false);
    const TypeName& type = type_named(trace_.names.text(op.input_types));
    const double input = elements_of(shapes) * type.bytes;
    collective.type = type.type;
    collective.size = whole_size(collective.kind, input, 0, static_cast<double>(ranks_));
    trace_.report.add(kSizeOfOperator, trace_.names.text(op.name));
  }

  /// The one around its launch that says what is communicated: `nccl:all_to_all`, `record_param_comms`, ...
  [[nodiscard]] std::uint32_t operator_of(std::uint32_t work) const {
    const std::uint32_t call = links_.call_of_work[work];
    std::uint32_t op = call == kNone ? kNone : links_.operator_of_call[call];
    std::uint32_t best = kNone;
    for (; op != kNone; op = links_.parent[op]) {
      const std::string& name = trace_.names.text(trace_.operators[op].name);
      const bool names_kind = name.starts_with("nccl:") || name.starts_with("c10d::");
      if (names_kind && (best == kNone || trace_.operators[best].input_dims == 0)) {
        best = op;
      }
    }
    return best;
  }

  RecordedTrace& trace_;
  const TraceLinks& links_;
  std::int64_t ranks_;
};

}  // namespace

FoundCommunication find_communication(RecordedTrace& trace, const TraceLinks& links,
                                      const WorkFamilies& families, std::int64_t ranks) {
  return CollectiveSearch{trace, links, ranks}.run(families);
}

}  // namespace lockstep::replay
