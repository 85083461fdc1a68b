#include "traces/chakra/converted_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "traces/event_place.hpp"
#include "traces/json_elements.hpp"
#include "traces/pytorch_et/communication_call.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::chakra {
namespace {

using nlohmann::json;

constexpr Oddity kBeyondNode{"unknown member of a Chakra node", "of no variant that is known; left out"};

constexpr std::array<std::string_view, 8> kTypeNames{"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                     "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                     "COMM_RECV_NODE", "COMM_COLL_NODE"};

/// A number, a Boolean, or the text of a number.
std::optional<double> number_in(const json& value) {
  if (value.is_number()) {
    return value.get<double>();
  }
  if (value.is_boolean()) {
    return value.get<bool>() ? 1 : 0;
  }
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size()) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> id_in(const json& value) {
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>();
  }
  const auto number = number_in(value);
  constexpr double kMost = 9e15;  // doubles count by ones
  return number && *number >= 0 && *number < kMost ? std::optional{static_cast<std::uint64_t>(*number)}
                                                   : std::nullopt;
}

/// Problems of one node, without its place.
struct NodeProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void take_ids(const std::string& key, const json& list, std::vector<std::uint64_t>& ids) {
  for (const json& value : list.is_array() ? list : json::array({list})) {
    const auto id = id_in(value);
    if (!id) {
      throw NodeProblem{fmt::format("\"{}\" lists {}, which is no id", key, value.dump())};
    }
    ids.push_back(*id);
  }
}

NodeType type_in(const json& value) {
  if (value.is_string()) {
    const auto name = std::ranges::find(kTypeNames, value.get_ref<const std::string&>());
    if (name != kTypeNames.end()) {
      return static_cast<NodeType>(name - kTypeNames.begin());
    }
  }
  const auto number = id_in(value);
  return number && *number < kTypeNames.size() ? static_cast<NodeType>(*number) : NodeType::Invalid;
}

/// `{"name": "comm_size", "int64Val": "1024"}`
void take_json_attribute(const json& attribute, ConvertedNode& node) {
  if (!attribute.is_object() || !attribute.contains("name") || !attribute["name"].is_string()) {
    throw NodeProblem{fmt::format("{} is no attribute", attribute.dump())};
  }
  for (const auto& [key, value] : attribute.items()) {
    if (key.ends_with("Val")) {
      const std::string text = value.is_string() ? value.get<std::string>() : "";
      take_attribute(attribute["name"].get_ref<const std::string&>(),
                     key == "stringVal" ? std::nullopt : number_in(value), text, node);
    }
  }
}

void take_microseconds(const std::string& key, const json& value, ConvertedNode& node) {
  const auto number = number_in(value);
  constexpr double kLongest = 1e15;  // us: 30 years
  if (!number || !(*number >= 0 && *number < kLongest)) {
    throw NodeProblem{fmt::format("\"{}\" is {}: a duration in microseconds is expected", key, value.dump())};
  }
  node.microseconds = *number;
}

/// Members of both variants; their names do not overlap.
/// @return whether it is known
bool take_json_member(const std::string& key, const json& value, ConvertedNode& node) {
  constexpr std::array<std::string_view, 9> kWithoutBearing{"comm_priority",   "tensor_loc",   "outputs",
                                                            "startTimeMicros", "involved_dim", "version",
                                                            "inputs",          "id",           "Id"};
  if (key == "Name" || key == "name") {
    node.name = value.is_string() ? value.get<std::string>() : value.dump();
  } else if (key == "NodeType" || key == "type") {
    node.type = type_in(value);
  } else if (key == "data_deps" || key == "dataDeps") {
    take_ids(key, value, node.data);
  } else if (key == "ctrlDeps") {
    take_ids(key, value, node.control);
  } else if (key == "runtime" || key == "durationMicros") {
    take_microseconds(key, value, node);
  } else if (key == "attr") {
    for (const json& attribute : value) {
      take_json_attribute(attribute, node);
    }
  } else if (key == "is_cpu_op" || key == "comm_type" || key == "comm_size" || key == "pg_name" ||
             key == "tid" || key == "stream" || key == "comm_src" || key == "comm_dst" || key == "comm_tag" ||
             key == "num_ops" || key == "tensor_size") {
    take_attribute(key, number_in(value), value.is_string() ? value.get<std::string>() : "", node);
  } else {
    return std::ranges::find(kWithoutBearing, key) != kWithoutBearing.end();
  }
  return true;
}

