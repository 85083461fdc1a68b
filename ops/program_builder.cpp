#include "ops/program_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>

#include "ops/module_operators.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostThreadsAndStreams = std::size_t{std::numeric_limits<std::uint8_t>::max()} + 1;

/// Position of @p name in @p names, appended when new.
template <class Names, class NameOf, class Append>
std::size_t place_in(const Names& names, NameOf name_of, std::string_view name, Append append) {
  const auto known =
      std::find_if(names.begin(), names.end(), [&](const auto& entry) { return name_of(entry) == name; });
  const auto index = static_cast<std::size_t>(known - names.begin());
  if (known == names.end()) {
    append();
  }
  return index;
}

std::uint32_t numbered(std::map<std::string, std::uint32_t, std::less<>>& ids, std::string_view name) {
  const auto known = ids.find(name);
  if (known != ids.end()) {
    return known->second;
  }
  const auto id = static_cast<std::uint32_t>(ids.size());
  ids.emplace(name, id);
  return id;
}

}  // namespace

RuntimeCall runtime_call_of(const KernelCall& kernel) {
  if (std::holds_alternative<Memcpy>(kernel.work)) {
    return RuntimeCall::MemcpyAsync;
  }
  if (std::holds_alternative<Memset>(kernel.work)) {
    return RuntimeCall::MemsetAsync;
  }
  return RuntimeCall::LaunchKernel;
}

ProgramBuilder::ProgramBuilder(HostOverheads host) : host_{std::move(host)} {
  thread("main");
}

ThreadId ProgramBuilder::thread(std::string_view name) {
  const std::size_t index = place_in(
      program_.threads, [](const Program::Thread& t) -> const std::string& { return t.name; }, name,
      [&] {
        if (program_.threads.size() == kMostThreadsAndStreams) {
          throw std::length_error{"a program has at most 256 threads"};
        }
        program_.threads.push_back({std::string{name}, {}});
        open_.emplace_back();
      });
  return static_cast<ThreadId>(index);
}

StreamId ProgramBuilder::stream(std::string_view name) {
  const std::size_t index = place_in(
      program_.streams, [](const std::string& s) -> const std::string& { return s; }, name,
      [&] {
        if (program_.streams.size() == kMostThreadsAndStreams) {
          throw std::length_error{"a program has at most 256 streams"};
        }
        program_.streams.emplace_back(name);
      });
  return static_cast<StreamId>(index);
}

GroupId ProgramBuilder::group(std::string_view name) {
  return static_cast<GroupId>(place_in(
      program_.groups, [](const std::string& g) -> const std::string& { return g; }, name,
      [&] { program_.groups.emplace_back(name); }));
}

EventId ProgramBuilder::event(std::string_view name) {
  const auto known = events_.find(name);
  return known != events_.end() ? known->second : events_.emplace(name, event()).first->second;
}
EventId ProgramBuilder::event() {
  return event_count_++;
}
FlagId ProgramBuilder::flag(std::string_view name) {
  return numbered(flags_, name);
}
std::uint32_t ProgramBuilder::name(std::string_view text) {
  return numbered(name_ids_, text);
}

void ProgramBuilder::on(ThreadId thread) {
  if (thread >= program_.threads.size()) {
    throw std::logic_error{fmt::format("no thread {} in this program", thread)};
  }
  current_ = thread;
}

ProgramBuilder::Scope* ProgramBuilder::charging_scope() {
  for (Scope& scope : open_[current_]) {
    if (scope.charges) {
      return &scope;
    }
  }
  return nullptr;
}

void ProgramBuilder::begin(std::string_view operator_name) {
  Scope scope{.is_operator = true, .charges = charging_scope() == nullptr, .overhead = {}, .launches = 0};
  if (scope.charges) {
    scope.overhead = host_.of(operator_name);
  }
  const bool in_modules =
      begins_a_module(operator_name) && program_.threads[current_].name != kAutogradThread;
  const Seconds gap = !scope.charges ? Seconds{0}
                      : in_modules   ? host_.between_modules()
                                     : host_.between_operators;
  open_[current_].push_back(scope);
  append(Opcode::RangeBegin, name(operator_name), gap.in_base_units(), 0);
}

void ProgramBuilder::end() {
  close(true);
}

void ProgramBuilder::begin_range(std::string_view range_name) {
  open_[current_].push_back(Scope{});
  append(Opcode::RangeBegin, name(range_name), 0, 0);
}

void ProgramBuilder::end_range() {
  close(false);
}

void ProgramBuilder::end_scope(bool is_operator) noexcept {
  if (std::uncaught_exceptions() > 0) {
    return;
  }
  try {
    close(is_operator);
  } catch (const std::exception&) {
    is_misnested_ = true;
  }
}

void ProgramBuilder::close(bool expect_operator) {
  std::vector<Scope>& open = open_[current_];
  const std::string& thread_name = program_.threads[current_].name;
  if (open.empty()) {
    throw std::logic_error{fmt::format("thread '{}' closes a range, but none is open", thread_name)};
  }
  const Scope scope = open.back();
  if (scope.is_operator != expect_operator) {
    throw std::logic_error{fmt::format("thread '{}' closes {} while the innermost open range is {}",
                                       thread_name, expect_operator ? "an operator" : "a range",
                                       expect_operator ? "not an operator" : "an operator")};
  }
  open.pop_back();
  Seconds lead;
  if (scope.charges) {
    lead = scope.launches == 0 ? scope.overhead.without_launch : scope.overhead.after_last_launch;
  }
  append(Opcode::RangeEnd, 0, lead.in_base_units(), 0);
}

