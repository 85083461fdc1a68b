#include "calibration/kernels/kernel_measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/suggest.hpp"
#include "calibration/csv_table.hpp"

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
constexpr std::array kOptimizerNames{OptimizerName{Optimizer::Sgd, "sgd"},
                                     OptimizerName{Optimizer::Adagrad, "adagrad"},
                                     OptimizerName{Optimizer::AdamW, "adamw"}};

std::string tables_text(const EmbeddingBags& bags) {
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
    return fmt::format("rows={} columns={}", w.rows, w.columns);
  }
  std::string operator()(const Pointwise& w) const {
    return fmt::format("elements={} reads={:g} writes={:g} flops={:g}", w.elements, w.reads, w.writes,
                       w.flops);
  }
  std::string operator()(const EmbeddingBags& w) const {
    return fmt::format("batch={} tables={} optimizer={}", w.batch, tables_text(w),
                       std::ranges::find(kOptimizerNames, w.optimizer, &OptimizerName::optimizer)->name);
  }
  std::string operator()(const auto& /*other*/) const {
    throw std::logic_error{"no shape text for this kind of kernel"};
  }
};

std::string_view family_text(const KernelWork& work) {
  if (std::holds_alternative<Gemm>(work)) return "gemm";
  if (std::holds_alternative<Softmax>(work)) return "softmax";
  if (std::holds_alternative<LayerNorm>(work)) return "layer_norm";
  if (std::holds_alternative<Pointwise>(work)) return "pointwise";
  const auto& bags = std::get<EmbeddingBags>(work);
  return bags.direction == Direction::Forward ? "embedding_forward" : "embedding_backward";
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The key=value words of one shape; complains at the row's place.
class Shape {
 public:
  Shape(const CsvTable& table, std::size_t row) : table_{table}, row_{row} {
    std::istringstream words{table.cell(row, "shape")};
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) complain(fmt::format("'{}' is not KEY=VALUE", word));
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  [[nodiscard]] const std::string& text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) complain(fmt::format("no {}=", key));
    return found->second;
  }
  [[nodiscard]] double number(const std::string& key, double least) const {
    const auto value = number_in(text(key));
    if (!value || !(*value >= least)) {
      complain(fmt::format("{}={} is no number of at least {:g}", key, text(key), least));
    }
    return *value;
  }
  [[nodiscard]] std::int64_t whole(const std::string& key) const {
    return static_cast<std::int64_t>(number(key, 1));
  }
  [[noreturn]] void complain(const std::string& what) const { table_.complain(row_, "shape: " + what); }

 private:
  const CsvTable& table_;
  std::size_t row_;
  std::map<std::string, std::string> values_;
};

Gemm product_in(const Shape& shape) {
  const std::string& layout = shape.text("layout");
  const auto is_letter = [](char c) { return c == 'n' || c == 't'; };
  if (layout.size() != 2 || !std::ranges::all_of(layout, is_letter)) {
    shape.complain(fmt::format("layout={} is none of nn, nt, tn, tt", layout));
  }
  return {shape.whole("batch"), shape.whole("m"), shape.whole("n"),
          shape.whole("k"),     layout[0] == 't', layout[1] == 't'};
}

EmbeddingTable table_in(const Shape& shape, const std::string& text) {
  std::array<double, 4> numbers{};
  std::istringstream parts{text};
  std::string part;
  std::size_t count = 0;
  for (; count < numbers.size() && std::getline(parts, part, 'x'); ++count) {
    const auto value = number_in(part);
    if (!value || *value < 0) shape.complain(fmt::format("table {}: '{}' is no number", text, part));
    numbers.at(count) = *value;
  }
  if (count != numbers.size() || !parts.eof() || numbers[0] < 1 || numbers[1] < 1) {
    shape.complain(fmt::format("table {} is not ROWSxDIMENSIONxPOOLINGxREUSE", text));
  }
  return {.rows = static_cast<std::int64_t>(numbers[0]),
          .dimension = static_cast<std::int64_t>(numbers[1]),
          .pooling_factor = numbers[2],
          .reuse_factor = numbers[3]};
}

EmbeddingBags bags_in(const Shape& shape, Direction direction) {
  EmbeddingBags bags;
  bags.batch = shape.whole("batch");
  bags.direction = direction;
  std::istringstream tables{shape.text("tables")};
  for (std::string table; std::getline(tables, table, ',');) {
    bags.tables.push_back(table_in(shape, table));
  }
  const auto* optimizer = std::ranges::find(kOptimizerNames, shape.text("optimizer"), &OptimizerName::name);
  if (optimizer == kOptimizerNames.end()) shape.complain("optimizer= is none of sgd, adagrad, adamw");
  bags.optimizer = optimizer->optimizer;
  return bags;
}

KernelWork work_in(const CsvTable& table, std::size_t row) {
  const std::string& family = table.cell(row, "family");
  const Shape shape{table, row};
  if (family == "gemm") return product_in(shape);
  if (family == "softmax") return Softmax{shape.whole("rows"), shape.whole("columns")};
  if (family == "layer_norm") return LayerNorm{shape.whole("rows"), shape.whole("columns")};
  if (family == "pointwise") {
    return Pointwise{shape.whole("elements"), shape.number("reads", 0), shape.number("writes", 0),
                     shape.number("flops", 0)};
  }
  if (family == "embedding_forward") return bags_in(shape, Direction::Forward);
  if (family == "embedding_backward") return bags_in(shape, Direction::Backward);
  table.complain(row, fmt::format("there is no family '{}'{}", family,
                                  did_you_mean(family, {"gemm", "softmax", "layer_norm", "pointwise",
                                                        "embedding_forward", "embedding_backward"})));
}

DataType type_in(const CsvTable& table, std::size_t row) {
  const auto* found = std::ranges::find(kTypeNames, table.cell(row, "type"), &TypeName::name);
  if (found == kTypeNames.end()) table.complain(row, "type: none of fp32, tf32, fp16, bf16, fp8");
  return found->type;
}

}  // namespace

std::string shape_text(const KernelWork& work) {
  return std::visit(ShapeText{}, work);
}

std::string kernel_csv(const KernelMeasurements& measurements) {
  std::string text = "gpu,family,type,shape,time_us\n";
  for (const KernelMeasurement& row : measurements) {
    text += fmt::format("{},{},{},\"{}\",{:.6g}\n", row.gpu, family_text(row.call.work),
                        std::ranges::find(kTypeNames, row.call.type, &TypeName::type)->name,
                        shape_text(row.call.work), row.time / 1_us);
  }
  return text;
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
      rows.push_back({table.cell(row, "gpu"),
                      {table.cell(row, "family"), type_in(table, row), work_in(table, row)},
                      time * 1_us});
    }
  }
  return rows;
}

}  // namespace lockstep
