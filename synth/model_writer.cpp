#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "ops/data_type_name.hpp"
#include "ops/kernel_fields.hpp"
#include "synth/model_file.hpp"
#include "synth/reference_names.hpp"
#include "traces/chakra/program_trace.hpp"

namespace lockstep::synth {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Monomial& monomial) {
  Json made{{"factor", monomial.factor}};
  if (!monomial.powers.empty()) made["powers"] = monomial.powers;
  if (monomial.with_parameters) made["with_parameters"] = true;
  return made;
}

Json json_of(const KernelEntry& kernel) {
  Json made{{"class", kernel.call.name},
            {"kind", kind_of(kernel.call.work)},
            {"type", data_type_name(kernel.call.type)}};
  Json fields = Json::object();
  for (const KernelField& field : fields_of(kernel.call.work)) fields[field.key] = field.value;
  made["numbers"] = std::move(fields);
  Json sizes = Json::array();
  for (const Monomial& size : kernel.sizes) sizes.push_back(json_of(size));
  if (!sizes.empty()) made["sizes"] = std::move(sizes);
  if (kernel.residual != 0) made["residual"] = kernel.residual;
  if (kernel.spread != 0) made["spread"] = kernel.spread;
  made["support"] = kernel.support;
  return made;
}

Json json_of(const CallEntry& entry) {
  const CollectiveCall& call = entry.call;
  Json made{{"kind", to_string(call.kind)},
            {"type", data_type_name(call.type)},
            {"group", call.group},
            {"bytes", call.size.in_base_units()},
            {"elements", json_of(entry.elements)},
            {"support", entry.support}};
  if (call.peer != 0) made["peer"] = call.peer;
  if (call.batched) made["batched"] = true;
  if (call.sm_limit != std::numeric_limits<int>::max()) made["sm_limit"] = call.sm_limit;
  if (!call.send_bytes.empty()) made["send_bytes"] = call.send_bytes;
  if (call.recorded) made["recorded"] = call.recorded->in_base_units();
  return made;
}

/// [op, thread, stream, source, operand, lead, cost, spread, reference, per rank], without the zeros behind.
Json json_of(const Item& item) {
  if (!item.body.empty()) {
    Json body = Json::array();
    for (const Item& within : item.body) body.push_back(json_of(within));
    return {{"times", item.count}, {"of", std::move(body)}};
  }
  const Token& token = item.token;
  Json made = Json::array({chakra::name_of_opcode(token.op), token.thread, token.stream, token.source,
                           token.operand, static_cast<double>(token.lead), static_cast<double>(token.cost),
                           static_cast<double>(item.spread), static_cast<int>(token.reference),
                           token.per_rank ? 1 : 0});
  while (made.size() > 1 && made.back() == 0) made.erase(made.size() - 1);
  return made;
}

Json json_of(const Template& tmpl) {
  Json threads = Json::array();
  for (const Program::Thread& thread : tmpl.program.threads) threads.push_back(thread.name);
  Json kernels = Json::array();
  for (const KernelEntry& kernel : tmpl.kernels) kernels.push_back(json_of(kernel));
  Json calls = Json::array();
  for (const CallEntry& call : tmpl.calls) calls.push_back(json_of(call));
  Json body = Json::array();
  for (const Item& item : tmpl.body) body.push_back(json_of(item));
  Json buckets = Json::array();
  for (const Bucket& bucket : tmpl.buckets) {
    Json tokens = Json::array();
    for (const Token& token : bucket.tokens) tokens.push_back(json_of(Item{token, 0, 1, {}}));
    buckets.push_back({{"item", bucket.item}, {"place", bucket.place}, {"of", std::move(tokens)}});
  }
  return {{"threads", std::move(threads)},
          {"streams", tmpl.program.streams},
          {"groups", tmpl.program.groups},
          {"ranges", tmpl.program.names},
          {"carried_events", tmpl.program.carried_events.size()},
          {"kernels", std::move(kernels)},
          {"collectives", std::move(calls)},
          {"body", std::move(body)},
          {"buckets", std::move(buckets)}};
}

Json json_of(const JobModel& job) {
  Json groups = Json::array();
  for (const ProcessGroup& group : job.groups) groups.push_back(group.ranks);
  Json ranks = Json::array();
  for (const RankAssignment& rank : job.ranks) {
    Json made{{"template", rank.program}, {"groups", rank.groups}};
    if (!rank.kernel_slots.empty()) made["kernel_slots"] = rank.kernel_slots;
    if (!rank.collective_slots.empty()) made["collective_slots"] = rank.collective_slots;
    ranks.push_back(std::move(made));
  }
  Json templates = Json::array();
  for (const Template& tmpl : job.templates) templates.push_back(json_of(tmpl));
  return {{"symbols", job.symbols},
          {"unclear", job.unclear},
          {"gpu", job.gpu},
          {"cluster", job.cluster},
          {"has_launches", job.has_launches},
          {"interference", job.interferes},
          {"steps", job.steps},
          {"tokens", job.tokens},
          {"groups", std::move(groups)},
          {"ranks", std::move(ranks)},
          {"templates", std::move(templates)}};
}

}  // namespace

std::string to_json(const Model& model) {
  Json jobs = Json::array();
  for (const JobModel& job : model.jobs) jobs.push_back(json_of(job));
  const Json all{{"schema", kModelSchema},
                 {"family", model.family},
                 {"min_support", model.min_support},
                 {"spreads", model.spreads},
                 {"jobs", std::move(jobs)}};
  return all.dump() + "\n";
}

}  // namespace lockstep::synth
