#pragma once

#include <string>

#include "traces/chakra/wire_writer.hpp"

namespace lockstep::chakra {

/// Appends a record of a trace file: its length, then the message.
inline void append_record(const WireWriter& message, std::string& text) {
  WireWriter length;
  length.varint(message.text().size());
  text += length.text();
  text += message.text();
}

}  // namespace lockstep::chakra
