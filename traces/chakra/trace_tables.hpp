#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/collectives/collective.hpp"
#include "ops/intern_table.hpp"

namespace lockstep::chakra {

/// Numbers for names of nodes and for calls of collectives. The traces of all ranks of a job share them:
/// equal numbers mean the same.
class TraceTables {
 public:
  /// The number of a compute node's kind: its name without the numbering at its end, so that `fwd.3.17` and
  /// `fwd.3.18` are the kernel `fwd`.
  std::uint32_t kind(std::string_view node_name);
  [[nodiscard]] const std::string& kind_name(std::uint32_t kind) const { return names_[kind]; }
  [[nodiscard]] std::size_t kinds() const { return names_.size(); }

  /// Instead of a rank: the one whose trace it is.
  static constexpr std::uint32_t kItself = ~0U;

  /// A collective or message as a node asks for it.
  struct Call {
    CollectiveKind kind = CollectiveKind::AllReduce;
    std::uint32_t group = 0;                           ///< how-manieth group that its rank names
    double size = 0;                                   ///< `comm_size`, bytes
    std::uint32_t source = kItself, target = kItself;  ///< of a message: ranks
    std::int32_t tag = 0;                              ///< likewise
    [[nodiscard]] bool is_message() const {
      return kind == CollectiveKind::Send || kind == CollectiveKind::Receive;
    }
    bool operator==(const Call&) const = default;
  };
  std::uint32_t number_of(const Call& call) { return calls_.intern(call); }
  [[nodiscard]] const Call& call(std::uint32_t number) const { return calls_.values()[number]; }
  [[nodiscard]] std::size_t calls() const { return calls_.values().size(); }

 private:
  static std::size_t hash_of(const Call& call);
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library asks for it
  };
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> numbers_;
  std::vector<std::string> names_;
  std::uint32_t latest_kind_ = 0;
  InternTable<Call, &hash_of> calls_;
};

/// @p name without digits, and what separates them, at its end; the whole name where nothing else is in it.
[[nodiscard]] std::string_view without_numbering(std::string_view name);

}  // namespace lockstep::chakra
