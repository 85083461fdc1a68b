#include "traces/chakra/converted_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "traces/chakra/collective_kinds.hpp"
#include "traces/chakra/messages.hpp"

namespace lockstep::chakra {
namespace {

constexpr std::uint32_t kStart = ~0U;  // launched before the first operator of the first thread
constexpr std::size_t kMostStreams = 256;
constexpr double kMicrosecond = 1e-6;  // s

class ProgramBuilder {
 public:
  ProgramBuilder(const ConvertedTrace& trace, const ConvertedGraph& graph,
                 const std::function<std::uint32_t(const std::string&)>& members)
      : trace_{trace}, graph_{graph}, members_{members} {}

  ConvertedProgram build() && {
    find_threads();
    find_launchers();
    find_streams();
    find_waits();
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
      write_thread(thread);
    }
    made_.program.flags = static_cast<std::uint32_t>(flags_.size());
    made_.program.events = static_cast<std::uint32_t>(events_.size());
    return std::move(made_);
  }

 private:
  using Entry = ConvertedGraph::Entry;

  [[nodiscard]] const ConvertedNode& node(std::uint32_t place) const {
    return trace_.nodes[graph_.entries[place].node];
  }
  [[nodiscard]] bool is_host(std::uint32_t place) const {
    return graph_.entries[place].work == ConvertedWork::Host;
  }
  [[nodiscard]] std::uint32_t thread_of(std::uint32_t host) const {
    return host == kStart ? 0 : thread_[host];
  }

  void find_threads() {
    std::map<double, std::uint32_t> numbers;
    thread_.assign(graph_.entries.size(), 0);
    for (std::uint32_t place = 0; place < graph_.entries.size(); ++place) {
      if (is_host(place)) {
        const double tid = node(place).thread.value_or(0);
        const auto [entry, fresh] = numbers.try_emplace(tid, static_cast<std::uint32_t>(threads_.size()));
        if (fresh) {
          threads_.emplace_back();
          made_.program.threads.push_back({fmt::format("thread {}", tid), {}});
        }
        host_tids_.insert(tid);
        thread_[place] = entry->second;
        threads_[entry->second].push_back(place);
      }
    }
    if (threads_.empty()) {
      threads_.emplace_back();
      made_.program.threads.push_back({"main", {}});
    }
  }

  /// Finds the last of the host operators that GPU work waits for, itself or through other GPU work.
  void find_launchers() {
    launcher_.assign(graph_.entries.size(), kStart);
    for (std::uint32_t place = 0; place < graph_.entries.size(); ++place) {
      if (is_host(place)) {
        launcher_[place] = place;
        continue;
      }
      for (const std::uint32_t needed : graph_.entries[place].needed) {
        const std::uint32_t host = launcher_[needed];
        if (host != kStart && (launcher_[place] == kStart || host > launcher_[place])) {
          launcher_[place] = host;
        }
      }
      launched_by_[launcher_[place]].push_back(place);
    }
  }

  void find_streams() {
    stream_.assign(graph_.entries.size(), 0);
    std::map<std::pair<int, double>, std::uint8_t> numbers;
    for (std::uint32_t place = 0; place < graph_.entries.size(); ++place) {
      if (is_host(place)) {
        continue;
      }
      const ConvertedNode& work = node(place);
      std::string name = work.type == NodeType::Compute ? "compute" : "communication";
      std::pair<int, double> key{work.type == NodeType::Compute ? 0 : 1, 0};
      const std::optional<double> number = work.stream                                         ? work.stream
                                           : work.thread && !host_tids_.contains(*work.thread) ? work.thread
                                                                                               : std::nullopt;
      if (number) {
        key = {2, *number};
        name = fmt::format("stream {}", *number);
      }
      if (graph_.entries[place].work == ConvertedWork::Message) {
        const TraceTables::Call call = *message_of(work);
        const bool sends = call.kind == CollectiveKind::Send;
        key = {sends ? 3 : 4, peer_of(call)};
        name = fmt::format("{} {}", sends ? "send to" : "receive from", peer_of(call));
      }
      const auto [entry, fresh] =
          numbers.try_emplace(key, static_cast<std::uint8_t>(made_.program.streams.size()));
      if (fresh && made_.program.streams.size() == kMostStreams) {
        throw InputError{{trace_.file}, fmt::format("more than {} streams", kMostStreams)};
      }
      if (fresh) {
        made_.program.streams.push_back(std::move(name));
      }
      stream_[place] = entry->second;
    }
  }

