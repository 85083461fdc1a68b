#include "traces/pytorch_et/trace_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "traces/event_place.hpp"
#include "traces/json_elements.hpp"
#include "traces/json_outline.hpp"
#include "traces/pytorch_et/communication_call.hpp"
#include "traces/pytorch_et/node_parser.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::pytorch_et {
namespace {

constexpr Oddity kUnknownSchema{"unknown schema", "read as the schemas that are known, 1.0.1 to 1.1.1",
                                Severity::Guess};
constexpr Oddity kUnknownMember{"unknown member of a node", "of no schema that is known; left out"};
constexpr Oddity kLinked{"times of a linked trace",
                         "another tool joined this trace with a profile (ET+); its times are left out: link "
                         "the profile itself",
                         Severity::Warning};
constexpr Oddity kNoParent{"node whose parent is missing", "its caller is not known", Severity::Warning};
constexpr Oddity kDerivedCommunication{
    "collective without attributes",
    "schemas before 1.1.0: name, sizes and splits are read off the arguments of record_param_comms",
    Severity::Guess};
constexpr Oddity kWaits{"waits for collectives", "record_param_comms of a wait: no collective of its own"};
constexpr Oddity kNoRfIds{"operators without a record function id",
                          "rf_id 0: a profile can only be linked by order"};

constexpr std::array<std::string_view, 6> kSchemas{"1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.1.0", "1.1.1"};
constexpr std::array<std::string_view, 7> kLinkedMembers{
    "inclusive_dur", "exclusive_dur", "ts", "inter_thread_dep", "sync_dep", "cat", "stream"};

template <class Number>
Number clamped(std::int64_t number) {
  return static_cast<Number>(std::clamp<std::int64_t>(number, std::numeric_limits<Number>::min(),
                                                      std::numeric_limits<Number>::max()));
}

class Reader {
 public:
  explicit Reader(std::string file_name) : arguments_{trace_} { trace_.file = std::move(file_name); }

  /// Nothing: the file is of another kind.
  std::optional<ExecutionTrace> read() && {
    JsonElements elements{
        "nodes", trace_.file, [this](std::string& text, std::uint64_t line) { add(text, line); },
        [this](std::string_view key, std::string& text, std::uint64_t /*line*/) { member(key, text); }};
    for_each_block(trace_.file, [&](std::string_view block) { elements.feed(block); });
    elements.finish();
    if (!elements.found_array() || trace_.schema.empty()) {
      return std::nullopt;
    }
    finish();
    return std::move(trace_);
  }

 private:
  [[noreturn]] void reject(std::uint64_t line, const std::string& name, const std::string& why) const {
    throw event_error(trace_.file, {line, nodes_, name}, why);
  }

  void member(std::string_view key, std::string_view text) {
    const auto number = [&] { return whole_number(text.substr(0, text.find_last_not_of(" \n\r\t") + 1)); };
    if (key == "schema" || key == "time") {
      (key == "schema" ? trace_.schema : trace_.time) =
          plain_text(text.substr(0, text.find_last_not_of(" \n\r\t") + 1));
    } else if (key == "pid") {
      trace_.pid = number().value_or(-1);
    } else if (key == "start_ts") {
      trace_.start = number().value_or(-1);
    } else if (key == "finish_ts") {
      trace_.finish = number().value_or(-1);
    }
  }

  void add(std::string& text, std::uint64_t line) {
    ++nodes_;
    const WrittenNode* const written = parser_.parse(text);
    if (written == nullptr) {
      reject(line, "", "a node that is no JSON object of a PyTorch execution trace");
    }
    const auto id = whole_number(written->id);
    if (!id) {
      reject(line, written->name,
             fmt::format("a node ('{}') without a whole number as its \"id\"", written->name));
    }
    Node node = node_of(*written, *id);
    take_communication(*written, node);
    if (written->name == kGroupsNode) {
      take_groups(node);
    }
    for (const std::string& key : written->unknown) {
      const bool is_linked = std::ranges::find(kLinkedMembers, key) != kLinkedMembers.end();
      trace_.report.add(is_linked ? kLinked : kUnknownMember, key);
    }
    trace_.nodes.push_back(node);
  }

