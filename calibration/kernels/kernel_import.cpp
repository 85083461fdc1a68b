#include "calibration/kernels/kernel_import.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "calibration/csv_table.hpp"

namespace lockstep {
namespace {

using namespace literals;

/// Takes what a reader of rows finds, and counts.
class Taking {
 public:
  Taking(const KernelImportOptions& options, KernelMeasurements& measurements)
      : options_{options}, measurements_{measurements} {}

  void take(std::string family, DataType type, KernelWork work, Seconds time) {
    KernelMeasurement measured{options_.gpu, {std::move(family), type, std::move(work)}, time};
    measured.time -= options_.timing_adds;
    if (measured.time <= Seconds{0} || is_too_short(measured.call, options_)) {
      ++report.too_short;
      return;
    }
    ++report.used;
    measurements_.push_back(std::move(measured));
  }

  KernelImportReport report;

 private:
  const KernelImportOptions& options_;
  KernelMeasurements& measurements_;
};

std::int64_t whole(const CsvTable& table, std::size_t row, const char* column) {
  const double value = table.number(row, column);
  if (!(value >= 1 && value == std::floor(value))) {
    table.complain(row, fmt::format("{}: {} is no whole number from 1 on", column, value));
  }
  return static_cast<std::int64_t>(value);
}

Seconds time_in(const CsvTable& table, std::size_t row, const char* column, Seconds unit) {
  const double value = table.number(row, column);
  if (!(value > 0)) table.complain(row, fmt::format("{}: {} is not above 0", column, value));
  return value * unit;
}

std::optional<DataType> known_type(const std::string& name) {
  constexpr std::array kNames{std::pair{"fp32", DataType::FP32}, std::pair{"tf32", DataType::TF32},
                              std::pair{"fp16", DataType::FP16}, std::pair{"bf16", DataType::BF16},
                              std::pair{"fp8", DataType::FP8}};
  for (const auto& [text, type] : kNames) {
    if (name == text) return type;
  }
  return std::nullopt;
}

/// NeuSight calls the depth N and the columns of the result K. torch.nn.Linear keeps its weights transposed.
std::optional<KernelWork> neusight_work(const CsvTable& table, std::size_t row) {
  const std::string& operation = table.cell(row, "OPName");
  const auto size = [&](const char* column) { return whole(table, row, column); };
  if (operation == "linear" || operation == "bmm") {
    return Gemm{size("B"), size("M"), size("K"), size("N"), false, operation == "linear"};
  }
  if (operation == "softmax") return Softmax{size("B"), size("H")};
  if (operation == "ln") return LayerNorm{size("B"), size("H")};
  if (operation == "add" || operation == "mul") return Pointwise{size("B") * size("H"), 2, 1, 1};
  if (operation == "relu") return Pointwise{size("B") * size("H"), 1, 1, 1};
  return std::nullopt;
}

/// A table of several GPUs is of none of them in particular.
void check_one_device(const CsvTable& table, const KernelImportOptions& options) {
  if (!options.device.empty() || !table.has("Device")) return;
  for (std::size_t row = 1; row < table.rows(); ++row) {
    if (table.cell(row, "Device") != table.cell(0, "Device")) {
      table.complain(row, fmt::format("rows of '{}', and of '{}' before: say which with --device",
                                      table.cell(row, "Device"), table.cell(0, "Device")));
    }
  }
}

void take_neusight(const CsvTable& table, const KernelImportOptions& options, Taking& taking) {
  check_one_device(table, options);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!options.device.empty() && table.cell(row, "Device") != options.device) {
      ++taking.report.other_device;
    } else if (auto work = neusight_work(table, row)) {
      taking.take(table.cell(row, "OPName"), DataType::FP32, *std::move(work),
                  time_in(table, row, "Latency", 1_ms));
    } else {
      ++taking.report.not_modelled;
    }
  }
}

void take_vidur(const CsvTable& table, Taking& taking) {
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto size = [&](const char* column) { return whole(table, row, column); };
    const std::int64_t split = size("num_tensor_parallel_workers"), width = size("n_embd");
    const std::int64_t wide = size("n_expanded_embd"), heads = size("n_head");
    const std::int64_t projected = (heads + 2 * size("n_kv_head")) * (width / heads);
    const std::int64_t up = (table.cell(row, "use_gated_mlp") == "True" ? 2 : 1) * wide;
    const std::array products{std::tuple{"attn_pre_proj", projected / split, width},
                              std::tuple{"attn_post_proj", width, width / split},
                              std::tuple{"mlp_up_proj", up / split, width},
                              std::tuple{"mlp_down_proj", width, wide / split}};
    for (const auto& [name, columns, depth] : products) {
      const std::string column = fmt::format("time_stats.{}.median", name);
      if (table.cell(row, column).empty()) continue;
      taking.take(name, DataType::FP16, Gemm{1, size("num_tokens"), columns, depth, false, true},
                  time_in(table, row, column.c_str(), 1_ms));
    }
  }
}

