#include "traces/kineto/kineto_members.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>

namespace lockstep::kineto {
namespace {

using nlohmann::json;

// Names of torch.profiler's options (torch/profiler/profiler.py, start_trace).
constexpr auto kObservers = std::to_array<std::string_view>(
    {"record_shapes", "with_stack", "profile_memory", "with_modules", "with_flops"});

constexpr Oddity kBadMember{"unreadable member", "of the outermost object; left out", Severity::Warning};

std::int64_t whole(const json& object, const char* key) {
  const auto member = object.find(key);
  return member != object.end() && member->is_number() ? member->get<std::int64_t>() : -1;
}

std::string text_of(const json& object, const char* key) {
  const auto member = object.find(key);
  return member != object.end() && member->is_string() ? member->get<std::string>() : std::string{};
}

void take_groups(const json& list, RecordedTrace& trace) {
  for (const json& entry : list) {
    if (!entry.is_object()) {
      continue;
    }
    ProcessGroupEntry group{
        text_of(entry, "pg_name"), text_of(entry, "pg_desc"), whole(entry, "pg_size"), {}};
    if (const auto ranks = entry.find("ranks"); ranks != entry.end() && ranks->is_array()) {
      for (const json& rank : *ranks) {
        if (rank.is_number_unsigned()) {
          group.ranks.push_back(rank.get<std::uint32_t>());
        }
      }
    }
    trace.groups.push_back(std::move(group));
  }
}

void take_distributed(const json& object, RecordedTrace& trace) {
  trace.rank = whole(object, "rank");
  trace.world_size = whole(object, "world_size");
  trace.backend = text_of(object, "backend");
  if (const auto groups = object.find("pg_config"); groups != object.end() && groups->is_array()) {
    take_groups(*groups, trace);
  }
}

void take_devices(const json& list, RecordedTrace& trace) {
  for (const json& device : list) {
    if (device.is_object()) {
      trace.gpu_names.push_back(text_of(device, "name"));
      trace.multiprocessors.push_back(whole(device, "numSms"));
      trace.gpu_memory.push_back(whole(device, "totalGlobalMem"));
      trace.compute_major = std::max(trace.compute_major, whole(device, "computeMajor"));
    }
  }
}

/// At most 0.
Nanoseconds first_start(const RecordedTrace& trace) {
  Nanoseconds first = 0;
  const auto take = [&](const auto& events) {
    for (const auto& event : events) {
      first = std::min(first, event.start);
    }
  };
  take(trace.operators);
  take(trace.calls);
  take(trace.work);
  return first;
}

}  // namespace

void take_trace_member(std::string_view key, std::string_view text, RecordedTrace& trace, Nanoseconds& base) {
  if (key == "baseTimeNanoseconds") {
    constexpr Nanoseconds kMost = 4'000'000'000'000'000'000;  // the year 2096
    std::from_chars(text.data(), text.data() + text.size(), base);
    if (base < 0 || base > kMost) {
      trace.report.add(kBadMember, key);
      base = 0;
    }
    return;
  }
  if (key == "simulated_by") {
    trace.is_simulated = true;
    return;
  }
  if (std::ranges::find(kObservers, key) != kObservers.end()) {
    if (text != "0" && text != "false") {
      trace.observers.emplace(key);
    }
    return;
  }
  if (key != "distributedInfo" && key != "deviceProperties") {
    return;
  }
  const json value = json::parse(text, nullptr, false);
  if (key == "distributedInfo" && value.is_object()) {
    take_distributed(value, trace);
  } else if (key == "deviceProperties" && value.is_array()) {
    take_devices(value, trace);
  } else {
    trace.report.add(kBadMember, key);
  }
}

void shift_and_sort(RecordedTrace& trace, Nanoseconds base) {
  base -= std::min<Nanoseconds>(first_start(trace) + base, 0);
  const auto shift = [base](auto& list) {
    for (auto& event : list) {
      event.start += base;
      event.end += base;
    }
  };
  shift(trace.operators);
  shift(trace.calls);
  shift(trace.work);
  shift(trace.syncs);
  for (LostEvent& lost : trace.lost) {
    lost.near += lost.near < 0 ? 0 : base;
  }
  for (ForwardBackward& link : trace.forward_backward) {
    link.forward += base;
    link.backward += base;
  }
  std::ranges::stable_sort(trace.operators, [](const Operator& a, const Operator& b) {
    return std::tuple{a.thread, a.start, b.end} < std::tuple{b.thread, b.start, a.end};
  });
  std::ranges::stable_sort(trace.calls, [](const Call& a, const Call& b) {
    return std::tuple{a.thread, a.start, a.end} < std::tuple{b.thread, b.start, b.end};
  });
  std::ranges::stable_sort(trace.work, [](const Work& a, const Work& b) {
    return std::tuple{a.device, a.stream, a.start, a.end} < std::tuple{b.device, b.stream, b.start, b.end};
  });
}

}  // namespace lockstep::kineto