class JsonReader {
 public:
  explicit JsonReader(const std::filesystem::path& path) { trace_.file = path.string(); }

  ConvertedTrace read() && {
    JsonElements elements{"workload_graph", trace_.file,
                          [this](std::string& text, std::uint64_t line) { add(text, line); },
                          [](std::string_view, std::string&, std::uint64_t) {}};
    std::optional<bool> is_graph;
    for_each_block(trace_.file, [&](std::string_view block) {
      if (!is_graph) {
        is_graph = begins_as_graph(block);
        elements.feed(*is_graph ? "" : "[");  // objects one after the other are a list without brackets
      }
      elements.feed(block);
    });
    if (is_graph && !*is_graph) {
      elements.feed("]");
    }
    elements.finish();
    if (!elements.found_array()) {
      throw InputError{{trace_.file}, "no Chakra trace as JSON: it has no \"workload_graph\""};
    }
    return std::move(trace_);
  }

 private:
  static std::string first_key(std::string_view block) {
    const std::size_t open = block.find('"');
    const std::size_t close = open == std::string_view::npos ? open : block.find('"', open + 1);
    return close == std::string_view::npos ? "" : std::string{block.substr(open + 1, close - open - 1)};
  }

  [[nodiscard]] bool begins_as_graph(std::string_view block) const {
    const std::string first = first_key(block);
    reject_others(first);
    return first == "workload_graph" || first == "workload_name" || first == "ngpus" || first == "soc";
  }

  void reject_others(const std::string& key) const {
    if (key == "schema" || key == "nodes") {
      throw InputError{
          {trace_.file},
          "a PyTorch execution trace, which has no durations: Chakra's linker and converter make "
          "a Chakra trace of it and the profile of the same rank"};
    }
    if (key == "schemaVersion" || key == "traceEvents" || key == "deviceProperties" ||
        key == "distributedInfo") {
      throw InputError{{trace_.file}, "a profile (Kineto, Chrome trace), not a Chakra trace"};
    }
  }

  void add(const std::string& text, std::uint64_t line) {
    EventPlace here{line, ++nodes_};
    const json object = json::parse(text, nullptr, false);
    if (!object.is_object()) {
      throw event_error(trace_.file, here, "a node that is no JSON object");
    }
    const auto name = object.find("name");
    here.name = name != object.end() && name->is_string() ? name->get_ref<const std::string&>() : "";
    try {
      add(object);
    } catch (const NodeProblem& problem) {
      throw event_error(trace_.file, here, problem.what());
    } catch (const json::exception& problem) {
      throw event_error(trace_.file, here, fmt::format("a node that cannot be read: {}", problem.what()));
    }
  }

  void add(const json& object) {
    const auto id = object.find(object.contains("Id") ? "Id" : "id");
    const bool is_metadata_object = !object.contains("name") && !object.contains("Name");
    if (is_metadata_object && id == object.end()) {  // of the jsonizer: comes first
      take_metadata(object);
      return;
    }
    ConvertedNode node;
    const auto number = id == object.end() ? std::optional<std::uint64_t>{0} : id_in(*id);  // 0 is left out
    if (!number) {
      throw NodeProblem{fmt::format("a node whose id is {}: a whole number is expected", id->dump())};
    }
    node.id = *number;
    for (const auto& [key, value] : object.items()) {
      if (!take_json_member(key, value, node)) {
        trace_.report.add(kBeyondNode, key);
      }
    }
    if (node.name == pytorch_et::kGroupsNode) {
      const auto inputs = object.find("inputs");
      const bool has_values = inputs != object.end() && inputs->is_object() && inputs->contains("values");
      take_initial_groups(node, has_values ? (*inputs)["values"].get<std::string>() : "", trace_);
    }
    trace_.nodes.push_back(std::move(node));
  }

  void take_metadata(const json& object) {
    if (const auto list = object.find("attr"); list != object.end() && list->is_array()) {
      for (const json& attribute : *list) {
        if (attribute.value("name", "") == "schema") {
          trace_.schema = attribute.value("stringVal", "");
        }
      }
    }
  }

  ConvertedTrace trace_;
  std::uint64_t nodes_ = 0;  // so far
};

}  // namespace

ConvertedTrace read_converted_json(const std::filesystem::path& path) {
  return JsonReader{path}.read();
}

}  // namespace lockstep::chakra
