#include "search/learned/weights_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "search/learned/training.hpp"

namespace lockstep::sharding::learned {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "lockstep placement policy 1";
constexpr const char* kExpected =
    "expected a file that lockstep search --save-weights wrote (docs/search.md, Learned policies)";

std::string text_of(const NamedParameter& named) {
  const Matrix& value = named.parameter->value;
  std::vector<float> numbers;
  for (Eigen::Index row = 0; row < value.rows(); ++row) {
    for (Eigen::Index column = 0; column < value.cols(); ++column) {
      numbers.push_back(static_cast<float>(value(row, column)));
    }
  }
  return fmt::format(R"(    "{}": {{"rows": {}, "columns": {}, "values": [{}]}})", named.name, value.rows(),
                     value.cols(), fmt::join(numbers, ", "));
}

/// Complains with the file's name.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : file_{path.string()} {
    const std::string text = read_whole_file(path);
    try {
      json_ = Json::parse(text);
    } catch (const Json::parse_error& problem) {
      const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(problem.byte, text.size()));
      const auto line = static_cast<int>(std::count(text.begin(), end, '\n')) + 1;
      throw InputError{{file_, line}, fmt::format("this is no JSON; {}", kExpected)};
    } catch (const Json::out_of_range&) {  // 1e999
      complain("a number is larger than any that can be read");
    }
    if (!json_.is_object() || json_.value("format", Json{}) != kFormat) {
      complain(fmt::format("\"format\" is not \"{}\"", kFormat));
    }
  }

  [[noreturn]] void complain(const std::string& message) const {
    throw InputError{{file_}, fmt::format("{}; {}", message, kExpected)};
  }

  [[nodiscard]] const Json& member(const Json& object, const std::string& key) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end()) {
      complain(fmt::format("\"{}\" is missing", key));
    }
    return *found;
  }
  [[nodiscard]] const Json& member(const std::string& key) const { return member(json_, key); }

  [[nodiscard]] double number(const Json& value, const std::string& what) const {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      complain(fmt::format("{} has {} where a number belongs", what, value.dump()));
    }
    return value.get<double>();
  }
  [[nodiscard]] double above_zero(const Json& value, const std::string& what) const {
    const double found = number(value, what);
    if (!(found > 0)) {
      complain(fmt::format("{} is {}, which is not above 0", what, found));
    }
    return found;
  }

  /// @p count numbers
  [[nodiscard]] const Json& list(const Json& object, const std::string& key, std::size_t count) const {
    const Json& values = member(object, key);
    if (!values.is_array() || values.size() != count) {
      complain(fmt::format("\"{}\" has {} numbers, {} belong there", key, values.size(), count));
    }
    return values;
  }

 private:
  std::string file_;
  Json json_;
};

PolicyScale scale_in(const Reader& reader) {
  PolicyScale scale;
  const Json& features = reader.member("features");
  const Json& mean = reader.list(features, "mean", kScaledFeatures);
  const Json& deviation = reader.list(features, "deviation", kScaledFeatures);
  for (std::size_t f = 0; f < kScaledFeatures; ++f) {
    scale.features.mean[f] = reader.number(mean[f], "\"mean\"");
    scale.features.deviation[f] = reader.above_zero(deviation[f], "\"deviation\"");
  }
  scale.unit = Seconds{reader.above_zero(reader.member("unit_s"), "\"unit_s\"")};
  const Json& batch = reader.member("batch");
  constexpr std::uint64_t kMostSamples = 1'000'000'000'000;
  const std::uint64_t samples = batch.is_number_unsigned() ? batch.get<std::uint64_t>() : 0;
  if (samples == 0 || samples > kMostSamples) {
    reader.complain(fmt::format("\"batch\" is {}, which is no number of samples", batch.dump()));
  }
  scale.batch = static_cast<std::int64_t>(samples);
  return scale;
}

void read_into(const Reader& reader, const Json& parameters, const NamedParameter& named) {
  Matrix& value = named.parameter->value;
  const Json& entry = reader.member(parameters, named.name);
  const auto size = [&](const char* key) { return reader.number(reader.member(entry, key), key); };
  if (size("rows") != static_cast<double>(value.rows()) ||
      size("columns") != static_cast<double>(value.cols())) {
    reader.complain(fmt::format("\"{}\" is {} x {} numbers, in this method's networks it is {} x {}",
                                named.name, size("rows"), size("columns"), value.rows(), value.cols()));
  }
  const Json& values = reader.list(entry, "values", static_cast<std::size_t>(value.size()));
  for (Eigen::Index i = 0; i < value.size(); ++i) {
    const double number = reader.number(values[static_cast<std::size_t>(i)], named.name);
    value(i / value.cols(), i % value.cols()) = static_cast<double>(static_cast<float>(number));
  }
}

}  // namespace

std::string weights_json(PlacementPolicy& policy) {
  const PolicyScale& scale = policy.scale();
  std::vector<std::string> parameters;
  for (const NamedParameter& named : policy.parameters()) {
    parameters.push_back(text_of(named));
  }
  return fmt::format(
      "{{\n  \"format\": \"{}\",\n  \"method\": \"{}\",\n  \"batch\": {},\n  \"unit_s\": {},\n"
      "  \"features\": {{\"mean\": [{}], \"deviation\": [{}]}},\n  \"parameters\": {{\n{}\n  }}\n}}\n",
      kFormat, policy.method(), scale.batch, scale.unit / Seconds{1}, fmt::join(scale.features.mean, ", "),
      fmt::join(scale.features.deviation, ", "), fmt::join(parameters, ",\n"));
}

std::unique_ptr<PlacementPolicy> read_weights(const std::filesystem::path& path) {
  const Reader reader{path};
  const Json& method = reader.member("method");
  if (method != "autoshard" && method != "dreamshard") {
    reader.complain(
        fmt::format("\"method\" is {}, which is neither autoshard nor dreamshard", method.dump()));
  }
  auto policy = untrained_policy(method.get<std::string>(), scale_in(reader));
  const Json& parameters = reader.member("parameters");
  const std::vector<NamedParameter> expected = policy->parameters();
  for (const NamedParameter& named : expected) {
    read_into(reader, parameters, named);
  }
  if (parameters.size() != expected.size()) {
    reader.complain(fmt::format("\"parameters\" has {} members, this method's networks have {}",
                                parameters.size(), expected.size()));
  }
  return policy;
}

}  // namespace lockstep::sharding::learned
