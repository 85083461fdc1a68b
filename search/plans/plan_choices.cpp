#include "search/plans/plan_choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/suggest.hpp"

namespace lockstep {
namespace {

template <class Number>
Number number_in(const std::string& key, const std::string& text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size() || number < 1) {
    throw std::invalid_argument{fmt::format("{}: '{}' is no whole number of at least 1", key, text)};
  }
  return number;
}

void read(std::vector<int>& choices, const std::string& key, const std::vector<std::string>& values) {
  choices.clear();
  std::ranges::for_each(values, [&](const auto& text) { choices.push_back(number_in<int>(key, text)); });
}

void read(std::vector<std::int64_t>& choices, const std::string& key,
          const std::vector<std::string>& values) {
  choices.clear();
  std::ranges::for_each(values,
                        [&](const auto& text) { choices.push_back(number_in<std::int64_t>(key, text)); });
}

void read(std::vector<bool>& choices, const std::string& key, const std::vector<std::string>& values) {
  choices.clear();
  for (const std::string& text : values) {
    if (text != "true" && text != "false") {
      throw std::invalid_argument{fmt::format("{}: '{}' is neither true nor false", key, text)};
    }
    choices.push_back(text == "true");
  }
}

template <NamedEnum Enum>
void read(std::vector<Enum>& choices, const std::string& key, const std::vector<std::string>& values) {
  choices.clear();
  for (const std::string& text : values) {
    std::vector<std::string> known;
    const std::size_t before = choices.size();
    for (const auto& [value, name] : names_of(Enum{})) {
      known.emplace_back(name);
      if (text == name) {
        choices.push_back(value);
      }
    }
    if (choices.size() == before) {
      throw std::invalid_argument{
          fmt::format("{}: there is no '{}' (one of: {})", key, text, fmt::join(known, ", "))};
    }
  }
}

/// Said twice, it is one choice.
std::vector<std::string> once_each(const std::vector<std::string>& values) {
  std::vector<std::string> each;
  for (const std::string& value : values) {
    if (std::ranges::find(each, value) == each.end()) {
      each.push_back(value);
    }
  }
  return each;
}

}  // namespace

PlanSpace restricted(PlanSpace space, const std::string& key, const std::vector<std::string>& values) {
  const std::vector<std::string> keys{
      "tensor",      "pipeline", "context",  "expert",    "micro_batch",           "sequence_parallel",
      "schedule",    "chunks",   "sharding", "recompute", "reshard_after_forward", "tensor_overlap",
      "stage_layers"};
  const std::vector<std::string> each = once_each(values);
  const auto into = [&](auto& choices) { read(choices, key, each); };
  switch (std::ranges::find(keys, key) - keys.begin()) {
    case 0:
      into(space.tensor);
      space.tensor_is_given = true;
      break;
    case 1:
      into(space.pipeline);
      break;
    case 2:
      into(space.context);
      break;
    case 3:
      into(space.expert);
      break;
    case 4:
      into(space.micro_batch);
      break;
    case 5:
      into(space.sequence_parallel);
      break;
    case 6:
      into(space.schedule);
      break;
    case 7:
      into(space.chunks);
      space.chunks_are_given = true;
      break;
    case 8:
      into(space.sharding);
      break;
    case 9:
      into(space.recompute);
      break;
    case 10:
      into(space.reshard_after_forward);
      break;
    case 11:
      into(space.tensor_overlap);
      break;
    case 12:
      into(space.stage_layers);
      break;
    default: {
      const std::string closest = closest_word(key, keys);
      throw std::invalid_argument{fmt::format(
          "'{}' is not searched{} (searched: {})", key,
          closest.empty() ? "" : fmt::format(" - did you mean '{}'?", closest), fmt::join(keys, ", "))};
    }
  }
  return space;
}

}  // namespace lockstep