  /// Finds operators that have to post, and GPU work that has to record an event.
  void find_waits() {
    awaited_.resize(graph_.entries.size());
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
      std::map<std::uint32_t, std::uint32_t> seen;  // by other thread: the latest operator awaited, + 1
      if (thread == 0) {
        find_waits_of_launches(kStart, seen);
      }
      for (const std::uint32_t place : threads_[thread]) {
        find_waits_of(place, thread, seen);
        find_waits_of_launches(place, seen);
      }
    }
  }

  void find_waits_of_launches(std::uint32_t host, std::map<std::uint32_t, std::uint32_t>& seen) {
    if (const auto launched = launched_by_.find(host); launched != launched_by_.end()) {
      for (const std::uint32_t place : launched->second) {
        find_waits_of(place, thread_of(host), seen);
      }
    }
  }

  void find_waits_of(std::uint32_t place, std::uint32_t thread,
                     std::map<std::uint32_t, std::uint32_t>& seen) {
    for (const std::uint32_t needed : graph_.entries[place].needed) {
      const std::uint32_t host = launcher_[needed];
      const std::uint32_t other = thread_of(host);
      const std::uint32_t count = host == kStart ? 0 : host + 1;
      const auto known = seen.find(other);
      if (other != thread && (known == seen.end() || known->second < count)) {
        seen[other] = count;
        awaited_[place].push_back(host);
        flags_.try_emplace(host, static_cast<std::uint32_t>(flags_.size()));
      }
      if (!is_host(needed) && (is_host(place) || stream_[needed] != stream_[place])) {
        events_.try_emplace(needed, static_cast<std::uint32_t>(events_.size()));
      }
    }
  }

  void write_thread(std::uint32_t thread) {
    code_ = &made_.program.threads[thread].instructions;
    if (thread == 0) {
      write_launches(kStart);
    }
    for (const std::uint32_t place : threads_[thread]) {
      write_waits(place);
      for (const std::uint32_t needed : graph_.entries[place].needed) {
        if (!is_host(needed)) {
          put(Opcode::WaitEvent, events_.at(needed));
        }
      }
      put(Opcode::HostWork, number_of(made_.program.names, names_, node(place).name));
      code_->back().cost = static_cast<float>(kMicrosecond * node(place).microseconds);
      write_launches(place);
    }
    put(Opcode::WaitDevice, 0);
  }

  void write_waits(std::uint32_t place) {
    for (const std::uint32_t host : awaited_[place]) {
      put(Opcode::Await, flags_.at(host));
    }
  }

  /// Writes the launches of @p host, and its post, which says that all that is under way.
  void write_launches(std::uint32_t host) {
    if (const auto launched = launched_by_.find(host); launched != launched_by_.end()) {
      for (const std::uint32_t place : launched->second) {
        write_waits(place);
        write_launch(place);
      }
    }
    if (const auto flag = flags_.find(host); flag != flags_.end()) {
      put(Opcode::Post, flag->second);
    }
  }

  void write_launch(std::uint32_t place) {
    const std::uint8_t stream = stream_[place];
    for (const std::uint32_t needed : graph_.entries[place].needed) {
      if (!is_host(needed) && stream_[needed] != stream) {
        put(Opcode::StreamWait, events_.at(needed), stream);
      }
    }
    if (graph_.entries[place].work == ConvertedWork::Message) {
      put(Opcode::Collective, message(*message_of(node(place))), stream);
    } else if (graph_.entries[place].work == ConvertedWork::Collective) {
      put(Opcode::Collective, collective(node(place)), stream);
    } else {
      put(Opcode::Launch, kernel(node(place)), stream);
    }
    if (const auto event = events_.find(place); event != events_.end()) {
      put(Opcode::RecordEvent, event->second, stream);
    }
  }

