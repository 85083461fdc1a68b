#include "traces/chakra/trace_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::chakra {
namespace {

constexpr const char* kRank = "%d";

}  // namespace

TraceFiles::TraceFiles(const std::string& pattern, std::uint32_t ranks) : ranks_{ranks} {
  const std::size_t place = pattern.find(kRank);
  one_for_all_ = place == std::string::npos;
  before_ = pattern.substr(0, place);
  after_ = one_for_all_ ? "" : pattern.substr(place + std::strlen(kRank));
}

std::filesystem::path TraceFiles::path(std::uint32_t rank) const {
  return one_for_all_ ? before_ : fmt::format("{}{}{}", before_, rank, after_);
}

std::optional<std::uint32_t> TraceFiles::same_as(std::uint32_t rank) {
  if (one_for_all_ && rank > 0) {
    return 0;
  }
  const std::filesystem::path file = path(rank);
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    const bool is_missing = errno == ENOENT;
    const std::string why = is_missing ? "no such file" : std::strerror(errno);
    const std::string hint =
        !is_missing ? ""
        : rank == 0 ? sibling_meant(file)
                    : fmt::format(": rank {} of {} has no trace (ranks: {} simulates those before it)", rank,
                                  ranks_, rank);
    throw InputError{{file.string()}, why + hint};
  }
  const auto [known, fresh] = known_.try_emplace({status.st_dev, status.st_ino}, rank);
  return fresh ? std::nullopt : std::optional{known->second};
}

}  // namespace lockstep::chakra