void ProgramBuilder::host_work(std::string_view work_name, Seconds duration) {
  append(Opcode::HostWork, name(work_name), 0, duration.in_base_units());
}

Seconds ProgramBuilder::gap_before_launch() {
  Scope* const scope = charging_scope();
  if (scope == nullptr) {
    return Seconds{0};
  }
  return scope->launches++ == 0 ? scope->overhead.before_first_launch : scope->overhead.between_launches;
}

void ProgramBuilder::append_launch(Opcode op, StreamId stream, std::uint32_t operand, RuntimeCall call,
                                   bool per_rank) {
  const double lead = gap_before_launch().in_base_units();
  append(op, operand, lead, host_.duration_of(call).in_base_units(), stream, per_rank);
}

void ProgramBuilder::launch(StreamId stream, const KernelCall& kernel) {
  append_launch(Opcode::Launch, stream, intern(kernel), runtime_call_of(kernel), false);
}

void ProgramBuilder::launch_with_last(StreamId stream, const KernelCall& kernel) {
  append(Opcode::Launch, intern(kernel), 0, 0, stream);
}

void ProgramBuilder::collective(StreamId stream, const CollectiveCall& call) {
  append_launch(Opcode::Collective, stream, intern(call), RuntimeCall::LaunchCollective, false);
}

std::uint32_t ProgramBuilder::launch_per_rank(StreamId stream, RuntimeCall call) {
  append_launch(Opcode::Launch, stream, kernel_slots_, call, true);
  return kernel_slots_++;
}

std::uint32_t ProgramBuilder::collective_per_rank(StreamId stream) {
  append_launch(Opcode::Collective, stream, collective_slots_, RuntimeCall::LaunchCollective, true);
  return collective_slots_++;
}

std::size_t ProgramBuilder::position() const {
  return program_.threads[current_].instructions.size();
}

void ProgramBuilder::repeat(std::size_t first, std::size_t last, std::size_t behind) {
  if (charging_scope() != nullptr) {
    throw std::logic_error{"a passage cannot be repeated within an operator"};
  }
  std::vector<Instruction>& instructions = program_.threads[current_].instructions;
  const std::size_t end = instructions.size();
  if (end + last - first > instructions.capacity()) {
    instructions.reserve(end + last - first + behind);
  }
  instructions.resize(end + last - first);
  std::copy_n(instructions.begin() + static_cast<std::ptrdiff_t>(first), last - first,
              instructions.begin() + static_cast<std::ptrdiff_t>(end));
}

std::uint32_t ProgramBuilder::intern(const KernelCall& kernel) {
  return kernels_.intern(kernel);
}
std::uint32_t ProgramBuilder::intern(const CollectiveCall& call) {
  return collectives_.intern(call);
}

void ProgramBuilder::record(StreamId stream, EventId event) {
  append(Opcode::RecordEvent, event, 0, host_.duration_of(RuntimeCall::EventRecord).in_base_units(), stream);
}

void ProgramBuilder::carry(EventId event) {
  std::vector<std::uint32_t>& carried = program_.carried_events;
  const auto place = std::lower_bound(carried.begin(), carried.end(), event);
  if (place == carried.end() || *place != event) {
    carried.insert(place, event);
  }
}

void ProgramBuilder::stream_wait(StreamId stream, EventId event) {
  append(Opcode::StreamWait, event, 0, host_.duration_of(RuntimeCall::StreamWaitEvent).in_base_units(),
         stream);
}

void ProgramBuilder::append_wait(Opcode op, StreamId stream, std::uint32_t operand) {
  const Seconds lead = gap_before_launch() + host_.duration_of(RuntimeCall::Synchronize);
  append(op, operand, lead.in_base_units(), host_.synchronize_return.in_base_units(), stream);
}

void ProgramBuilder::wait_event(EventId event) {
  append_wait(Opcode::WaitEvent, 0, event);
}
void ProgramBuilder::wait_stream(StreamId stream) {
  append_wait(Opcode::WaitStream, stream, 0);
}
void ProgramBuilder::wait_device() {
  append_wait(Opcode::WaitDevice, 0, 0);
}
void ProgramBuilder::post(FlagId flag) {
  append(Opcode::Post, flag, 0, 0);
}
void ProgramBuilder::await(FlagId flag, Seconds wake_up) {
  append(Opcode::Await, flag, 0, wake_up.in_base_units());
}

void ProgramBuilder::append(Opcode op, std::uint32_t operand, double lead, double cost, StreamId stream,
                            bool per_rank) {
  program_.threads[current_].instructions.push_back({.op = op,
                                                     .stream = stream,
                                                     .per_rank = per_rank,
                                                     .reserved = 0,
                                                     .operand = operand,
                                                     .lead = static_cast<float>(lead),
                                                     .cost = static_cast<float>(cost)});
}

Program ProgramBuilder::build() && {
  if (is_misnested_) {
    throw std::logic_error{"a scope closed a range that it had not opened"};
  }
  for (std::size_t thread = 0; thread < open_.size(); ++thread) {
    if (!open_[thread].empty()) {
      throw std::logic_error{fmt::format("thread '{}' ends with {} open ranges",
                                         program_.threads[thread].name, open_[thread].size())};
    }
  }
  program_.names.resize(name_ids_.size());
  for (const auto& [text, id] : name_ids_) {
    program_.names[id] = text;
  }
  program_.kernels = std::move(kernels_).take();
  program_.collectives = std::move(collectives_).take();
  program_.events = event_count_;
  program_.flags = static_cast<std::uint32_t>(flags_.size());
  return std::move(program_);
}

}  // namespace lockstep
