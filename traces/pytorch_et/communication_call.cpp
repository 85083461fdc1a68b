#include "traces/pytorch_et/communication_call.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace lockstep::pytorch_et {
namespace {

using nlohmann::json;

constexpr Oddity kBrokenGroups{"process groups that cannot be read",
                               "of ## process_group:init ##: no JSON list of groups; left out",
                               Severity::Warning};

CommunicationCall from_attributes(const WrittenNode& written) {
  CommunicationCall call;
  call.collective = written.text("collective_name");
  call.type = written.text("dtype");
  call.group = written.text("pg_name");
  call.group_description = written.text("pg_desc");
  call.in_elements = written.number("in_msg_nelems");
  call.out_elements = written.number("out_msg_nelems");
  call.group_size = written.number("pg_size");
  call.rank_start = written.number("global_rank_start");
  call.rank_stride = written.number("global_rank_stride");
  call.in_splits = written.text("in_split_size");
  call.out_splits = written.text("out_split_size");
  return call;
}

/// Elements of all tensors of some arguments, and the type of the first. -1: there are no tensors.
std::int64_t elements_of(std::span<const Argument> arguments, const ExecutionTrace& trace,
                         std::string& type) {
  std::int64_t sum = -1;
  for (const Argument& argument : arguments) {
    for (const TensorArgument& tensor : trace.tensors_of(argument)) {
      const std::int64_t so_far = std::max<std::int64_t>(sum, 0);
      const bool fits =
          tensor.elements >= 0 && tensor.elements <= std::numeric_limits<std::int64_t>::max() - so_far;
      sum = fits ? so_far + tensor.elements : so_far;
      type = type.empty() ? trace.names.text(tensor.type) : type;
    }
  }
  return sum;
}

/// The group, third of the arguments that are no tensors before the collective's name: its number, or
/// ("name", "description").
void take_group(const Argument& argument, const ExecutionTrace& trace, CommunicationCall& call) {
  const std::string& text = trace.names.text(argument.text);
  NestedList list;
  if (list.parse(text)) {
    const auto parts = list.children(0);
    call.group = parts.empty() ? "" : plain_text(list.at(parts[0]).text);
    call.group_description = parts.size() > 1 ? plain_text(list.at(parts[1]).text) : "";
  } else {
    call.group = plain_text(text);
  }
}

std::optional<CommunicationCall> from_arguments(const Node& node, const ExecutionTrace& trace) {
  const std::span<const Argument> inputs = trace.inputs(node);
  std::size_t name = 0;
  while (name < inputs.size() && trace.names.text(inputs[name].type) != "String") {
    ++name;
  }
  if (name == inputs.size()) {
    return std::nullopt;
  }
  CommunicationCall call;
  call.from_arguments = true;
  call.collective = plain_text(trace.names.text(inputs[name].text));
  if (call.collective == "wait") {
    return std::nullopt;
  }
  call.in_elements = elements_of(inputs, trace, call.type);
  call.out_elements = elements_of(trace.outputs(node), trace, call.type);
  if (name >= 2) {
    take_group(inputs[name - 2], trace, call);
  }
  if (name + 2 < inputs.size()) {
    call.in_splits = trace.names.text(inputs[name + 1].text);
    call.out_splits = trace.names.text(inputs[name + 2].text);
  }
  if (name + 3 < inputs.size()) {
    call.group_size = whole_number(trace.names.text(inputs.back().text)).value_or(-1);
  }
  return call;
}

std::string text_at(const json& object, const char* key) {
  const auto member = object.find(key);
  return member != object.end() && member->is_string() ? member->get<std::string>() : std::string{};
}

std::vector<std::uint32_t> ranks_of(const json& group) {
  std::vector<std::uint32_t> ranks;
  if (const auto list = group.find("ranks"); list != group.end() && list->is_array()) {
    for (const json& rank : *list) {
      if (rank.is_number_unsigned() &&
          rank.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max()) {
        ranks.push_back(rank.get<std::uint32_t>());
      }
    }
  }
  return ranks;
}

}  // namespace

std::optional<CommunicationCall> communication_call(const WrittenNode& written, const Node& node,
                                                    const ExecutionTrace& trace) {
  if (const std::string name = written.text("collective_name"); !name.empty()) {
    return name == "wait" ? std::nullopt : std::optional{from_attributes(written)};
  }
  return written.name == "record_param_comms" ? from_arguments(node, trace) : std::nullopt;
}

std::vector<InitialGroup> initial_groups(std::string_view text, ImportReport& report) {
  std::vector<InitialGroup> groups;
  const json list = json::parse(text, nullptr, false);
  if (!list.is_array()) {
    report.add(kBrokenGroups, text);
    return groups;
  }
  for (const json& entry : list) {
    if (!entry.is_object()) {
      report.add(kBrokenGroups, text);
      continue;
    }
    InitialGroup made;
    made.group.name = text_at(entry, "pg_name");
    made.group.description = text_at(entry, "pg_desc");
    made.group.ranks = ranks_of(entry);
    if (const auto size = entry.find("group_size"); size != entry.end() && size->is_number_integer()) {
      made.group.size = size->get<std::int64_t>();
    }
    if (const auto backend = entry.find("backend_id"); backend != entry.end()) {
      made.backend = backend->dump();
    }
    groups.push_back(std::move(made));
  }
  return groups;
}

}  // namespace lockstep::pytorch_et
