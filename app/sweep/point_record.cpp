#include "app/sweep/point_record.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "app/manifest.hpp"
#include "base/file.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSignalled = 128;

std::optional<double> figure(const Json& metrics, const char* name) {
  const auto found = metrics.find(name);
  return found != metrics.end() && found->is_number() ? std::optional{found->get<double>()} : std::nullopt;
}

/// The members of a document's objects that stand in no list. Every link of a large machine is an entry of a
/// list, and a row needs none of them.
class OutsideLists final : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(Json::number_integer_t value) override { return put(value); }
  bool number_unsigned(Json::number_unsigned_t value) override { return put(value); }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t& value) override { return put(std::move(value)); }
  bool start_object(std::size_t /*members*/) override {
    if (lists_ == 0) {
      open_.push_back(&place(Json::object()));
    }
    return true;
  }
  bool key(std::string& name) override {
    if (lists_ == 0) {
      key_ = std::move(name);
    }
    return true;
  }
  bool end_object() override {
    if (lists_ == 0) {
      open_.pop_back();
    }
    return true;
  }
  bool start_array(std::size_t /*entries*/) override {
    put(Json::array());
    ++lists_;
    return true;
  }
  bool end_array() override {
    --lists_;
    return true;
  }
  bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*problem*/) override {
    return false;
  }

 private:
  template <class Value>
  bool put(Value&& value) {
    if (lists_ == 0) {
      place(Json(std::forward<Value>(value)));
    }
    return true;
  }

  Json& place(Json value) {
    Json& where = open_.empty() ? root_ : (*open_.back())[key_];
    where = std::move(value);
    return where;
  }

  Json root_;
  std::vector<Json*> open_;  ///< objects that have not ended, the outermost first
  std::string key_;
  std::size_t lists_ = 0;  ///< that have not ended
};

/// The members of @p text outside of lists; discarded where it is no JSON.
Json outside_lists(const std::string& text) {
  OutsideLists members;
  return Json::sax_parse(text, &members) ? members.take() : Json(Json::value_t::discarded);
}

/// Two processes write the same bytes, so the time that one took is left out.
/// @param metrics metrics.json, a member a line
std::string without_wall_time(std::string metrics) {
  constexpr std::string_view kMember = "\n  \"wall_s\": ";
  if (const std::size_t at = metrics.find(kMember); at != std::string::npos) {
    metrics.erase(at, metrics.find('\n', at + 1) - at);
  }
  return metrics;
}

/// Appends a member to @p object, the text of one. @param value indented text that ends its line
void append_member(std::string& object, const std::string& name, std::string_view value) {
  value.remove_suffix(1);
  object.resize(object.size() - 2);  // the end of the line, and the brace
  object.append(",\n  \"").append(name).append("\": ");
  for (std::size_t end = 0; (end = value.find('\n')) != std::string_view::npos;) {
    object.append(value.substr(0, end + 1)).append("  ");
    value.remove_prefix(end + 1);
  }
  object.append(value).append("\n}");
}

void read_metrics(const Json& metrics, SweepRow& row) {
  row.step_time = figure(metrics, "step_time_s");
  if (const auto band = metrics.find("step_time_band"); band != metrics.end() && band->is_object()) {
    row.band_faster = figure(*band, "faster");
    row.band_slower = figure(*band, "slower");
  }
  row.ranks = figure(metrics, "ranks");
  row.samples_per_s = figure(metrics, "samples_per_s");
  row.tokens_per_s = figure(metrics, "tokens_per_s");
  row.mfu = figure(metrics, "mfu");
  if (const auto memory = metrics.find("memory"); memory != metrics.end() && memory->is_object()) {
    row.memory_peak = figure(*memory, "bytes");
  }
  row.cost = figure(metrics, "cost_per_million_tokens");
  row.cost_is_of_tokens = row.cost.has_value();
  if (!row.cost) {
    row.cost = figure(metrics, "cost_per_million_samples");
  }
  row.bottleneck = metrics.value("bottleneck", "");
}

bool has_text(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string();
}

/// Whole, and of the types that write_record() gives it: nobody has edited or torn it.
bool is_record(const Json& json, const std::string& key) {
  if (!json.is_object() || !has_text(json, "key") || json["key"] != key || !json.contains("exit_code") ||
      !json["exit_code"].is_number_integer()) {
    return false;
  }
  if (json["exit_code"] != kExitOk) {
    return has_text(json, "message");
  }
  const auto metrics = json.find("metrics");
  return has_text(json, "effective") && metrics != json.end() && metrics->is_object() &&
         figure(*metrics, "step_time_s") && figure(*metrics, "ranks") && has_text(*metrics, "bottleneck");
}

/// The configuration beside the record of a point that is done is the one that it was made of.
bool has_effective(const Json& json, const std::filesystem::path& effective) {
  std::error_code absent;
  return json["exit_code"] != kExitOk ||
         (std::filesystem::exists(effective, absent) && entry_of(effective).fingerprint == json["effective"]);
}

}  // namespace

bool is_final(int exit_code) {
  return exit_code != kExitBug && exit_code < kSignalled;
}

std::filesystem::path points_folder(const std::filesystem::path& folder) {
  return folder / "points";
}

std::filesystem::path record_path(const std::filesystem::path& folder, const std::string& key) {
  return points_folder(folder) / (key + ".json");
}

std::filesystem::path effective_path(const std::filesystem::path& folder, const std::string& key) {
  return points_folder(folder) / (key + ".yaml");
}

void write_record(const std::filesystem::path& folder, const PointRecord& record) {
  Json json{{"key", record.key}, {"exit_code", record.outcome.exit_code}};
  if (record.outcome.exit_code == kExitOk) {
    write_whole_file(effective_path(folder, record.key), record.effective);
    json["effective"] = entry_of(effective_path(folder, record.key)).fingerprint;
  } else {
    json["message"] = record.outcome.message;
  }
  std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  if (record.outcome.exit_code == kExitOk) {
    append_member(text, "metrics", without_wall_time(record.metrics));
  }
  write_whole_file(record_path(folder, record.key), text + "\n");
}

std::optional<SweepRow> read_row(const std::filesystem::path& folder, const std::string& key) {
  std::error_code absent;
  const auto path = record_path(folder, key);
  if (!std::filesystem::exists(path, absent)) {
    return std::nullopt;
  }
  const Json json = outside_lists(read_own_file(path));
  if (!is_record(json, key) || !has_effective(json, effective_path(folder, key))) {
    return std::nullopt;
  }
  SweepRow row;
  row.key = key;
  row.outcome = {json["exit_code"].get<int>(), json.value("message", "")};
  if (row.is_done()) {
    read_metrics(json["metrics"], row);
  }
  return row;
}

}  // namespace lockstep
