#include "traces/chakra/note_attributes.hpp"

#include <cmath>

#include "traces/chakra/collective_kinds.hpp"

namespace lockstep::chakra {
namespace {

/// A field of type IOInfo.
void write_lists(std::uint32_t field, const ArgumentLists& lists, WireWriter& message) {
  constexpr std::uint32_t kValues = 1, kShapes = 2, kTypes = 3;
  if (lists.types.empty()) {
    return;
  }
  WireWriter made;
  made.bytes(kValues, lists.values).bytes(kShapes, lists.shapes).bytes(kTypes, lists.types);
  message.bytes(field, made.text());
}

}  // namespace

void write_arguments(const OperatorNote& note, WireWriter& message) {
  constexpr std::uint32_t kInputs = 8, kOutputs = 9;
  write_lists(kInputs, note.inputs, message);
  write_lists(kOutputs, note.outputs, message);
}

void write_attributes(const OperatorNote& note, AttributeWriter& attributes) {
  for (const auto& [name, value] : note.numbers) {
    attributes.int64(name, value);
  }
  if (!note.schema.empty()) {
    attributes.text("op_schema", note.schema);
  }
  attributes.text("arguments_from", note.source);
}

void write_attributes(const CommunicationNote& note, AttributeWriter& attributes) {
  attributes.boolean("as_kernel", true);
  attributes.int64("comm_type", comm_type_of(note.kind));
  if (note.rank_bytes) {
    attributes.int64("comm_size", std::llround(*note.rank_bytes));
  }
}

}  // namespace lockstep::chakra
