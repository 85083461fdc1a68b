#include "traces/replay/embedding_work.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ops/workload/layers/lookup_pass.hpp"

namespace lockstep::replay {
namespace {

constexpr std::string_view kLookup = "embedding_codegen_lookup_";
constexpr std::string_view kBackward = "torch::autograd::CppNode<SplitLookupFunction_";

bool has(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

/// One-dimensional tensors of an operator, in order.
struct Vector {
  std::string type;  ///< `float`, `int`, `long`, ...
  std::int64_t length = 0;
  bool is_long() const { return type == "long" || type == "long int"; }
  bool is_int() const { return type == "int"; }
  bool is_weights() const { return type == "float" || type == "c10::Half"; }
};

std::vector<Vector> vectors_of(const OperatorArguments& op) {
  std::vector<Vector> made;
  for (const OperatorArgument& argument : op.arguments) {
    if (argument.shape && argument.shape->size() == 1) {
      made.push_back({argument.type, argument.shape->front()});
    }
  }
  return made;
}

using Place = std::vector<Vector>::const_iterator;

/// `D_offsets`: one more than `weights_offsets`, which come before it.
Place dimension_offsets(const std::vector<Vector>& all) {
  std::int64_t offsets = -1;
  for (auto place = all.begin(); place != all.end(); ++place) {
    if (place->is_int() && offsets >= 1 && place->length == offsets + 1) {
      return place;
    }
    offsets = place->is_long() ? place->length : offsets;
  }
  return all.end();
}

Place next_long(Place from, Place end) {
  return from == end ? end : std::find_if(from + 1, end, [](const Vector& one) { return one.is_long(); });
}

/// The row-wise state comes after `lxu_cache_locations`, the first whole numbers behind the bags' offsets.
double rows_of_state(Place offsets, Place end) {
  const auto locations = std::find_if(offsets, end, [](const Vector& one) { return one.is_int(); });
  const auto state = std::find_if(locations, end, [](const Vector& one) { return one.is_weights(); });
  return state == end ? 0 : static_cast<double>(state->length);
}

std::optional<Optimizer> optimizer_of(const std::string& name) {
  if (has(name, "LookupFunction_rowwise_adagrad_Op")) return Optimizer::Adagrad;
  if (has(name, "LookupFunction_sgd_Op") || has(name, "LookupFunction_Dense_Op")) return Optimizer::Sgd;
  return std::nullopt;
}

/// @param width elements of all tables' rows together; 0: not known
std::optional<KernelCall> bags_call(const RecordedLookup& lookup, std::int64_t width, Direction direction) {
  const auto tables = static_cast<double>(lookup.tables);
  const double dimension = width > 0         ? static_cast<double>(width) / tables
                           : lookup.rows > 0 ? lookup.weights / lookup.rows
                                             : 0;
  if (!(dimension >= 1) || lookup.lookups < 1) {
    return std::nullopt;
  }
  const double rows = lookup.rows > 0 ? lookup.rows : lookup.weights / dimension;
  const EmbeddingTable table{
      .rows = std::max<std::int64_t>(1, std::llround(rows / tables)),
      .dimension = std::llround(dimension),
      .pooling_factor = static_cast<double>(lookup.lookups) / (tables * static_cast<double>(lookup.batch))};
  EmbeddingBags work{.batch = lookup.batch,
                     .tables = std::vector<EmbeddingTable>(static_cast<std::size_t>(lookup.tables), table),
                     .direction = direction};
  return KernelCall{"embedding_bags", lookup.type, std::move(work)};
}

std::int64_t width_of(const OperatorArguments& backward) {
  const Dims* gradient = backward.tensor(0);
  return gradient != nullptr && gradient->size() == 2 ? gradient->back() : 0;
}

}  // namespace

std::optional<RecordedLookup> recorded_lookup(const OperatorArguments& op) {
  if (!has(op.name, kLookup)) {
    return std::nullopt;
  }
  const std::vector<Vector> all = vectors_of(op);
  const Place dimensions = dimension_offsets(all);
  const Place hash = next_long(dimensions, all.end());
  const Place indices = next_long(hash, all.end());
  const Place offsets = next_long(indices, all.end());
  if (offsets == all.end() || hash->length != dimensions->length) {
    return std::nullopt;
  }
  const auto weights = std::max_element(all.begin(), dimensions, [](const Vector& a, const Vector& b) {
    return std::pair{a.is_weights(), a.length} < std::pair{b.is_weights(), b.length};
  });
  const std::int64_t tables = dimensions->length - 1;
  const auto type = data_type_of(weights->type);
  if (!weights->is_weights() || !type || (offsets->length - 1) % tables != 0) {
    return std::nullopt;
  }
  return RecordedLookup{.tables = tables,
                        .batch = (offsets->length - 1) / tables,
                        .lookups = indices->length,
                        .weights = static_cast<double>(weights->length),
                        .rows = has(op.name, "_rowwise_") ? rows_of_state(offsets, all.end()) : 0,
                        .type = *type};
}

std::map<std::uint32_t, std::uint32_t> lookup_pairs(const kineto::RecordedTrace& trace) {
  std::map<std::int64_t, std::uint32_t> lookups;
  std::map<std::uint32_t, std::int64_t> numbers;  // by thread, the last
  for (std::uint32_t i = 0; i < trace.operators.size(); ++i) {
    const kineto::Operator& op = trace.operators[i];
    if (op.sequence_number >= 0) {
      numbers[op.thread] = op.sequence_number;
    } else if (numbers.contains(op.thread) && has(trace.names.text(op.name), kLookup)) {
      lookups[numbers[op.thread]] = i;
    }
  }
  std::map<std::uint32_t, std::uint32_t> pairs;
  for (std::uint32_t i = 0; i < trace.operators.size(); ++i) {
    const kineto::Operator& op = trace.operators[i];
    const auto lookup = lookups.find(op.sequence_number);
    if (lookup != lookups.end() && trace.names.text(op.name).starts_with(kBackward)) {
      pairs[i] = lookup->second;
      pairs[lookup->second] = i;
    }
  }
  return pairs;
}

std::vector<ModelledWork> embedding_forward(const OperatorLaunches& op) {
  const auto lookup = recorded_lookup(op.called);
  const auto call = lookup ? bags_call(*lookup, width_of(op.other_pass), Direction::Forward) : std::nullopt;
  if (!call) {
    return {};
  }
  ModelledWork rows{"embedding look-up", {*call}, {}};
  for (const LaunchedKernel& kernel : op.kernels) {
    if (has(kernel.name, "embedding_codegen_forward")) {
      rows.work.push_back(kernel.work);
    }
  }
  return {rows};
}

std::vector<ModelledWork> embedding_backward(const OperatorLaunches& op) {
  const auto lookup = recorded_lookup(op.other_pass);
  if (!op.called.name.starts_with(kBackward) || !lookup) {
    return {};
  }
  std::vector<ModelledWork> made;
  ModelledWork rows{"embedding update", {}, {}};
  for (const LaunchedKernel& kernel : op.kernels) {
    if (const LookupPass* pass = lookup_pass_of(kernel.name)) {
      const Pointwise work{
          .elements = lookup->lookups, .reads = pass->reads, .writes = pass->writes, .flops = 1};
      made.push_back({"passes over look-ups", {{pass->kernel, pass->type, work}}, {kernel.work}});
    } else if (has(kernel.name, "_per_row")) {
      rows.work.push_back(kernel.work);
    }
  }
  auto call = bags_call(*lookup, width_of(op.called), Direction::Backward);
  const auto optimizer = optimizer_of(op.called.name);
  if (call && optimizer) {
    std::get<EmbeddingBags>(call->work).optimizer = *optimizer;
    rows.calls.push_back(*std::move(call));
    made.push_back(std::move(rows));
  }
  return made;
}

}  // namespace lockstep::replay
