#pragma once

#include <string>
#include <type_traits>

namespace lockstep {

/// Appends the bytes of @p value, so that equal keys are equal sequences of values. A struct may have
/// padding, whose bytes are anything: append its fields.
template <class Value>
requires(std::is_arithmetic_v<Value> || std::is_enum_v<Value>) void append_bytes(std::string& key,
                                                                                 Value value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace lockstep
