#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// Microseconds as JSON writes them (`1694128201435418`, `4458676522690.655`), to the nanosecond; empty where
/// @p text is no such number or leaves the range.
[[nodiscard]] std::optional<Nanoseconds> nanoseconds_of(std::string_view microseconds);

/// A time, or a duration: beyond, sums of them leave 64 bits.
inline constexpr Nanoseconds kMostTime = 4'000'000'000'000'000'000;

/// One element of `traceEvents`, of whatever kind; fields that it lacks are as here.
struct KinetoEvent {
  char phase = 0;
  std::string category, name, tid;
  std::optional<Nanoseconds> start, duration;
  std::int64_t pid = -1, id = -1;
  std::string thread_name;  ///< args.name of metadata events
  std::int64_t stream = -1, device = -1, correlation = -1, external_id = -1, record_function_id = -1;
  std::int64_t sequence_number = -1, wait_on_stream = -1, wait_on_record = -1;
  double bytes = 0;
  std::string input_dims, input_types, concrete_inputs, sync_kind;
  bool has_stack = false;  ///< args has a call stack that is not empty
  bool has_communication = false;
  Communication communication;
};

/// Parses elements, one after the other, into the same event.
class EventParser {
 public:
  EventParser();
  ~EventParser();
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;

  /// @param element one JSON object; gets room behind it
  /// @return null: it is not JSON
  [[nodiscard]] const KinetoEvent* parse(std::string& element);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::kineto
