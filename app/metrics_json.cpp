#include "app/metrics_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/report.hpp"
#include "calibration/band.hpp"
#include "scenario/figures.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/straddling_groups.hpp"
#include "scenario/time_shares.hpp"
#include "scenario/trust.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

/// The keys and places that lead to the first inf or NaN of @p value, the last one first; empty: there is
/// none. Large machines have a hundred thousand links, so that paths are only written where they are needed.
std::vector<std::string> path_to_infinity(const Json& value) {
  std::vector<std::string> path;
  const auto leads_there = [&](const std::string& key, const Json& inner) {
    if (inner.is_number_float() && !std::isfinite(inner.get<double>())) {
      path = {key};
    } else if (inner.is_structured()) {
      path = path_to_infinity(inner);
      if (!path.empty()) {
        path.push_back(key);
      }
    }
    return !path.empty();
  };
  if (value.is_object()) {
    const auto& members = value.get_ref<const Json::object_t&>();
    (void)std::ranges::any_of(members, [&](const auto& it) { return leads_there(it.first, it.second); });
  } else if (value.is_array()) {
    const auto& rows = value.get_ref<const Json::array_t&>();
    for (std::size_t place = 0; place < rows.size() && path.empty(); ++place) {
      leads_there("", rows[place]);
      if (!path.empty()) {
        path.back() = std::to_string(place);
      }
    }
  }
  return path;
}

/// @param path keys and places, the outermost first
[[noreturn]] void refuse(const std::vector<std::string>& path) {
  throw std::invalid_argument{
      fmt::format("the result '{}' is no finite number: a quantity of the scenario is too small or too large "
                  "to work with",
                  fmt::join(path, "."))};
}

/// @throws std::invalid_argument for inf and NaN, which JSON cannot say
void require_finite(const Json& value) {
  std::vector<std::string> path = path_to_infinity(value);
  if (!path.empty()) {
    std::ranges::reverse(path);
    refuse(path);
  }
}

Json steps_of(const SimulationResult& result) {
  Json steps = Json::array();
  double before = 0;
  for (const double end : result.step_ends) {
    steps.push_back(end - before);
    before = end;
  }
  return steps;
}

Json activity_of(const Activity& activity, int steps) {
  Json of_rank;
  const double scale = 1.0 / steps;
  of_rank["gpu_busy_s"] = activity.busy() * scale;
  of_rank["compute_s"] = activity.compute * scale;
  of_rank["copy_s"] = activity.copy * scale;
  for (std::size_t kind = 0; kind < Activity::kKinds; ++kind) {
    if (activity.exposed_transfer[kind] + activity.exposed_waiting[kind] > 0) {
      Json& exposed = of_rank["exposed"][to_string(static_cast<CollectiveKind>(kind))];
      exposed["transfer_s"] = activity.exposed_transfer[kind] * scale;
      exposed["waiting_s"] = activity.exposed_waiting[kind] * scale;
    }
  }
  return of_rank;
}

Json ranks_of(const ResolvedScenario& resolved, const SimulationResult& result) {
  Json ranks = Json::array();
  for (const MeteredRank& metered : result.metered) {
    Json of_rank{{"rank", metered.rank}};
    of_rank.update(activity_of(metered.activity, resolved.job.steps));
    const RankResult& totals = result.ranks[metered.rank];
    const auto& names = resolved.job.programs[resolved.job.ranks[metered.rank].program]->streams;
    for (std::size_t stream = 0; stream < totals.streams.size(); ++stream) {
      const StreamTotals& of_stream = totals.streams[stream];
      of_rank["streams"][names[stream]] = {{"compute_s", of_stream.compute / resolved.job.steps},
                                           {"copy_s", of_stream.copy / resolved.job.steps},
                                           {"waiting_s", of_stream.waiting / resolved.job.steps},
                                           {"transfer_s", of_stream.transfer / resolved.job.steps}};
    }
    of_rank["host_blocked_s"] = totals.host_blocked / resolved.job.steps;
    ranks.push_back(std::move(of_rank));
  }
  return ranks;
}

/// Communication that no kernel hides, transfer and waiting, mean of the metered ranks.
double exposed_communication(const SimulationResult& result, int steps) {
  double sum = 0;
  for (const MeteredRank& rank : result.metered) {
    sum += rank.activity.busy() - rank.activity.compute - rank.activity.copy;
  }
  return sum / (static_cast<double>(result.metered.size()) * steps);
}

