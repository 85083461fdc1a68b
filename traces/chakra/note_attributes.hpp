#pragma once

#include "traces/chakra/node_notes.hpp"
#include "traces/chakra/wire_writer.hpp"

namespace lockstep::chakra {

/// Fields `inputs` and `outputs` of a node.
void write_arguments(const OperatorNote& note, WireWriter& message);

/// Attributes of a node, by the names that Chakra's converter gives them.
void write_attributes(const OperatorNote& note, AttributeWriter& attributes);
void write_attributes(const CommunicationNote& note, AttributeWriter& attributes);

}  // namespace lockstep::chakra
