#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace lockstep {

/// An event of a JSON text.
struct EventPlace {
  std::uint64_t line = 0;    ///< where it begins, from 1
  std::uint64_t number = 0;  ///< among the events, from 1
  std::string_view name{};   ///< empty: not known
};

/// `event 26 ('aten::mm')` where a line holds many events, so that its number says nothing; else `line 26`.
[[nodiscard]] std::string to_text(const EventPlace& place);

/// @p message about an event: at its line, or where that says nothing with its number and name.
[[nodiscard]] InputError event_error(const std::string& file, const EventPlace& place,
                                     const std::string& message);

}  // namespace lockstep
