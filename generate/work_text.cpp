#include "generate/work_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <type_traits>

#include "generate/work_fields.hpp"
#include "ops/data_type_name.hpp"

namespace lockstep::generate {
namespace {

constexpr double kMostExact = 9007199254740992.0;  // 2^53

constexpr auto kTypes =
    std::to_array<DataType>({DataType::FP32, DataType::TF32, DataType::FP16, DataType::BF16, DataType::FP8,
                             DataType::INT32, DataType::INT64, DataType::UINT8, DataType::BOOL});

template <class Value>
double as_number(const Value& value) {
  if constexpr (requires { value.in_base_units(); }) {
    return value.in_base_units();
  } else {
    return static_cast<double>(value);
  }
}
double as_number(const std::optional<DataType>& value) {
  return value ? static_cast<double>(*value) : -1.0;
}

/// Collects what differs from a new work of the kind.
struct FieldWriter {
  benchmark::Fields fields;
  template <class Value>
  void operator()(const char* name, const Value& value) {
    fields[name] = as_number(value);
  }
};

template <class Work>
benchmark::Fields fields_of(Work work) {
  Work usual{};
  FieldWriter mine, theirs;
  visit_fields(mine, work);
  visit_fields(theirs, usual);
  std::erase_if(mine.fields,
                [&](const auto& field) { return theirs.fields.at(field.first) == field.second; });
  return mine.fields;
}

/// Puts fields in place, and knows which it was asked for.
struct FieldReader {
  const benchmark::Fields& fields;
  std::set<std::string> known{};

  template <class Value>
  void operator()(const char* name, Value& value) {
    known.insert(name);
    const auto found = fields.find(name);
    if (found != fields.end()) {
      put(found->second, name, value);
    }
  }

  template <class Value>
  static void put(double number, const char* name, Value& value) {
    if constexpr (std::is_same_v<Value, double>) {
      value = number;
    } else if constexpr (requires { value.in_base_units(); }) {
      value = Value{number};
    } else {
      value = static_cast<Value>(
          whole(number, name, std::is_same_v<Value, std::int64_t> ? kMostExact : most<Value>()));
    }
  }
  static void put(double number, const char* name, std::optional<DataType>& value) {
    value = std::nullopt;
    if (number >= 0) {
      value = static_cast<DataType>(whole(number, name, static_cast<double>(DataType::BOOL)));
    }
  }

  template <class Value>
  static constexpr double most() {
    if constexpr (std::is_same_v<Value, bool>) {
      return 1;
    } else if constexpr (std::is_enum_v<Value>) {
      return 6;  // the largest enumeration's last: Optimizer::BertAdam
    } else {
      return std::numeric_limits<int>::max();
    }
  }

  static std::int64_t whole(double number, const char* name, double most) {
    if (number != std::floor(number) || number < 0 || number > most) {
      throw std::invalid_argument{fmt::format("{}: a whole number from 0 to {}, not {}", name, most, number)};
    }
    return static_cast<std::int64_t>(number);
  }

  void expect_no_others() const {
    for (const auto& [name, value] : fields) {
      if (!known.contains(name)) {
        throw std::invalid_argument{fmt::format("there is no size '{}'", name)};
      }
    }
  }
};

template <class Spec>
Spec read_fields(const benchmark::Fields& fields) {
  Spec spec{};
  FieldReader reader{fields};
  visit_fields(reader, spec);
  reader.expect_no_others();
  return spec;
}

template <class Work>
KernelWork work_of(const benchmark::Call& call) {
  Work work = read_fields<Work>(call.fields);
  if constexpr (requires { work.tables; }) {
    for (const benchmark::Fields& table : call.tables) {
      work.tables.push_back(read_fields<EmbeddingTable>(table));
    }
  }
  return work;
}

template <std::size_t Index = 0>
KernelWork work_named(const benchmark::Call& call) {
  if constexpr (Index == std::variant_size_v<KernelWork>) {
    throw std::invalid_argument{fmt::format("there is no work '{}'", call.work)};
  } else {
    if (call.work == kWorkNames[Index]) {
      return work_of<std::variant_alternative_t<Index, KernelWork>>(call);
    }
    return work_named<Index + 1>(call);
  }
}

}  // namespace

std::string work_name(const KernelWork& work) {
  return std::string{kWorkNames[work.index()]};
}

benchmark::Call call_of(const KernelCall& call) {
  benchmark::Call made;
  made.work = work_name(call.work);
  made.type = data_type_name(call.type);
  std::visit(
      [&](const auto& work) {
        made.fields = fields_of(work);
        if constexpr (requires { work.tables; }) {
          for (const EmbeddingTable& table : work.tables) {
            made.tables.push_back(fields_of(table));
          }
        }
      },
      call.work);
  return made;
}

KernelCall kernel_call(const benchmark::Call& call, const std::string& name) {
  const auto type = std::ranges::find_if(
      kTypes, [&](DataType candidate) { return data_type_name(candidate) == call.type; });
  if (type == kTypes.end()) {
    throw std::invalid_argument{fmt::format("there is no type '{}'", call.type)};
  }
  return {name, *type, work_named(call)};
}

}  // namespace lockstep::generate
