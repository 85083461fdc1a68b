#include "calibration/kernels/kernel_measurements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/citation.hpp"
#include "base/random.hpp"
#include "base/suggest.hpp"
#include "calibration/csv_table.hpp"
#include "calibration/kernels/shape_words.hpp"

namespace lockstep {
namespace {

using namespace literals;

struct TypeName {
  DataType type;
  std::string_view name;
};
constexpr std::array kTypeNames{TypeName{DataType::FP32, "fp32"}, TypeName{DataType::TF32, "tf32"},
                                TypeName{DataType::FP16, "fp16"}, TypeName{DataType::BF16, "bf16"},
                                TypeName{DataType::FP8, "fp8"}};
struct OptimizerName {
  Optimizer optimizer;
  std::string_view name;
};
constexpr std::array kOptimizerNames{
    OptimizerName{Optimizer::Sgd, "sgd"}, OptimizerName{Optimizer::Adagrad, "adagrad"},
    OptimizerName{Optimizer::RowWiseAdagrad, "rowwise_adagrad"}, OptimizerName{Optimizer::AdamW, "adamw"}};
struct AttentionName {
  FlashVersion version;
  std::string_view name;
};
constexpr std::array kAttentionNames{AttentionName{FlashVersion::Two, "flash"},
                                     AttentionName{FlashVersion::One, "flash_1"},
                                     AttentionName{FlashVersion::OneCuda, "flash_1_cuda"},
                                     AttentionName{FlashVersion::Three, "flash_3"},
                                     AttentionName{FlashVersion::CuDnn, "cudnn"},
                                     AttentionName{FlashVersion::MemoryEfficient, "memory_efficient"}};
struct PassName {
  Convolution::Pass pass;
  std::string_view name;
};
constexpr std::array kPassNames{PassName{Convolution::Pass::Forward, "forward"},
                                PassName{Convolution::Pass::DataGradient, "input_gradient"},
                                PassName{Convolution::Pass::WeightGradient, "weight_gradient"}};

/// ROWSxDIMENSIONxPOOLINGxREUSE of each; tables that are alike and whose rows have a popularity in words.
std::string tables_text(const EmbeddingBags& bags) {
  const bool are_alike =
      !bags.tables.empty() && std::ranges::count(bags.tables, bags.tables.front()) == std::ssize(bags.tables);
  if (are_alike && (bags.tables.front().zipf > 0 || bags.tables.front().index_skew > 0)) {
    const EmbeddingTable& first = bags.tables.front();
    return fmt::format(
        "{} rows={} dimension={} pooling={:g} reuse={:g}{}", bags.tables.size(), first.rows, first.dimension,
        first.pooling_factor, first.reuse_factor,
        first.zipf > 0 ? fmt::format(" zipf={:g}", first.zipf) : fmt::format(" skew={:g}", first.index_skew));
  }
  std::string text;
  for (const EmbeddingTable& table : bags.tables) {
    text += fmt::format("{}{}x{}x{:g}x{:g}", text.empty() ? "" : ",", table.rows, table.dimension,
                        table.pooling_factor, table.reuse_factor);
  }
  return text;
}

struct ShapeText {
  std::string operator()(const Gemm& w) const {
    return fmt::format("batch={} m={} n={} k={} layout={}{}", w.batch, w.m, w.n, w.k,
                       w.transpose_a ? 't' : 'n', w.transpose_b ? 't' : 'n');
  }
  std::string operator()(const Softmax& w) const {
    return fmt::format("rows={} columns={}", w.rows, w.columns);
  }
  std::string operator()(const LayerNorm& w) const {
    return fmt::format("rows={} columns={}{}", w.rows, w.columns, w.rms ? " rms=1" : "");
  }
  std::string operator()(const Pointwise& w) const {
    return fmt::format("elements={} reads={:g} writes={:g} flops={:g}{}", w.elements, w.reads, w.writes,
                       w.flops, w.instructions > 0 ? fmt::format(" instructions={:g}", w.instructions) : "");
  }
  std::string operator()(const EmbeddingBags& w) const {
    return fmt::format("batch={} tables={} optimizer={}", w.batch, tables_text(w),
                       std::ranges::find(kOptimizerNames, w.optimizer, &OptimizerName::optimizer)->name);
  }
  std::string operator()(const Convolution& w) const {
    if (w.height != w.width || w.filter_height != w.filter_width) {
      throw std::logic_error{"no shape text for convolutions that are not square"};
    }
    const auto* pass = std::ranges::find(kPassNames, w.pass, &PassName::pass);
    return fmt::format("batch={} in={} out={} size={} filter={} stride={} padding={} pass={}{}{}", w.batch,
                       w.in_channels, w.out_channels, w.height, w.filter_height, w.stride, w.padding_height,
                       pass->name, w.channels_first ? " channels_first=1" : "", w.tuned ? " tuned=1" : "");
  }
  std::string operator()(const FlashAttention& w) const {
    return fmt::format("batch={} heads={} queries={} keys={} head_size={} causal={:d}{} version={}", w.batch,
                       w.heads, w.queries, w.keys, w.head_size, w.causal, w.dropout ? " dropout=1" : "",
                       std::ranges::find(kAttentionNames, w.version, &AttentionName::version)->name);
  }
  std::string operator()(const auto& /*other*/) const {
    throw std::logic_error{"no shape text for this kind of kernel"};
  }
};

Gemm product_in(const ShapeWords& shape) {
  const std::string& layout = shape.text("layout");
  const auto is_letter = [](char c) { return c == 'n' || c == 't'; };
  if (layout.size() != 2 || !std::ranges::all_of(layout, is_letter)) {
    shape.complain(fmt::format("layout={} is none of nn, nt, tn, tt", layout));
  }
  return {shape.whole("batch"), shape.whole("m"), shape.whole("n"),
          shape.whole("k"),     layout[0] == 't', layout[1] == 't'};
}

EmbeddingTable table_in(const ShapeWords& shape, const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream words{text};
  for (std::string part; std::getline(words, part, 'x');) parts.push_back(part);
  const bool is_whole = parts.size() == 4 && !text.ends_with('x');
  const auto said = [&](std::size_t part) { return is_whole ? parts[part] : ""; };
  const auto rows = count_in(said(0)), dimension = count_in(said(1));
  const auto pooling = number_in(said(2)), reuse = number_in(said(3));
  if (rows.value_or(0) < 1 || dimension.value_or(0) < 1 || pooling.value_or(-1) < 0 ||
      reuse.value_or(-1) < 0) {
    shape.complain(fmt::format("table {} is not ROWSxDIMENSIONxPOOLINGxREUSE", text));
  }
  return {.rows = *rows, .dimension = *dimension, .pooling_factor = *pooling, .reuse_factor = *reuse};
}

/// One of several tables that are alike.
EmbeddingTable alike_in(const ShapeWords& shape) {
  return {.rows = shape.whole("rows"),
          .dimension = shape.whole("dimension"),
          .pooling_factor = shape.number("pooling", 0),
          .reuse_factor = shape.number("reuse", 0),
          .index_skew = shape.has("skew") ? shape.number("skew", 0) : 0,
          .zipf = shape.has("zipf") ? shape.number("zipf", 0) : 0};
}

EmbeddingBags bags_in(const ShapeWords& shape, Direction direction) {
  EmbeddingBags bags;
  bags.batch = shape.whole("batch");
  bags.direction = direction;
  if (shape.has("dimension")) {
    constexpr std::int64_t kMostTables = 100'000;
    const std::int64_t tables = shape.whole("tables");
    if (tables > kMostTables) shape.complain(fmt::format("tables={} are more than {}", tables, kMostTables));
    bags.tables.assign(static_cast<std::size_t>(tables), alike_in(shape));
  } else {
    std::istringstream tables{shape.text("tables")};
    for (std::string table; std::getline(tables, table, ',');) {
      bags.tables.push_back(table_in(shape, table));
    }
  }
  const auto* optimizer = std::ranges::find(kOptimizerNames, shape.text("optimizer"), &OptimizerName::name);
  if (optimizer == kOptimizerNames.end())
    shape.complain("optimizer= is none of sgd, adagrad, rowwise_adagrad, adamw");
  bags.optimizer = optimizer->optimizer;
  bags.repeated = shape.has("repeated") && shape.flag("repeated");
  bags.atomic = shape.has("atomic") && shape.flag("atomic");
  return bags;
}

Convolution convolution_in(const ShapeWords& shape) {
  const std::int64_t size = shape.whole("size"), filter = shape.whole("filter");
  const std::int64_t padding = shape.whole("padding", 0);
  if (filter > size + 2 * padding) {
    shape.complain(
        fmt::format("a filter of {} is larger than an image of {} with its padding", filter, size));
  }
  const auto* pass = kPassNames.begin();
  if (shape.has("pass")) pass = std::ranges::find(kPassNames, shape.text("pass"), &PassName::name);
  if (pass == kPassNames.end()) shape.complain("pass= is none of forward, input_gradient, weight_gradient");
  return {.batch = shape.whole("batch"),
          .in_channels = shape.whole("in"),
          .out_channels = shape.whole("out"),
          .height = size,
          .width = size,
          .filter_height = filter,
          .filter_width = filter,
          .stride = shape.whole("stride"),
          .padding_height = padding,
          .padding_width = padding,
          .pass = pass->pass,
          .channels_first = shape.has("channels_first") && shape.flag("channels_first"),
          .tuned = shape.has("tuned") && shape.flag("tuned")};
}

FlashAttention attention_in(const ShapeWords& shape, Direction direction) {
  const auto* version = std::ranges::find(kAttentionNames, shape.text("version"), &AttentionName::name);
  if (version == kAttentionNames.end()) {
    shape.complain("version= is none of flash, flash_1, flash_1_cuda, flash_3, cudnn, memory_efficient");
  }
  return {.batch = shape.whole("batch"),
          .heads = shape.whole("heads"),
          .queries = shape.whole("queries"),
          .keys = shape.whole("keys"),
          .head_size = shape.whole("head_size"),
          .causal = shape.flag("causal"),
          .dropout = shape.has("dropout") && shape.flag("dropout"),
          .direction = direction,
          .version = version->version};
}

KernelWork work_in(const std::string& family, const ShapeWords& shape) {
  if (family == "gemm") return product_in(shape);
  if (family == "softmax") return Softmax{shape.whole("rows"), shape.whole("columns")};
  if (family == "layer_norm") {
    return LayerNorm{.rows = shape.whole("rows"),
                     .columns = shape.whole("columns"),
                     .rms = shape.has("rms") && shape.flag("rms")};
  }
  if (family == "pointwise") {
    return Pointwise{.elements = shape.whole("elements"),
                     .reads = shape.number("reads", 0),
                     .writes = shape.number("writes", 0),
                     .flops = shape.number("flops", 0),
                     .instructions = shape.has("instructions") ? shape.number("instructions", 0) : 0};
  }
  if (family == "embedding_forward") return bags_in(shape, Direction::Forward);
  if (family == "embedding_backward") return bags_in(shape, Direction::Backward);
  if (family == "convolution") return convolution_in(shape);
  if (family == "attention_forward") return attention_in(shape, Direction::Forward);
  if (family == "attention_backward") return attention_in(shape, Direction::Backward);
  throw std::invalid_argument{
      fmt::format("there is no family '{}'{}", family, did_you_mean(family, kernel_families()))};
}

/// One row of a table that kernel_csv() writes.
KernelCall call_in(const CsvTable& table, std::size_t row) {
  try {
    return kernel_call(table.cell(row, "family"), table.cell(row, "type"),
                       shape_words(table.cell(row, "shape")));
  } catch (const std::invalid_argument& problem) {
    table.complain(row, problem.what());
  }
}

}  // namespace

double place_of_shape(const KernelWork& work) {
  KernelWork key = work;
  if (auto* product = std::get_if<Gemm>(&key); product != nullptr && product->batch == 1) product->m = 1;
  return place_with_m(key);
}

double place_with_m(const KernelWork& work) {
  return Random{0, shape_text(work)}.uniform(0);
}

DataType type_named(const std::string& name) {
  const auto* found = std::ranges::find(kTypeNames, name, &TypeName::name);
  if (found == kTypeNames.end()) {
    throw std::invalid_argument{"type: none of fp32, tf32, fp16, bf16, fp8"};
  }
  return found->type;
}

std::vector<std::string> kernel_families() {
  return {"gemm",        "softmax",           "layer_norm",
          "pointwise",   "embedding_forward", "embedding_backward",
          "convolution", "attention_forward", "attention_backward"};
}

KernelCall kernel_call(const std::string& family, const std::string& type,
                       const std::map<std::string, std::string>& words) {
  const ShapeWords shape{words};
  KernelCall call{family, type_named(type), work_in(family, shape)};
  shape.finish();
  return call;
}

std::string_view family_text(const KernelWork& work) {
  if (std::holds_alternative<Gemm>(work)) return "gemm";
  if (std::holds_alternative<Softmax>(work)) return "softmax";
  if (std::holds_alternative<LayerNorm>(work)) return "layer_norm";
  if (std::holds_alternative<Pointwise>(work)) return "pointwise";
  if (std::holds_alternative<Convolution>(work)) return "convolution";
  if (const auto* attention = std::get_if<FlashAttention>(&work)) {
    return attention->direction == Direction::Forward ? "attention_forward" : "attention_backward";
  }
  const auto& bags = std::get<EmbeddingBags>(work);
  return bags.direction == Direction::Forward ? "embedding_forward" : "embedding_backward";
}

std::string_view type_text(DataType type) {
  const auto* found = std::ranges::find(kTypeNames, type, &TypeName::type);
  if (found == kTypeNames.end()) throw std::invalid_argument{"a type without a word in tables of kernels"};
  return found->name;
}

std::string shape_text(const KernelWork& work) {
  return std::visit(ShapeText{}, work);
}

std::string kernel_csv(const KernelMeasurements& measurements, const std::vector<std::string>& sources) {
  std::string text;
  for (const std::string& source : sources) text += fmt::format("# from: {}\n", source);
  text += "gpu,family,type,shape,time_us\n";
  for (const KernelMeasurement& row : measurements) {
    text += fmt::format("{},{},{},\"{}\",{:.6g}\n", row.gpu, family_text(row.call.work),
                        type_text(row.call.type), shape_text(row.call.work), row.time / 1_us);
  }
  return text;
}

std::string cited_tables(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> sources;
  for (const auto& file : files) {
    for (std::string& source : CsvTable::from_file(file).facts("from")) sources.push_back(std::move(source));
  }
  return cited(files) + (sources.empty() ? "" : fmt::format(" (from {})", fmt::join(sources, "; ")));
}

bool is_kernel_csv(const std::filesystem::path& file) {
  if (file.extension() != ".csv") return false;
  const CsvTable table = CsvTable::from_file(file);
  return table.has("family") && table.has("shape");
}

KernelMeasurements read_kernel_csv(const std::vector<std::filesystem::path>& files) {
  KernelMeasurements rows;
  for (const auto& file : files) {
    const CsvTable table = CsvTable::from_file(file);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const double time = table.number(row, "time_us");
      if (!(time > 0)) table.complain(row, fmt::format("time_us: {} is not above 0", time));
      rows.push_back({table.cell(row, "gpu"), call_in(table, row), time * 1_us});
    }
  }
  return rows;
}

}  // namespace lockstep
