#include "calibration/kernels/operator_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "base/suggest.hpp"
#include "calibration/kernels/kernel_measurements.hpp"
#include "calibration/kernels/shape_words.hpp"
#include "ops/workload/layers/batch_norm.hpp"
#include "ops/workload/layers/embedding_gradient.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/max_pool.hpp"
#include "ops/workload/layers/sorting.hpp"
#include "ops/workload/layers/torch_embedding_bag.hpp"

namespace lockstep {
namespace {

using Kernels = std::vector<KernelCall>;

/// The experts that tokens of a mixture of experts go through (tools/capture/operator_calls.py, experts()).
struct Experts {
  std::int64_t count, tokens, hidden, wide;
  DataType type;
};

Kernels grouped_products(const Experts& of) {
  return kernels::grouped_product(
      {.batch = of.count, .m = of.tokens / of.count, .n = of.wide, .k = of.hidden}, of.type);
}

Kernels product_of_one(const Experts& of) {
  return {kernels::product({.m = of.tokens / of.count, .n = of.wide, .k = of.hidden}, of.type)};
}

Kernels gathered(const Experts& of) {
  return {{"vectorized_gather_kernel", of.type,
           IndexSelect{.table_rows = of.tokens, .picks = of.tokens, .columns = of.hidden}}};
}

Kernels added(const Experts& of) {
  return {kernels::index_add(of.tokens * of.hidden, of.type)};
}

Kernels chosen(const Experts& of) {
  constexpr std::int64_t kChosen = 8;
  return kernels::top_k(of.tokens, of.count, std::min(kChosen, of.count), DataType::FP32);
}

Kernels sorted(const Experts& of) {
  return kernels::argsort(1, of.tokens, DataType::INT64);
}

/// One of a few words. @throws std::invalid_argument for another
template <class Entries>
const auto& entry_of(const Entries& entries, const ShapeWords& shape, const char* key) {
  const std::string& word = shape.text(key);
  const auto* found = std::ranges::find_if(entries, [&](const auto& entry) { return entry.name == word; });
  if (found == entries.end()) {
    std::string names;
    for (const auto& entry : entries) names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    ShapeWords::complain(fmt::format("{}={} is none of {}", key, word, names));
  }
  return *found;
}

struct ExpertsOperator {
  std::string_view name;
  Kernels (*kernels)(const Experts& of);
};
constexpr std::array kExpertsOperators{ExpertsOperator{"grouped_mm", grouped_products},
                                       ExpertsOperator{"one_expert", product_of_one},
                                       ExpertsOperator{"index_select", gathered},
                                       ExpertsOperator{"index_add", added},
                                       ExpertsOperator{"topk", chosen},
                                       ExpertsOperator{"argsort", sorted}};

Kernels of_experts(const ShapeWords& shape, DataType type) {
  const Experts of{.count = shape.whole("experts"),
                   .tokens = shape.whole("tokens"),
                   .hidden = shape.whole("hidden"),
                   .wide = shape.whole("feed_forward"),
                   .type = type};
  if (of.tokens % of.count != 0) {
    ShapeWords::complain(fmt::format("{} tokens are not spread evenly over {} experts", of.tokens, of.count));
  }
  return entry_of(kExpertsOperators, shape, "operator").kernels(of);
}

// Images (operator_calls.py, images()).

Direction direction_of(const ShapeWords& shape) {
  const std::string& pass = shape.text("pass");
  if (pass != "forward" && pass != "backward") {
    ShapeWords::complain(fmt::format("pass={} is none of forward, backward", pass));
  }
  return pass == "forward" ? Direction::Forward : Direction::Backward;
}

/// TF32 is what products compute in.
DataType stored(DataType type) {
  return type == DataType::TF32 ? DataType::FP32 : type;
}

/// Kernels of a batch norm, with the count of batches, a tensor of one number.
Kernels batch_norm(const ShapeWords& shape, DataType type) {
  const std::int64_t size = shape.whole("size");
  const ImageShape images{
      .batch = shape.whole("batch"), .channels = shape.whole("channels"), .height = size, .width = size};
  const Direction direction = direction_of(shape);
  Kernels norm = kernels::batch_norm(images, stored(type), shape.flag("channels_first"), direction);
  if (direction == Direction::Forward) norm.push_back(kernels::add(1, DataType::INT64));
  return norm;
}

/// Kernels of a pool by overlapping windows of 3 x 3, two apart, border one; backward adds into zeros.
Kernels max_pool(const ShapeWords& shape, DataType type) {
  constexpr std::int64_t kWindow = 3, kStride = 2, kPadding = 1;
  const std::int64_t size = shape.whole("size"), out = (size + 2 * kPadding - kWindow) / kStride + 1;
  const kernels::Pool pool{.planes = shape.whole("batch") * shape.whole("channels"),
                           .height = size,
                           .width = size,
                           .out_height = out,
                           .out_width = out,
                           .window_height = kWindow,
                           .window_width = kWindow};
  (void)shape.flag("channels_first");  // the same threads and bytes
  if (direction_of(shape) == Direction::Forward) return {kernels::max_pool_forward(pool, stored(type))};
  return {kernels::fill(pool.planes * size * size, stored(type)),
          kernels::max_pool_backward(pool, stored(type))};
}

// nn.Embedding with a dense gradient (embedding()).

Kernels token_embedding(const ShapeWords& shape, DataType type) {
  const std::int64_t rows = shape.whole("rows"), columns = shape.whole("columns");
  const std::int64_t picks = shape.whole("picks");
  if (direction_of(shape) == Direction::Forward) {
    return {{"vectorized_gather_kernel", type,
             IndexSelect{.table_rows = rows, .picks = picks, .columns = columns}}};
  }
  Kernels all{kernels::fill(rows * columns, type)};
  const auto append = [&](const Kernels& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (picks <= kernels::kMostPicksUnsorted) {
    append({kernels::add_picked_rows(picks, columns, type)});
  } else {
    append(kernels::sort_picks(picks));
    append(kernels::find_sorted_rows(picks));
    append(kernels::add_sorted_rows(picks, columns, type));
  }
  return all;
}

/// nn.EmbeddingBag with a sparse gradient.
Kernels embedding_bag(const ShapeWords& shape, DataType /*type*/) {
  const EmbeddingTable table{.rows = shape.whole("rows"),
                             .dimension = shape.whole("dim"),
                             .pooling_factor = static_cast<double>(shape.whole("pooling"))};
  const std::int64_t batch = shape.whole("batch");
  if (direction_of(shape) == Direction::Backward) return {kernels::bag_gradient(batch, table)};
  return {kernels::bag_offsets(batch), kernels::bag_look_up(batch, table)};
}

// Sums (reduction()).

struct Sum {
  std::string_view name;
  bool across, all;
};
constexpr std::array kSums{Sum{"rows", true, false}, Sum{"columns", false, false}, Sum{"all", false, true},
                           Sum{"norm", false, true}};

Kernels reduction(const ShapeWords& shape, DataType type) {
  const std::int64_t rows = shape.whole("rows"), columns = shape.whole("columns");
  const Sum& sum = entry_of(kSums, shape, "operator");
  if (sum.all) return {kernels::reduce(sum.name, {.rows = 1, .columns = rows * columns}, type)};
  return {kernels::reduce(sum.name, {.rows = rows, .columns = columns, .across_rows = sum.across}, type)};
}

struct Family {
  std::string_view name;
  Kernels (*kernels)(const ShapeWords& shape, DataType type);
};
constexpr std::array kFamilies{
    Family{"experts", of_experts},          Family{"batch_norm", batch_norm},
    Family{"max_pool", max_pool},           Family{"token_embedding", token_embedding},
    Family{"embedding_bag", embedding_bag}, Family{"reduction", reduction}};

/// @throws std::invalid_argument when it is neither an operator nor a kernel
const Family* family_named(const std::string& family) {
  const auto* found = std::ranges::find(kFamilies, family, &Family::name);
  if (found != kFamilies.end()) return found;
  std::vector<std::string> known = kernel_families();
  if (std::ranges::find(known, family) != known.end()) return nullptr;
  for (const Family& each : kFamilies) known.emplace_back(each.name);
  throw std::invalid_argument{fmt::format("there is no family '{}'{}", family, did_you_mean(family, known))};
}

}  // namespace

std::vector<KernelCall> operator_kernels(const std::string& family, const std::string& type,
                                         const std::map<std::string, std::string>& words) {
  const Family* of = family_named(family);
  if (of == nullptr) return {kernel_call(family, type, words)};
  const ShapeWords shape{words};
  Kernels kernels = of->kernels(shape, type_named(type));
  shape.finish();
  return kernels;
}

}  // namespace lockstep
