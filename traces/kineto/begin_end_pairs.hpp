#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "traces/kineto/kineto_event.hpp"

namespace lockstep::kineto {

/// Makes one event of each begin (`B`) and its end (`E`): as Chrome's format has it, they nest on a thread
/// and stand in the order of their times. An end that says a name ends the innermost event of that name.
class BeginEndPairs {
 public:
  /// @param event of phase B or E
  /// @return of an end the whole event, as phase X has it, valid until the next call; null: a begin, or an
  /// end
  ///   without one
  [[nodiscard]] const KinetoEvent* take(const KinetoEvent& event);

  /// Ends without a begin, and begins without an end so far.
  [[nodiscard]] std::uint64_t unmatched() const;
  /// The name of one that is unmatched; empty: none, or an end without a name.
  [[nodiscard]] std::string example() const;

 private:
  std::map<std::pair<std::int64_t, std::string>, std::vector<KinetoEvent>> open_;  // by pid and tid
  std::uint64_t ends_ = 0;
  std::string end_without_begin_;
  KinetoEvent whole_;
};

}  // namespace lockstep::kineto