/// One row of a table of lockstep-measure; nothing for what networks do not answer for.
std::optional<KernelWork> own_work(const std::string& family, const CsvTable& table, std::size_t row) {
  const auto size = [&](const char* column) { return whole(table, row, column); };
  if (family == "gemm") {
    if (table.cell(row, "cache") != "cold" || table.cell(row, "library") != "cublas") return std::nullopt;
    const std::string& layout = table.cell(row, "layout");
    return Gemm{size("batch"), size("m"), size("n"), size("k"), layout.front() == 't', layout.back() == 't'};
  }
  const std::string& operation = table.cell(row, family == "embedding" ? "pass" : "operation");
  if (operation == "softmax") return Softmax{size("rows"), size("columns")};
  if (operation == "layer_norm") return LayerNorm{size("rows"), size("columns")};
  if (family == "embedding" && operation != "sort") {
    const auto tables = static_cast<std::size_t>(size("tables"));
    const auto pooling = static_cast<double>(size("pooling"));
    const double zipf = table.has("zipf_percent") ? table.number(row, "zipf_percent") / 100 : 0;
    const double lookups = static_cast<double>(size("batch")) * pooling * static_cast<double>(tables);
    EmbeddingBags bags{.batch = size("batch"),
                       .tables = {},
                       .direction = operation == "forward" ? Direction::Forward : Direction::Backward,
                       .optimizer = Optimizer::RowWiseAdagrad};
    bags.tables.assign(tables, {.rows = size("rows"),
                                .dimension = size("dim"),
                                .pooling_factor = pooling,
                                .reuse_factor = zipf > 0 ? 0 : lookups / table.number(row, "unique_rows"),
                                .zipf = zipf});
    return bags;
  }
  return std::nullopt;
}

void take_own(const std::string& family, const CsvTable& table, Taking& taking) {
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto type = known_type(table.cell(row, "type"));
    auto work = type ? own_work(family, table, row) : std::nullopt;
    if (work) {
      taking.take(family, *type, *std::move(work), time_in(table, row, "median_us", 1_us));
    } else {
      ++taking.report.not_modelled;
    }
  }
}

/// The family of a table of lockstep-measure that networks can learn from, "" for other tables.
std::string own_family(const CsvTable& table) {
  if (!table.has("median_us")) return "";
  if (table.has("layout") && table.has("library")) return "gemm";
  if (table.has("pass") && table.has("unique_rows")) return "embedding";
  return table.has("operation") && table.has("columns") ? "normalisation" : "";
}

/// The maker's name of the GPU that the rows taken are of; "" where the table does not say it.
std::string device_of(const CsvTable& table, const KernelImportOptions& options) {
  if (!table.has("Device")) return table.fact("gpu");
  return options.device.empty() && table.rows() > 0 ? table.cell(0, "Device") : options.device;
}

/// Memory that lockstep-measure notes; 0 where the table does not say it.
Bytes memory_of(const CsvTable& table) {
  const std::string said = table.fact("memory_bytes");
  std::uint64_t bytes = 0;
  std::from_chars(said.data(), said.data() + said.size(), bytes);
  return Bytes{static_cast<double>(bytes)};
}

void check_gpu(const CsvTable& table, const std::filesystem::path& file, const KernelImportOptions& options) {
  const std::string said = table.fact("multiprocessors");
  int count = 0;
  std::from_chars(said.data(), said.data() + said.size(), count);
  check_multiprocessors({table.fact("gpu"), file.string(), count}, options);
}

std::string source_of(const CsvTable& table, const std::filesystem::path& file) {
  std::string source = file.filename().string();
  for (const auto& [key, before] :
       {std::pair{"gpu", ""}, std::pair{"driver", "driver "}, std::pair{"cuda", "CUDA "},
        std::pair{"cublas", "cuBLAS "}, std::pair{"date", ""}}) {
    if (const std::string fact = table.fact(key); !fact.empty())
      source += fmt::format(", {}{}", before, fact);
  }
  return source;
}

}  // namespace

bool is_too_short(const KernelCall& call, const KernelImportOptions& options) {
  return options.shortest > Seconds{0} && options.expected(call) < options.shortest;
}

void check_multiprocessors(const StatedGpu& stated, const KernelImportOptions& options) {
  if (options.multiprocessors == 0 || stated.multiprocessors <= 0 ||
      stated.multiprocessors == options.multiprocessors) {
    return;
  }
  throw InputError{{stated.file},
                   fmt::format("is of {} with {} multiprocessors, {} has {}", stated.name,
                               stated.multiprocessors, options.gpu, options.multiprocessors)};
}

KernelImportReport import_kernel_table(const std::filesystem::path& file, const KernelImportOptions& options,
                                       KernelMeasurements& measurements) {
  const CsvTable table = CsvTable::from_file(file);
  if (!options.device.empty() && !table.has("Device")) {
    throw InputError{{file.string()},
                     fmt::format("has no column 'Device' to look for '{}' in: its rows are of one GPU; leave "
                                 "--device out",
                                 options.device)};
  }
  check_gpu(table, file, options);
  Taking taking{options, measurements};
  taking.report.source = source_of(table, file);
  taking.report.device = device_of(table, options);
  taking.report.memory = memory_of(table);
  if (const std::string family = own_family(table); !family.empty()) {
    take_own(family, table, taking);
  } else if (table.has("OPName") && table.has("Latency")) {
    take_neusight(table, options, taking);
  } else if (table.has("num_tokens") && table.has("time_stats.mlp_up_proj.median")) {
    take_vidur(table, taking);
  } else {
    throw InputError{
        {file.string()},
        "no table of kernels that is known: lockstep-measure's gemm.csv, normalisation.csv or "
        "embedding.csv, NeuSight's (OPName, Latency) or vidur's (num_tokens, time_stats.*); others "
        "can be written as gpu,family,type,shape,time_us (docs/learned_kernels.md)"};
  }
  return taking.report;
}

}  // namespace lockstep
