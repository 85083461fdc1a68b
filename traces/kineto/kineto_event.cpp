#include "traces/kineto/kineto_event.hpp"

#include <simdjson.h>

#include <charconv>

namespace lockstep::kineto {
namespace {

namespace json = simdjson::ondemand;

constexpr std::size_t kMostDecimals = 3;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t' ||
                           text.back() == '\r' || text.back() == '"')) {
    text.remove_suffix(1);
  }
  while (!text.empty() && text.front() == '"') {
    text.remove_prefix(1);
  }
  return text;
}

std::int64_t integer_of(json::value& value) {
  std::string_view token = trimmed(value.raw_json_token());
  std::int64_t number = -1;
  std::from_chars(token.data(), token.data() + token.size(), number);
  return number;
}

double number_of(json::value& value) {
  const std::string_view token = trimmed(value.raw_json_token());
  double number = 0;
  std::from_chars(token.data(), token.data() + token.size(), number);
  return number;
}

void take_text(json::value& value, std::string& text) {
  std::string_view view;
  if (value.get_string().get(view) == simdjson::SUCCESS) {
    text.assign(view);
  }
}

/// The text of any value as it is written; of a string its contents.
void take_raw(json::value& value, std::string& text) {
  json::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) {
    return;
  }
  if (type == json::json_type::string) {
    take_text(value, text);
    return;
  }
  std::string_view raw;
  if (type == json::json_type::array) {
    json::array array;
    if (value.get_array().get(array) == simdjson::SUCCESS && array.raw_json().get(raw) == simdjson::SUCCESS) {
      text.assign(raw);
    }
    return;
  }
  text.assign(trimmed(value.raw_json_token()));
}

void take_communication(std::string_view key, json::value& value, KinetoEvent& event) {
  Communication& call = event.communication;
  if (key == "Collective name") {
    event.has_communication = true;
    take_text(value, call.collective);
  } else if (key == "dtype") {
    take_text(value, call.type);
  } else if (key == "Process Group Name") {
    take_text(value, call.group);
  } else if (key == "Process Group Description") {
    take_text(value, call.group_description);
  } else if (key == "Process Group Ranks") {
    take_raw(value, call.ranks);
  } else if (key == "In msg nelems") {
    call.in_elements = integer_of(value);
  } else if (key == "Out msg nelems") {
    call.out_elements = integer_of(value);
  } else if (key == "Group size") {
    call.group_size = integer_of(value);
  } else if (key == "Src Rank" || key == "Dst Rank") {
    call.peer = integer_of(value);
  } else if (key == "In split size") {
    take_raw(value, call.in_splits);
  } else if (key == "Out split size") {
    take_raw(value, call.out_splits);
  }
}

void take_argument(std::string_view key, json::value& value, KinetoEvent& event) {
  if (key == "External id" || key == "external id") {
    event.external_id = integer_of(value);
  } else if (key == "correlation") {
    event.correlation = integer_of(value);
  } else if (key == "stream") {
    event.stream = integer_of(value);
  } else if (key == "device") {
    event.device = integer_of(value);
  } else if (key == "bytes") {
    event.bytes = number_of(value);
  } else if (key == "Record function id") {
    event.record_function_id = integer_of(value);
  } else if (key == "Sequence number") {
    event.sequence_number = integer_of(value);
  } else if (key == "Input Dims") {
    take_raw(value, event.input_dims);
  } else if (key == "Input type") {
    take_raw(value, event.input_types);
  } else if (key == "Concrete Inputs") {
    take_raw(value, event.concrete_inputs);
  } else if (key == "Call stack") {
    std::string_view stack;
    event.has_stack = value.get_string().get(stack) == simdjson::SUCCESS && !stack.empty();
  } else if (key == "cuda_sync_kind") {
    take_text(value, event.sync_kind);
  } else if (key == "wait_on_stream") {
    event.wait_on_stream = integer_of(value);
  } else if (key == "wait_on_cuda_event_record_corr_id") {
    event.wait_on_record = integer_of(value);
  } else if (key == "name") {
    take_text(value, event.thread_name);
  } else {
    take_communication(key, value, event);
  }
}