  Node node_of(const WrittenNode& written, std::int64_t id) {
    Node node;
    node.id = id;
    node.parent = whole_number(written.parent).value_or(-1);
    node.name = trace_.names.number(written.name);
    node.rf_id = written.number("rf_id");
    node.sequence = written.number("seq_id");
    node.forward_parent = written.number("fw_parent");
    node.scope = clamped<std::int32_t>(written.number("scope"));
    node.thread = clamped<std::int32_t>(written.number("tid"));
    node.forward_thread = clamped<std::int32_t>(written.number("fw_tid"));
    node.schema = trace_.names.number(written.text("op_schema"));
    node.kernel_backend = trace_.names.number(written.text("kernel_backend"));
    node.kernel_file = trace_.names.number(written.text("kernel_file"));
    node.tensor_range = trace_.names.number(written.text("tensor_range"));
    node.first_input = static_cast<std::uint32_t>(trace_.arguments.size());
    node.inputs = arguments_.read(written.inputs, written.name);
    node.first_output = static_cast<std::uint32_t>(trace_.arguments.size());
    node.outputs = arguments_.read(written.outputs, written.name);
    return node;
  }

  void take_communication(const WrittenNode& written, Node& node) {
    auto call = communication_call(written, node, trace_);
    if (!call) {
      if (written.name == "record_param_comms") {
        trace_.report.add(kWaits, "");
      }
      return;
    }
    if (call->from_arguments) {
      trace_.report.add(kDerivedCommunication, call->collective);
    }
    node.communication = static_cast<std::int32_t>(trace_.communications.size());
    trace_.communications.push_back(std::move(*call));
  }

  void take_groups(const Node& node) {
    for (const Argument& argument : trace_.inputs(node)) {
      for (InitialGroup& made : initial_groups(plain_text(trace_.names.text(argument.text)), trace_.report)) {
        if (!made.backend.empty()) {
          group_of_backend_[made.backend] = made.group;
        }
        trace_.groups.push_back(std::move(made.group));
      }
    }
  }

  void finish() {
    const std::string_view schema = std::string_view{trace_.schema}.substr(0, trace_.schema.find('-'));
    if (std::ranges::find(kSchemas, schema) == kSchemas.end()) {
      trace_.report.add(kUnknownSchema, trace_.schema);
    }
    std::ranges::stable_sort(trace_.nodes, {}, &Node::id);
    const auto twice = std::ranges::adjacent_find(trace_.nodes, {}, &Node::id);
    if (twice != trace_.nodes.end()) {
      throw InputError{{trace_.file}, fmt::format("two nodes have the id {}", twice->id)};
    }
    name_groups();
    for (const Node& node : trace_.nodes) {
      const std::string& name = trace_.names.text(node.name);
      if (!is_root(name) && trace_.index_of(node.parent) < 0) {
        trace_.report.add(kNoParent, name);
      }
      if (!is_root(name) && node.rf_id <= 0) {
        trace_.report.add(kNoRfIds, name);
      }
    }
  }

  /// Collectives that name their group by its backend get its name.
  void name_groups() {
    for (CommunicationCall& call : trace_.communications) {
      if (const auto known = group_of_backend_.find(call.group);
          call.from_arguments && known != group_of_backend_.end()) {
        call.group = known->second.name;
        call.group_description = known->second.description;
      }
    }
  }

  std::uint64_t nodes_ = 0;  // so far
  ExecutionTrace trace_;
  ArgumentReader arguments_;
  NodeParser parser_;
  std::map<std::string, kineto::ProcessGroupEntry> group_of_backend_;
};

}  // namespace

std::optional<ExecutionTrace> read_if_execution_trace(const std::string& file_name) {
  return Reader{file_name}.read();
}

ExecutionTrace read_execution_trace(const std::string& file_name) {
  std::optional<ExecutionTrace> trace = read_if_execution_trace(file_name);
  if (!trace) {
    throw InputError{{file_name},
                     fmt::format("not a PyTorch execution trace: it has no \"nodes\" and \"schema\", as "
                                 "torch.profiler.ExecutionTraceObserver writes them, but is {}",
                                 to_text(outline_of(file_name)))};
  }
  return std::move(*trace);
}

}  // namespace lockstep::pytorch_et