void add_figures(Json& json, const ResolvedScenario& resolved, const SimulationResult& result) {
  const Figures figures = figures_of(resolved, result);
  if (figures.samples_per_s) {
    json["samples_per_s"] = *figures.samples_per_s;
  }
  if (figures.tokens_per_s) {
    json["tokens_per_s"] = *figures.tokens_per_s;
  }
  if (figures.mfu) {
    json["mfu"] = *figures.mfu;
  }
  if (figures.cost_per_million) {
    json[figures.tokens_per_s ? "cost_per_million_tokens" : "cost_per_million_samples"] =
        *figures.cost_per_million;
  }
}

Json shares_of(const SecondsByProvenance& seconds, double whole) {
  Json shares;
  for (const auto& [provenance, name] : names_of(Provenance{})) {
    shares[name] = whole > 0 ? seconds[static_cast<std::size_t>(provenance)] / whole : 0;
  }
  return shares;
}

void add_trust(Json& json, const ResolvedScenario& resolved, const SimulationResult& result) {
  const StepBand band = step_band(resolved, result);
  json["step_time_band"] = {{"faster", around(band).faster}, {"slower", around(band).slower}};
  json["band_along"] = result.critical_path.empty() ? "parts of a mean rank" : "critical path";
  json["rests_on"] = shares_of(band.by_provenance, band.seconds);
  for (const FamilyBand& family : band.families) {
    json["band_by_family"].push_back({{"family", family.family},
                                      {"seconds", family.seconds},
                                      {"half_width_s", family.half_width},
                                      {"rests_on", shares_of(family.by_provenance, family.seconds)}});
  }
  const OutOfRange out_of_range = kernels_out_of_range(resolved);
  json["kernel_time_out_of_range"] = out_of_range.share;
  json["kernel_time_beyond_networks"] = out_of_range.fell_back;
  for (const GpuSpec& gpu : resolved.gpu_models) {
    json["gpus"].push_back({{"name", gpu.name}, {"provenance", name_of(provenance_of(gpu))}});
  }
  json["host"] = resolved.host.name;
  json["collective_profile"] = resolved.profile.name;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void append_quoted(std::string& text, std::string_view name) {
  const bool is_plain = std::ranges::all_of(
      name, [](char letter) { return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\'; });
  if (is_plain) {
    text.append(1, '"').append(name).append(1, '"');
  } else {
    text += text_of(Json(name));
  }
}

/// The text of a number, kept for the next one: links that are alike follow each other.
class NumberText {
 public:
  const std::string& of(double number) {
    if (text_.empty() || number != number_) {
      number_ = number;
      text_ = text_of(Json(number));
    }
    return text_;
  }

 private:
  double number_ = 0;
  std::string text_;
};

/// @throws std::invalid_argument as require_finite() of the member `links`
void require_finite(std::span<const LinkUtilisation> links) {
  for (std::size_t place = 0; place < links.size(); ++place) {
    const LinkUtilisation& link = links[place];
    for (const auto& [key, number] :
         {std::pair{"bytes_per_step", link.bytes_per_step}, std::pair{"utilisation", link.utilisation}}) {
      if (!std::isfinite(number)) {
        refuse({"links", std::to_string(place), key});
      }
    }
  }
}

Json memory_of(const MemoryBreakdown& memory, Bytes capacity) {
  Json json{{"bytes", memory.total().in_base_units()}, {"capacity", capacity.in_base_units()}};
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    json["parts"][std::string{name_of(static_cast<MemoryUse>(use))}] = memory.bytes[use];
  }
  return json;
}

Json gains(const Sensitivity& sensitivity) {
  Json rows = Json::array();
  for (const ResourceGain& gain : sensitivity) {
    rows.push_back({{"resource", gain.resource}, {"step_time_s", gain.step_time}, {"gain", gain.gain}});
  }
  return rows;
}

/// The members that stand before `links`.
Json figures_of_step(const ResolvedScenario& resolved, const SimulationResult& result) {
  Json json;
  json["name"] = resolved.scenario.name;
  json["step_time_s"] = result.mean_step().in_base_units();
  add_trust(json, resolved, result);
  json["steps"] = resolved.job.steps;
  json["step_times_s"] = steps_of(result);
  json["ranks"] = resolved.job.ranks.size();
  add_figures(json, resolved, result);
  json["operations"] = result.operations;
  json["launches"] = result.launches;
  json["simulated_ranks"] = result.simulated_ranks;
  json["wall_s"] = result.wall_seconds;
  json["gpu_busy_s"] = gpu_busy_per_step(result, resolved.job.steps);
  json["exposed_communication_s"] = exposed_communication(result, resolved.job.steps);
  json["fingerprint"] = fmt::format("{:016x}", result.fingerprint);
  json["bottleneck"] = bottleneck(resolved, result);
  for (const TimeShare& share : time_shares(resolved, result)) {
    json["time_s"][name_of(share)] = share.seconds;
  }
  for (const CriticalShare& share : result.critical_path) {
    json["critical_path"].push_back({{"what", share.what},
                                     {"seconds", share.seconds},
                                     {"pieces", share.pieces},
                                     {"bottleneck", share.bottleneck},
                                     {"provenance", name_of(provenance_of(resolved, share))}});
  }
  if (auto sentences = straddling_groups(resolved); !sentences.empty()) {
    json["straddling_groups"] = std::move(sentences);
  }
  return json;
}

/// The members that stand behind `links`.
Json figures_of_ranks(const ResolvedScenario& resolved, const SimulationResult& result,
                      const Sensitivity& sensitivity) {
  Json json;
  if (const auto fullest = fullest_rank(resolved)) {
    json["memory"] = memory_of(fullest->memory, fullest->capacity);
    json["memory"]["nominal"] = fullest->nominal.in_base_units();
    json["memory"]["tight"] = fullest->is_tight();
    json["memory"]["rank"] = fullest->rank;
  }
  if (const auto fullest = fullest_host(resolved)) {
    json["host_memory"] = memory_of(fullest->memory, fullest->capacity);
    json["host_memory"]["node"] = fullest->node;
  }
  if (!sensitivity.empty()) {
    json["sensitivity"] = gains(sensitivity);
  }
  json["metered_ranks"] = ranks_of(resolved, result);
  return json;
}

}  // namespace

RunMetrics::RunMetrics(const ResolvedScenario& resolved, const SimulationResult& result,
                       const Sensitivity& sensitivity)
    : fabric_{resolved.fabric}, links_{link_utilisation(resolved, result)} {
  const Json before = figures_of_step(resolved, result);
  const Json behind = figures_of_ranks(resolved, result, sensitivity);
  require_finite(before);
  require_finite(behind);
  require_finite(links_);
  before_ = text_of(before);
  before_.resize(before_.size() - 2);  // the end of the line, and the brace
  behind_ = text_of(behind);
}

/// Rows of 100,000 ranks' 600,000 links are too many for a tree of JSON values.
void RunMetrics::write(std::span<const LinkUtilisation> links,
                       const std::function<void(std::string_view)>& take) const {
  constexpr std::size_t kPiece = 1U << 20U;
  std::string text = before_;
  NumberText bytes;
  NumberText utilisation;
  for (const LinkUtilisation& link : links) {
    text +=
        &link == links.data() ? ",\n  \"links\": [\n    {\n      \"name\": " : ",\n    {\n      \"name\": ";
    append_quoted(text, fabric_.name_of(link.link));
    text.append(",\n      \"bytes_per_step\": ").append(bytes.of(link.bytes_per_step));
    text.append(",\n      \"utilisation\": ").append(utilisation.of(link.utilisation)).append("\n    }");
    if (text.size() > kPiece) {
      take(text);
      text.clear();
    }
  }
  take(text.append(links.empty() ? "," : "\n  ],").append(behind_, 1).append("\n"));
}

void RunMetrics::write(const std::function<void(std::string_view)>& take) const {
  write(links_, take);
}

std::string RunMetrics::of_page() const {
  std::string text;
  write(std::span{links_}.first(std::min(kLinksOfPage, links_.size())),
        [&text](std::string_view piece) { text += piece; });
  return text;
}

std::string metrics_json(const ResolvedScenario& resolved, const SimulationResult& result,
                         const Sensitivity& sensitivity) {
  std::string text;
  RunMetrics{resolved, result, sensitivity}.write([&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace lockstep
