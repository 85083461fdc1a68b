#include "ops/workload/communication_type.hpp"

#include <stdexcept>

#include "base/suggest.hpp"

namespace lockstep {

CommunicationTypes CommunicationTypes::parse(const std::string& text) {
  for (const auto& [type, name] : names_of(CommunicationType{})) {
    if (text == name) {
      return {.forward = type, .backward = type};
    }
  }
  const auto names = all_names_of<CommunicationType>();
  throw std::invalid_argument{"'" + text + "' is no type of communication" + did_you_mean(text, names)};
}

Bytes encoded_size(double elements, CommunicationType type) {
  switch (type) {
    case CommunicationType::FP32:
      return Bytes{4 * elements};
    case CommunicationType::FP16:
    case CommunicationType::BF16:
      return Bytes{2 * elements};
    case CommunicationType::FP8:
      return Bytes{elements};
    case CommunicationType::INT8:
      return Bytes{1.25 * elements};
  }
  throw std::logic_error{"encoded_size: unknown CommunicationType"};
}

DataType wire_type(CommunicationType type) {
  switch (type) {
    case CommunicationType::FP32:
      return DataType::FP32;
    case CommunicationType::FP16:
      return DataType::FP16;
    case CommunicationType::BF16:
      return DataType::BF16;
    case CommunicationType::FP8:
    case CommunicationType::INT8:
      return DataType::UINT8;
  }
  throw std::logic_error{"wire_type: unknown CommunicationType"};
}

CommunicationType reducible(CommunicationType type) {
  const bool is_byte = type == CommunicationType::FP8 || type == CommunicationType::INT8;
  return is_byte ? CommunicationType::FP16 : type;
}

}  // namespace lockstep