  void put(Opcode op, std::uint32_t operand, std::uint8_t stream = 0) {
    Instruction& made = code_->emplace_back();
    made.op = op;
    made.stream = stream;
    made.operand = operand;
  }

  static std::uint32_t number_of(std::vector<std::string>& list, std::map<std::string, std::uint32_t>& known,
                                 const std::string& text) {
    const auto [entry, fresh] = known.try_emplace(text, static_cast<std::uint32_t>(list.size()));
    if (fresh) {
      list.push_back(text);
    }
    return entry->second;
  }

  std::uint32_t kernel(const ConvertedNode& work) {
    const auto [entry, fresh] = kernels_.try_emplace(
        {work.name, work.microseconds}, static_cast<std::uint32_t>(made_.program.kernels.size()));
    if (fresh) {
      made_.program.kernels.push_back(
          {work.name, DataType::FP32, Timed{Seconds{kMicrosecond * work.microseconds}}});
    }
    return entry->second;
  }

  /// Through a group of the two ranks and the tag: its messages meet in their order.
  std::uint32_t message(const TraceTables::Call& said) {
    const std::uint32_t peer = peer_of(said);
    const auto [low, high] = std::minmax(trace_.rank, peer);
    const std::string group = fmt::format("ranks {} and {}, tag {}", low, high, said.tag);
    CollectiveCall call;
    call.kind = said.kind;
    call.size = Bytes{said.size};
    call.peer = peer == low ? 0 : 1;
    call.group = number_of(made_.groups, groups_, group);
    if (made_.groups.size() > made_.program.groups.size()) {
      made_.program.groups.push_back(group);
      made_.message_groups[group] = {low, high};
    }
    return number_of(call);
  }

  std::uint32_t collective(const ConvertedNode& work) {
    const std::string& group = work.group == "0" ? std::string{} : work.group;
    CollectiveCall call;
    call.kind = *collective_kind(*work.comm_type);
    call.group = number_of(made_.groups, groups_, group);
    // comm_size of an all-gather is what a rank puts in; ours is what all have in the end.
    const double parts = call.kind == CollectiveKind::AllGather ? members_(group) : 1;
    call.size = Bytes{call.kind == CollectiveKind::Barrier ? 0 : *work.comm_size * parts};
    if (made_.groups.size() > made_.program.groups.size()) {
      made_.program.groups.push_back(group.empty() ? "world" : group);
    }
    return number_of(call);
  }

  std::uint32_t number_of(const CollectiveCall& call) {
    const auto [entry, fresh] =
        collectives_.try_emplace({call.kind, call.group, call.size.in_base_units()},
                                 static_cast<std::uint32_t>(made_.program.collectives.size()));
    if (fresh) {
      made_.program.collectives.push_back(call);
    }
    return entry->second;
  }

  const ConvertedTrace& trace_;
  const ConvertedGraph& graph_;
  const std::function<std::uint32_t(const std::string&)>& members_;
  ConvertedProgram made_;
  std::vector<Instruction>* code_ = nullptr;         // of the thread that is being written
  std::vector<std::vector<std::uint32_t>> threads_;  // places of host operators
  std::set<double> host_tids_;
  std::vector<std::uint32_t> thread_;    // by place of a host operator
  std::vector<std::uint32_t> launcher_;  // by place; an operator's own
  std::vector<std::uint8_t> stream_;     // by place of GPU work
  std::map<std::uint32_t, std::vector<std::uint32_t>> launched_by_;
  std::vector<std::vector<std::uint32_t>> awaited_;  // by place: operators of other threads
  std::map<std::uint32_t, std::uint32_t> flags_;     // by operator that posts
  std::map<std::uint32_t, std::uint32_t> events_;    // by GPU work that records
  std::map<std::string, std::uint32_t> names_, groups_;
  std::map<std::pair<std::string, double>, std::uint32_t> kernels_;
  std::map<std::tuple<CollectiveKind, std::uint32_t, double>, std::uint32_t> collectives_;
};

}  // namespace

ConvertedProgram program_of(const ConvertedTrace& trace, const ConvertedGraph& graph,
                            const std::function<std::uint32_t(const std::string&)>& members) {
  return ProgramBuilder{trace, graph, members}.build();
}

}  // namespace lockstep::chakra
