#include "app/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/version.hpp"
#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

/// FNV-1a of 64-bit words, the last one filled up with zeros (draft-eastlake-fnv takes bytes; timelines are
/// large).
class Fingerprint {
 public:
  void add(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      bytes.copy(reinterpret_cast<char*>(&word), sizeof word, at);
      value_ = (value_ ^ word) * 0x100000001b3;
      value_ ^= value_ >> 29U;  // a word's high bits reach the low ones
    }
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

ManifestEntry entry_of(const std::filesystem::path& file) {
  ManifestEntry entry{file.filename().string(), 0, {}};
  Fingerprint fingerprint;
  std::ifstream stream{file, std::ios::binary};
  std::array<char, 1U << 16U> block{};
  while (stream.read(block.data(), block.size()) || stream.gcount() > 0) {
    const auto size = static_cast<std::size_t>(stream.gcount());
    fingerprint.add({block.data(), size});
    entry.bytes += size;
  }
  if (!stream.eof()) {
    throw InputError{{file.string()}, "cannot be read"};
  }
  entry.fingerprint = fingerprint.text();
  return entry;
}

std::vector<ManifestEntry> manifest_of(const std::filesystem::path& folder) {
  std::vector<ManifestEntry> entries;
  for (const auto& file : std::filesystem::directory_iterator{folder}) {
    entries.push_back(entry_of(file.path()));
  }
  std::ranges::sort(entries, {}, &ManifestEntry::name);
  return entries;
}

std::string manifest_json(const std::vector<ManifestEntry>& entries) {
  Json files = Json::object();
  for (const ManifestEntry& entry : entries) {
    files[entry.name] = {{"bytes", entry.bytes}, {"fingerprint", entry.fingerprint}};
  }
  return Json{{"lockstep", kVersion}, {"files", files}}.dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::vector<ManifestEntry> read_manifest(const std::filesystem::path& folder) {
  std::error_code absent;
  const std::filesystem::path path = folder / kManifest;
  if (!std::filesystem::is_regular_file(path, absent)) {
    return {};
  }
  const Json json = Json::parse(read_own_file(path), nullptr, false);
  if (!json.is_object() || !json.contains("files") || !json["files"].is_object()) {
    return {};
  }
  std::vector<ManifestEntry> entries;
  for (const auto& [name, file] : json["files"].items()) {
    const bool is_entry = file.is_object() && file.contains("bytes") && file["bytes"].is_number_unsigned() &&
                          file.contains("fingerprint") && file["fingerprint"].is_string();
    if (is_entry && name.find('/') == std::string::npos && !name.starts_with('.')) {
      entries.push_back({name, file["bytes"].get<std::uintmax_t>(), file["fingerprint"].get<std::string>()});
    }
  }
  return entries;
}

}  // namespace lockstep