simdjson::error_code take_arguments(json::value& value, KinetoEvent& event) {
  json::object arguments;
  if (value.get_object().get(arguments) != simdjson::SUCCESS) {
    return simdjson::SUCCESS;  // nothing that we know
  }
  for (auto field : arguments) {
    std::string_view key;
    json::value member;
    if (const auto error = field.unescaped_key().get(key)) return error;
    if (const auto error = field.value().get(member)) return error;
    take_argument(key, member, event);
  }
  return simdjson::SUCCESS;
}

simdjson::error_code take_member(std::string_view key, json::value& value, KinetoEvent& event) {
  if (key == "ph") {
    std::string_view phase;
    if (const auto error = value.get_string().get(phase)) return error;
    event.phase = phase.empty() ? '\0' : phase.front();
  } else if (key == "cat") {
    take_text(value, event.category);
  } else if (key == "name") {
    take_text(value, event.name);
  } else if (key == "ts") {
    event.start = nanoseconds_of(trimmed(value.raw_json_token()));
  } else if (key == "dur") {
    event.duration = nanoseconds_of(trimmed(value.raw_json_token()));
  } else if (key == "pid") {
    event.pid = integer_of(value);
  } else if (key == "id") {
    event.id = integer_of(value);
  } else if (key == "tid") {
    take_raw(value, event.tid);
  } else if (key == "args") {
    return take_arguments(value, event);
  }
  return simdjson::SUCCESS;
}

}  // namespace

std::optional<Nanoseconds> nanoseconds_of(std::string_view microseconds) {
  std::int64_t whole = 0;
  const char* const end = microseconds.data() + microseconds.size();
  const bool is_negative = microseconds.starts_with('-');
  const auto [at, error] = std::from_chars(microseconds.data(), end, whole);
  constexpr std::int64_t kMost = std::int64_t{9'000'000'000'000'000};  // us: 285 years
  if (error != std::errc{} || whole > kMost || whole < -kMost) {
    return std::nullopt;
  }
  std::int64_t rest = 0;
  const char* digit = at;
  if (digit != end && *digit == '.') {
    ++digit;
    std::size_t decimals = 0;
    for (; digit != end && *digit >= '0' && *digit <= '9'; ++digit, ++decimals) {
      rest = decimals < kMostDecimals ? rest * 10 + (*digit - '0') : rest;
    }
    for (; decimals < kMostDecimals; ++decimals) {
      rest *= 10;
    }
  }
  if (digit != end) {  // an exponent: rare, and less exact
    double value = 0;
    const auto [stop, problem] = std::from_chars(microseconds.data(), end, value);
    if (problem != std::errc{} || stop != end || !(value > -9e15 && value < 9e15)) {
      return std::nullopt;
    }
    return static_cast<Nanoseconds>(value * 1000);
  }
  return whole * 1000 + (is_negative ? -rest : rest);
}

struct EventParser::State {
  json::parser parser;
  KinetoEvent event;
};

EventParser::EventParser() : state_{std::make_unique<State>()} {}
EventParser::~EventParser() = default;

const KinetoEvent* EventParser::parse(std::string& element) {
  element.reserve(element.size() + simdjson::SIMDJSON_PADDING);
  state_->event = KinetoEvent{};
  json::document document;
  json::object object;
  if (state_->parser.iterate(element.data(), element.size(), element.capacity()).get(document) ||
      document.get_object().get(object)) {
    return nullptr;
  }
  for (auto field : object) {
    std::string_view key;
    json::value value;
    if (field.unescaped_key().get(key) || field.value().get(value) ||
        take_member(key, value, state_->event)) {
      return nullptr;
    }
  }
  return &state_->event;
}

}  // namespace lockstep::kineto
