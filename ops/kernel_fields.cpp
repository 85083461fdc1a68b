#include "ops/kernel_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace lockstep {
namespace {

constexpr double kMostElements = 1e15;
constexpr std::size_t kMostTables = 100'000;

/// Indexed as KernelWork is.
constexpr std::array<std::string_view, std::variant_size_v<KernelWork>> kKinds{
    "gemm",      "pointwise",  "reduction", "concat",    "transpose",       "triangular",
    "softmax",   "layer_norm", "attention", "embedding", "embedding_cache", "index_select",
    "optimizer", "memcpy",     "memset",    "timed",     "batch_norm",      "convolution"};

void describe_passes(auto& each, auto& passes) {
  each("fused_reads", passes.reads);
  each("fused_writes", passes.writes);
  each("fused_again", passes.again);
}

// One overload a kind: names its numbers. Work is the struct, const or not.
template <class Work, class Each>
void describe_gemm(Work& w, Each& each) {
  each("batch", w.batch);
  each("m", w.m);
  each("n", w.n);
  each("k", w.k);
  each("transpose_a", w.transpose_a);
  each("transpose_b", w.transpose_b);
  each("added_to", w.added_to);
  each("concurrent", w.concurrent);
  each("grouped", w.grouped);
  each("split_accumulator", w.split_accumulator);
}
template <class Work, class Each>
void describe_pointwise(Work& w, Each& each) {
  each("elements", w.elements);
  each("reads", w.reads);
  each("writes", w.writes);
  each("flops", w.flops);
  each("instructions", w.instructions);
  each("in_step", w.in_step);
  each("sector_window", w.sector_window);
  each("chain", w.chain);
}
template <class Work, class Each>
void describe_rows(Work& w, Each& each) {
  using Kind = std::remove_const_t<Work>;
  each("rows", w.rows);
  each("columns", w.columns);
  if constexpr (std::same_as<Kind, Reduction>) {
    each("across_rows", w.across_rows);
  } else if constexpr (std::same_as<Kind, Softmax>) {
    each("direction", w.direction);
    each("logarithm", w.logarithm);
    describe_passes(each, w.fused);
    each("row_of_a_warp", w.row_of_a_warp);
    each("causal", w.causal);
    each("half_to_float", w.half_to_float);
  } else {
    each("part", w.part);
    describe_passes(each, w.fused);
    each("instructions", w.instructions);
    each("rms", w.rms);
  }
}
template <class Work, class Each>
void describe_attention(Work& w, Each& each) {
  each("batch", w.batch);
  each("heads", w.heads);
  each("queries", w.queries);
  each("keys", w.keys);
  each("head_size", w.head_size);
  each("causal", w.causal);
  each("dropout", w.dropout);
  each("direction", w.direction);
  each("version", w.version);
  each("main_alone", w.main_alone);
}
template <class Work, class Each>
void describe_convolution(Work& w, Each& each) {
  each("batch", w.batch);
  each("in_channels", w.in_channels);
  each("out_channels", w.out_channels);
  each("height", w.height);
  each("width", w.width);
  each("filter_height", w.filter_height);
  each("filter_width", w.filter_width);
  each("stride", w.stride);
  each("padding_height", w.padding_height);
  each("padding_width", w.padding_width);
  each("pass", w.pass);
  each("channels_first", w.channels_first);
  each("tuned", w.tuned);
}
template <class Table, class Each>
void describe_table(Table& t, Each& each, std::size_t number) {
  const auto key = [&](const char* name) { return fmt::format("{}.{}", name, number); };
  each(key("rows"), t.rows);
  each(key("dimension"), t.dimension);
  each(key("pooling_factor"), t.pooling_factor);
  each(key("reuse_factor"), t.reuse_factor);
  each(key("location"), t.location);
  each(key("cache_load_factor"), t.cache_load_factor);
  each(key("index_skew"), t.index_skew);
  each(key("active_rows"), t.active_rows);
  each(key("index_duplication"), t.index_duplication);
  each(key("zipf"), t.zipf);
}
template <class Work, class Each>
void describe_tables(Work& w, Each& each) {
  each("batch", w.batch);
  if constexpr (std::same_as<std::remove_const_t<Work>, EmbeddingBags>) {
    each("direction", w.direction);
    each("optimizer", w.optimizer);
    each("pooled", w.pooled);
    each("repeated", w.repeated);
    each("atomic", w.atomic);
  }
  for (std::size_t i = 0; i < w.tables.size(); ++i) {
    describe_table(w.tables[i], each, i);
  }
}

/// The numbers of @p w, each with its key.
template <class Work, class Each>
void describe_work(Work& w, Each& each) {
  using Kind = std::remove_const_t<Work>;
  if constexpr (std::same_as<Kind, Gemm>) {
    describe_gemm(w, each);
  } else if constexpr (std::same_as<Kind, Pointwise>) {
    describe_pointwise(w, each);
  } else if constexpr (std::same_as<Kind, Reduction> || std::same_as<Kind, Softmax> ||
                       std::same_as<Kind, LayerNorm>) {
    describe_rows(w, each);
  } else if constexpr (std::same_as<Kind, Concat>) {
    each("elements", w.elements);
    each("pieces", w.pieces);
    each("strided", w.strided);
  } else if constexpr (std::same_as<Kind, Transpose>) {
    each("batch", w.batch);
    each("rows", w.rows);
    each("columns", w.columns);
  } else if constexpr (std::same_as<Kind, TriangularIndex>) {
    each("batch", w.batch);
    each("n", w.n);
    each("diagonal", w.diagonal);
    each("direction", w.direction);
  } else if constexpr (std::same_as<Kind, FlashAttention>) {
    describe_attention(w, each);
  } else if constexpr (std::same_as<Kind, EmbeddingBags> || std::same_as<Kind, EmbeddingCacheInsert>) {
    describe_tables(w, each);
  } else if constexpr (std::same_as<Kind, IndexSelect>) {
    each("table_rows", w.table_rows);
    each("picks", w.picks);
    each("columns", w.columns);
    each("direction", w.direction);
    each("block_per_row", w.block_per_row);
  } else if constexpr (std::same_as<Kind, OptimizerUpdate>) {
    each("optimizer", w.optimizer);
    each("parameters", w.parameters);
    each("tensors", w.tensors);
    each("reads", w.reads);
    each("writes", w.writes);
    each("flops", w.flops);
  } else if constexpr (std::same_as<Kind, Memcpy>) {
    each("size", w.size);
    each("path", w.path);
    each("pinned", w.pinned);
  } else if constexpr (std::same_as<Kind, Memset>) {
    each("size", w.size);
  } else if constexpr (std::same_as<Kind, Timed>) {
    each("duration", w.duration);
  } else if constexpr (std::same_as<Kind, BatchNorm>) {
    each("batch", w.batch);
    each("channels", w.channels);
    each("pixels", w.pixels);
    each("direction", w.direction);
    each("own", w.own);
    each("channels_last", w.channels_last);
  } else {
    static_assert(std::same_as<Kind, Convolution>);
    describe_convolution(w, each);
  }
}

struct FieldReader {
  std::vector<KernelField>& fields;

