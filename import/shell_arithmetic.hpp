#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace lockstep::importing {

/// The value of `$((EXPRESSION))`: whole numbers, variables, + - * / %, brackets. std::nullopt: it has
/// something else, or a variable without a number.
[[nodiscard]] std::optional<std::int64_t> shell_number(const std::string& expression,
                                                       const std::map<std::string, std::string>& variables);

}  // namespace lockstep::importing
