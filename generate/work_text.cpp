#include "generate/work_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "ops/data_type_name.hpp"
#include "ops/kernel_fields.hpp"

namespace lockstep::generate {
namespace {

constexpr auto kTypes =
    std::to_array<DataType>({DataType::FP32, DataType::TF32, DataType::FP16, DataType::BF16, DataType::FP8,
                             DataType::INT32, DataType::INT64, DataType::UINT8, DataType::BOOL});

/// The rows of a table are always said: they say how many tables there are.
bool is_always_said(const KernelField& field) {
  return field.key.starts_with("rows.");
}

/// Returns by key what a work of the kind with as many tables usually has.
std::map<std::string, double> usual_fields(std::string_view kind, const std::vector<KernelField>& fields) {
  std::vector<KernelField> said;
  std::ranges::copy_if(fields, std::back_inserter(said), is_always_said);
  std::map<std::string, double> usual;
  for (const KernelField& field : fields_of(work_with(kind, said))) {
    usual[field.key] = field.value;
  }
  return usual;
}

/// Puts `rows.3` as `rows` into the fourth table.
void put(benchmark::Call& call, const KernelField& field) {
  const std::size_t dot = field.key.find('.');
  if (dot == std::string::npos) {
    call.fields[field.key] = field.value;
    return;
  }
  std::size_t number = 0;
  std::from_chars(field.key.data() + dot + 1, field.key.data() + field.key.size(), number);
  call.tables.resize(std::max(call.tables.size(), number + 1));
  call.tables[number][field.key.substr(0, dot)] = field.value;
}

}  // namespace

std::string work_name(const KernelWork& work) {
  return std::string{kind_of(work)};
}

benchmark::Call call_of(const KernelCall& call) {
  benchmark::Call made;
  made.work = work_name(call.work);
  made.type = data_type_name(call.type);
  const std::vector<KernelField> fields = fields_of(call.work);
  const std::map<std::string, double> usual = usual_fields(made.work, fields);
  for (const KernelField& field : fields) {
    if (is_always_said(field) || usual.at(field.key) != field.value) {
      put(made, field);
    }
  }
  return made;
}

KernelCall kernel_call(const benchmark::Call& call, const std::string& name) {
  const auto type = std::ranges::find_if(
      kTypes, [&](DataType candidate) { return data_type_name(candidate) == call.type; });
  if (type == kTypes.end()) {
    throw std::invalid_argument{fmt::format("there is no type '{}'", call.type)};
  }
  std::vector<KernelField> fields;
  for (const auto& [key, value] : call.fields) {
    fields.push_back({.key = key, .value = value});
  }
  for (std::size_t number = 0; number < call.tables.size(); ++number) {
    for (const auto& [key, value] : call.tables[number]) {
      fields.push_back({.key = fmt::format("{}.{}", key, number), .value = value});
    }
  }
  return {name, *type, work_with(call.work, fields)};
}

}  // namespace lockstep::generate