  template <class Value>
  void operator()(std::string key, const Value& value) {
    fields.push_back({std::move(key), number(value), kIsSize<Value>});
  }
  template <class Value>
  static constexpr bool kIsSize = std::same_as<Value, std::int64_t> || std::same_as<Value, Bytes>;

  template <class Value>
  static double number(const Value& value) {
    if constexpr (std::same_as<Value, Bytes> || std::same_as<Value, Seconds>) {
      return value.in_base_units();
    } else if constexpr (std::same_as<Value, std::optional<DataType>>) {
      return value ? 1 + static_cast<double>(*value) : 0;
    } else if constexpr (std::is_enum_v<Value>) {
      return static_cast<double>(static_cast<int>(value));
    } else {
      return static_cast<double>(value);
    }
  }
};

/// The largest number of an enumeration.
template <class Value>
constexpr int last_of() {
  if constexpr (std::same_as<Value, DataType>) return static_cast<int>(DataType::BOOL);
  if constexpr (std::same_as<Value, Direction>) return static_cast<int>(Direction::Backward);
  if constexpr (std::same_as<Value, LayerNorm::Part>)
    return static_cast<int>(LayerNorm::Part::ParameterGradient);
  if constexpr (std::same_as<Value, Convolution::Pass>)
    return static_cast<int>(Convolution::Pass::WeightGradient);
  if constexpr (std::same_as<Value, FlashVersion>) return static_cast<int>(FlashVersion::MemoryEfficient);
  if constexpr (std::same_as<Value, TableLocation>) return static_cast<int>(TableLocation::HostCached);
  if constexpr (std::same_as<Value, Optimizer>) return static_cast<int>(Optimizer::BertAdam);
  if constexpr (std::same_as<Value, Memcpy::Path>) return static_cast<int>(Memcpy::Path::DeviceToDevice);
  return 0;
}

struct FieldWriter {
  std::span<const KernelField> fields;
  std::size_t used = 0;

