#include "traces/chakra/trace_tables.hpp"

namespace lockstep::chakra {

namespace {

bool is_numbering(char c) {
  switch (c) {
    case '.':
    case '_':
    case '-':
    case '/':
    case '#':
    case ':':
    case ' ':
      return true;
    default:
      return c >= '0' && c <= '9';
  }
}

}  // namespace

std::string_view without_numbering(std::string_view name) {
  std::size_t size = name.size();
  while (size > 0 && is_numbering(name[size - 1])) {
    --size;
  }
  return size == 0 ? name : name.substr(0, size);
}

std::uint32_t TraceTables::kind(std::string_view node_name) {
  const std::string_view name = without_numbering(node_name);
  if (latest_kind_ < names_.size() && names_[latest_kind_] == name) {
    return latest_kind_;  // saves looking most of them up
  }
  if (const auto known = numbers_.find(name); known != numbers_.end()) {
    return latest_kind_ = known->second;
  }
  latest_kind_ = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name.empty() ? "unnamed" : name);
  numbers_.emplace(name, latest_kind_);
  return latest_kind_;
}

std::size_t TraceTables::hash_of(const Call& call) {
  return std::hash<double>{}(call.size) ^
         (static_cast<std::size_t>(call.kind) * 31 + std::size_t{call.group} * 1021 +
          std::size_t{call.source} * 8191 + std::size_t{call.target} * 131071 +
          static_cast<std::size_t>(static_cast<std::uint32_t>(call.tag)) * 524287);
}

}  // namespace lockstep::chakra
