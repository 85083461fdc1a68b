#include "traces/kineto/begin_end_pairs.hpp"

#include <algorithm>

namespace lockstep::kineto {
namespace {

/// Arguments may stand at either end.
void add_arguments(const KinetoEvent& end, KinetoEvent& event) {
  const auto take = [](std::int64_t& number, std::int64_t other) { number = number < 0 ? other : number; };
  take(event.stream, end.stream);
  take(event.device, end.device);
  take(event.correlation, end.correlation);
  take(event.external_id, end.external_id);
  event.bytes = std::max(event.bytes, end.bytes);
  if (!event.has_communication && end.has_communication) {
    event.has_communication = true;
    event.communication = end.communication;
  }
}

}  // namespace

const KinetoEvent* BeginEndPairs::take(const KinetoEvent& event) {
  std::vector<KinetoEvent>& open = open_[{event.pid, event.tid}];
  if (event.phase == 'B') {
    open.push_back(event);
    return nullptr;
  }
  const auto begin = std::find_if(open.rbegin(), open.rend(), [&](const KinetoEvent& one) {
    return event.name.empty() || one.name == event.name;
  });
  if (begin == open.rend()) {
    ++ends_;
    end_without_begin_ = end_without_begin_.empty() ? event.name : end_without_begin_;
    return nullptr;
  }
  whole_ = std::move(*begin);
  open.erase(std::next(begin).base());
  whole_.phase = 'X';
  if (whole_.start && event.start) {
    whole_.duration = *event.start - *whole_.start;
  }
  add_arguments(event, whole_);
  return &whole_;
}

std::uint64_t BeginEndPairs::unmatched() const {
  std::uint64_t count = ends_;
  for (const auto& [thread, open] : open_) {
    count += open.size();
  }
  return count;
}

std::string BeginEndPairs::example() const {
  for (const auto& [thread, open] : open_) {
    if (!open.empty()) {
      return open.front().name;
    }
  }
  return end_without_begin_;
}

}  // namespace lockstep::kineto