  template <class Value>
  void operator()(const std::string& key, Value& value) {
    for (const KernelField& field : fields) {
      if (field.key == key) {
        ++used;
        take(field, value);
        return;
      }
    }
  }

  template <class Value>
  static void take(const KernelField& field, Value& value) {
    const double number = field.value;
    const auto expect = [&](bool holds) {
      if (!holds) {
        throw std::invalid_argument{fmt::format("'{}' cannot be {}", field.key, number)};
      }
    };
    expect(std::isfinite(number) && number >= 0 && number <= kMostElements);
    if constexpr (std::same_as<Value, Bytes> || std::same_as<Value, Seconds>) {
      value = Value{number};
    } else if constexpr (std::same_as<Value, double>) {
      value = number;
    } else {
      expect(number == std::floor(number));
      take_whole(number, value, expect);
    }
  }

  template <class Value, class Expect>
  static void take_whole(double number, Value& value, const Expect& expect) {
    if constexpr (std::same_as<Value, bool>) {
      expect(number <= 1);
      value = number != 0;
    } else if constexpr (std::same_as<Value, std::optional<DataType>>) {
      expect(number <= 1 + last_of<DataType>());
      value = number == 0 ? std::nullopt : std::optional{static_cast<DataType>(static_cast<int>(number) - 1)};
    } else if constexpr (std::is_enum_v<Value>) {
      expect(number <= last_of<Value>());
      value = static_cast<Value>(static_cast<int>(number));
    } else {
      expect(!std::same_as<Value, int> || number < 1e9);
      value = static_cast<Value>(number);
    }
  }
};

/// How many tables the keys number.
std::size_t tables_of(std::span<const KernelField> fields) {
  std::size_t tables = 0;
  for (const KernelField& field : fields) {
    if (const std::size_t dot = field.key.find('.'); dot != std::string::npos) {
      std::size_t number = 0;
      std::from_chars(field.key.data() + dot + 1, field.key.data() + field.key.size(), number);
      tables = std::max(tables, number + 1);
    }
  }
  if (tables > kMostTables) {
    throw std::invalid_argument{fmt::format("a kernel of {} tables", tables)};
  }
  return tables;
}

template <std::size_t... Index>
KernelWork empty_work(std::size_t kind, std::index_sequence<Index...> /*all*/) {
  KernelWork work;
  ((kind == Index ? static_cast<void>(work.emplace<Index>()) : void()), ...);
  return work;
}

}  // namespace

std::string_view kind_of(const KernelWork& work) {
  return kKinds.at(work.index());
}

std::vector<KernelField> fields_of(const KernelWork& work) {
  std::vector<KernelField> fields;
  FieldReader reader{fields};
  std::visit([&](const auto& w) { describe_work(w, reader); }, work);
  return fields;
}

KernelWork work_with(std::string_view kind, std::span<const KernelField> fields) {
  const auto* const found = std::ranges::find(kKinds, kind);
  if (found == kKinds.end()) {
    throw std::invalid_argument{fmt::format("'{}' is no kind of kernel", kind)};
  }
  KernelWork work = empty_work(static_cast<std::size_t>(found - kKinds.begin()),
                               std::make_index_sequence<std::variant_size_v<KernelWork>>{});
  FieldWriter writer{fields};
  std::visit(
      [&](auto& w) {
        if constexpr (requires { w.tables; }) {
          w.tables.resize(tables_of(fields));
        }
        describe_work(w, writer);
      },
      work);
  if (writer.used != fields.size()) {
    throw std::invalid_argument{fmt::format("a kernel '{}' with a number that it does not have", kind)};
  }
  return work;
}

}  // namespace lockstep
