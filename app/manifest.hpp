#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

/// File of a result's folder that lists its parts.
inline constexpr const char* kManifest = "manifest.json";

/// A file of a result: what it has to be.
struct ManifestEntry {
  std::string name;
  std::uintmax_t bytes = 0;
  std::string fingerprint;  ///< of the content
};

/// All files of @p folder as they are, by name. @throws InputError where one cannot be read
[[nodiscard]] std::vector<ManifestEntry> manifest_of(const std::filesystem::path& folder);

[[nodiscard]] std::string manifest_json(const std::vector<ManifestEntry>& entries);

/// Entries of the manifest of @p folder; empty where there is none, or the file is no manifest.
[[nodiscard]] std::vector<ManifestEntry> read_manifest(const std::filesystem::path& folder);

/// Bytes and fingerprint of a file. @throws InputError where it cannot be read
[[nodiscard]] ManifestEntry entry_of(const std::filesystem::path& file);

}  // namespace lockstep
