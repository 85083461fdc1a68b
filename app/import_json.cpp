#include "app/import_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "import/scenario_text.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(importing::Remark::Kind kind) {
  switch (kind) {
    case importing::Remark::Kind::Conflict:
      return "conflict";
    case importing::Remark::Kind::NotModelled:
      return "not_modelled";
    case importing::Remark::Kind::Unknown:
      return "unknown";
    case importing::Remark::Kind::Unsaid:
      return "unsaid";
    case importing::Remark::Kind::NoEffect:
      break;
  }
  return "no_effect";
}

std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json oddities(const ImportReport& report) {
  Json rows = Json::array();
  for (const ImportReport::Row& row : report.rows()) {
    rows.push_back({{"kind", row.oddity.kind},
                    {"meaning", row.oddity.meaning},
                    {"severity", to_string(row.oddity.severity)},
                    {"count", row.count},
                    {"example", row.example}});
  }
  return rows;
}

Json json_of(const replay::RankRecording& rank) {
  const kineto::RecordedTrace& trace = rank.trace;
  return {{"file", trace.file},
          {"kind", "profile"},
          {"rank", trace.rank < 0 ? Json() : Json(trace.rank)},
          {"gpu", trace.gpu_names.empty() ? Json() : Json(trace.gpu_names.front())},
          {"events", trace.events},
          {"operators", trace.operators.size()},
          {"calls", trace.calls.size()},
          {"gpu_work", trace.work.size()},
          {"streams", rank.links.lanes.size()},
          {"communication_kernels", rank.communication.size()},
          {"oddities", oddities(trace.report)}};
}

Json json_of(const pytorch_et::ExecutionTrace& trace) {
  return {{"file", trace.file},
          {"kind", "execution_trace"},
          {"schema", trace.schema},
          {"nodes", trace.nodes.size()},
          {"tensors", trace.tensors.size()},
          {"collectives", trace.communications.size()},
          {"process_groups", trace.groups.size()},
          {"oddities", oddities(trace.report)}};
}

Json json_of(const chakra::TraceSummary& trace) {
  Json collectives = Json::object();
  for (const auto& [kind, row] : trace.collectives) {
    collectives[kind] = {{"count", row.count}, {"bytes", row.bytes}};
  }
  return {{"file", trace.file},
          {"kind", "chakra"},
          {"of", trace.kind},
          {"schema", trace.schema},
          {"nodes", trace.nodes},
          {"host_nodes", trace.host},
          {"threads", trace.threads},
          {"kernels", trace.kernels},
          {"kernel_s", trace.gpu_seconds},
          {"streams", trace.streams},
          {"left_out", trace.other},
          {"collectives", std::move(collectives)},
          {"oddities", oddities(trace.report)}};
}

Json json_of(const pipeline::Timeline& timeline) {
  return {{"file", timeline.file},
          {"kind", "pipeline_timeline"},
          {"workers", timeline.workers.size()},
          {"stages", timeline.stages},
          {"steps", timeline.steps.size()},
          {"operations", timeline.operations.size()},
          {"lanes", timeline.lanes.size()},
          {"oddities", oddities(timeline.report)}};
}

}  // namespace

std::string draft_json(const importing::Draft& draft, const std::string& launch) {
  Json remarks = Json::array();
  for (const importing::Remark& remark : draft.remarks()) {
    remarks.push_back({{"kind", name_of(remark.kind)},
                       {"file", remark.at.file},
                       {"line", remark.at.line},
                       {"key", remark.key},
                       {"why", remark.why}});
  }
  Json all{{"read", draft.read}, {"scenario", importing::text_of(draft)}, {"remarks", std::move(remarks)}};
  if (!launch.empty()) {
    all["launch"] = launch;
  }
  return written(all);
}

std::string traces_json(const ImportedTraces& traces) {
  Json rows = Json::array();
  for (const replay::RankRecording* profile : traces.profiles()) {
    rows.push_back(json_of(*profile));
  }
  for (const auto& trace : traces.execution_traces) {
    rows.push_back(json_of(trace));
  }
  for (const auto& trace : traces.chakra) {
    rows.push_back(json_of(trace));
  }
  for (const auto& timeline : traces.pipelines) {
    rows.push_back(json_of(timeline));
  }
  const Json all{{"traces", std::move(rows)}, {"no_traces", traces.others}, {"damaged", traces.damaged}};
  return written(all);
}

}  // namespace lockstep
