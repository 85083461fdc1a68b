#include "traces/replay/embedding_work.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/portable_math.hpp"
#include "ops/workload/layers/lookup_pass.hpp"
#include "traces/replay/named_tables.hpp"

namespace lockstep::replay {
namespace {

constexpr std::string_view kLookup = "embedding_codegen_lookup_";
/// Standard deviation of the logarithm of the pooling factors of the 1,898 tables of a production plan that
/// pool (../shared/data/embedding/production_plan); 1.21 of MLPerf's 26. Tables have rows about as they have
/// lookups: the logarithm of those rises by 1.17 with that of these there (least squares).
constexpr double kPoolingSpread = 1.33;
constexpr std::string_view kBackward = "torch::autograd::CppNode<SplitLookupFunction_";

bool has(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

/// One-dimensional tensors of an operator, in order.
struct Vector {
  std::string type;  ///< `float`, `int`, `long`, ...
  std::int64_t length = 0;
  std::size_t argument = 0;
  bool is_long() const { return type == "long" || type == "long int"; }
  bool is_int() const { return type == "int"; }
  bool is_weights() const { return type == "float" || type == "c10::Half"; }
};

std::vector<Vector> vectors_of(const OperatorArguments& op) {
  std::vector<Vector> made;
  for (std::size_t i = 0; i < op.arguments.size(); ++i) {
    if (const Dims* dims = op.tensor(i); dims != nullptr && dims->size() == 1) {
      made.push_back({op.arguments[i].type, dims->front(), i});
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
  if (has(name, "LookupFunction_rowwise_adagrad_Op")) return Optimizer::RowWiseAdagrad;
  if (has(name, "LookupFunction_adagrad_Op")) return Optimizer::Adagrad;
  if (has(name, "LookupFunction_sgd_Op") || has(name, "LookupFunction_Dense_Op")) return Optimizer::Sgd;
  return std::nullopt;
}

/// A number among the arguments; 0: not recorded.
std::int64_t number(const OperatorArguments& op, std::size_t index) {
  const Dims values = op.numbers(index);
  return values.size() == 1 ? std::max<std::int64_t>(values.front(), 0) : 0;
}

/// Columns of each table; @p mean where nothing tells them apart.
std::vector<std::int64_t> columns_of(const RecordedLookup& lookup, double mean) {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(lookup.tables), std::llround(mean));
  const std::int64_t others = lookup.width - lookup.widest;
  if (lookup.tables > 1 && lookup.widest > 0 && others >= lookup.tables - 1) {
    std::ranges::fill(columns,
                      std::llround(static_cast<double>(others) / static_cast<double>(lookup.tables - 1)));
    columns.front() = lookup.widest;
  }
  return columns;
}

/// Each table's share of the lookups, and of the rows, times the number of tables: quantiles of a lognormal
/// distribution.
std::vector<double> shares_of_tables(std::int64_t tables) {
  std::vector<double> made;
  for (std::int64_t i = 0; i < tables; ++i) {
    const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(tables);
    made.push_back(std::exp(kPoolingSpread * normal_quantile(place)));
  }
  const double mean = std::accumulate(made.begin(), made.end(), 0.0) / static_cast<double>(tables);
  for (double& share : made) share /= mean;
  return made;
}

/// @param gradient columns of the pooled rows' gradient; 0: not known
/// @param named that they are among; none: not known
std::optional<KernelCall> bags_call(const RecordedLookup& lookup, std::int64_t gradient,
                                    std::span<const EmbeddingTable> named, Direction direction) {
  const auto tables = static_cast<double>(lookup.tables);
  const std::int64_t width = lookup.width > 0 ? lookup.width : gradient;
  const double dimension = width > 0         ? static_cast<double>(width) / tables
                           : lookup.rows > 0 ? lookup.weights / lookup.rows
                                             : 0;
  if (!(dimension >= 1) || lookup.lookups < 1) {
    return std::nullopt;
  }
  if (!named.empty()) {
    const std::int64_t columns = width > 0 ? width : std::llround(dimension * tables);
    EmbeddingBags work{
        .batch = lookup.batch, .tables = tables_of(lookup, columns, named), .direction = direction};
    return KernelCall{"split_embedding_codegen_kernel", lookup.type, std::move(work)};
  }
  const double rows = lookup.rows > 0 ? lookup.rows : lookup.weights / dimension;
  EmbeddingBags work{.batch = lookup.batch, .tables = {}, .direction = direction};
  const double pooling = static_cast<double>(lookup.lookups) / (tables * static_cast<double>(lookup.batch));
  const std::vector<double> shares = shares_of_tables(lookup.tables);
  const std::vector<std::int64_t> columns = columns_of(lookup, dimension);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    work.tables.push_back({.rows = std::max<std::int64_t>(1, std::llround(shares[i] * rows / tables)),
                           .dimension = columns[i],
                           .pooling_factor = shares[i] * pooling});
  }
  return KernelCall{"split_embedding_codegen_kernel", lookup.type, std::move(work)};
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
                        .width = number(op, dimensions->argument + 1),
                        .widest = number(op, dimensions->argument + 2),
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
  const auto call =
      lookup ? bags_call(*lookup, width_of(op.other_pass), op.tables, Direction::Forward) : std::nullopt;
  if (!call) {
    return {};
  }
  ModelledWork rows{"embedding lookup", {*call}, {}};
  for (const LaunchedKernel& kernel : op.kernels) {
    if (has(kernel.name, "embedding_codegen_forward")) {
      rows.work.push_back(kernel.work);
    }
  }
  return {rows};
}

std::vector<ModelledWork> embedding_bag_forward(const OperatorLaunches& op) {
  constexpr std::size_t kIncludeLast = 7;
  const Dims* weight = op.called.tensor(0);
  const Dims* indices = op.called.tensor(1);
  const Dims* offsets = op.called.tensor(2);
  const auto type = op.called.type();
  const bool one_more =
      op.called.arguments.size() > kIncludeLast && op.called.arguments[kIncludeLast].value == "True";
  if (weight == nullptr || weight->size() != 2 || indices == nullptr || indices->size() != 1 ||
      offsets == nullptr || offsets->size() != 1 || !type || weight->front() < 1) {
    return {};
  }
  const std::int64_t bags = offsets->front() - (one_more ? 1 : 0);
  if (bags < 1 || indices->front() < 1) {
    return {};
  }
  const EmbeddingTable table{
      .rows = weight->front(),
      .dimension = weight->back(),
      .pooling_factor = static_cast<double>(indices->front()) / static_cast<double>(bags)};
  ModelledWork rows{
      "embedding lookup", {{"embedding_bags", *type, EmbeddingBags{.batch = bags, .tables = {table}}}}, {}};
  for (const LaunchedKernel& kernel : op.kernels) {
    if (has(kernel.name, "EmbeddingBag_updateOutputKernel")) {
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
      made.push_back({"passes over lookups",
                      {pass_over(*pass, lookup->lookups, lookup->tables * lookup->batch)},
                      {kernel.work}});
    } else if (has(kernel.name, "_per_row")) {
      rows.work.push_back(kernel.work);
    }
  }
  auto call = bags_call(*lookup, width_of(op.called), op.tables, Direction::Backward);
  const auto optimizer = optimizer_of(op.called.name);
  if (call && optimizer) {
    std::get<EmbeddingBags>(call->work).optimizer = *optimizer;
    rows.calls.push_back(*std::move(call));
    // Rows with many lookups have a kernel of their own, which runs where there are none, too.
    for (std::size_t more = 1; more < rows.work.size(); ++more) {
      rows.calls.push_back(
          {"split_embedding_backward_codegen_cta_per_row_kernel", DataType::INT32, Pointwise{.elements = 1}});
    }
    made.push_back(std::move(rows));
  }
  return made;
}

}  // namespace lockstep::replay
