/// @file
/// Stepped mode: compute kernels that follow each other on a stream, taken together. What runs beside them
/// may change their pace at any time; then the row is timed anew from there on.

#include <algorithm>
#include <bit>
#include <limits>

#include "sim/rank.hpp"
#include "sim/stream.hpp"

namespace lockstep {
namespace {

// Kernels that are timed anew at once: few enough for communication that comes and goes all the time.
constexpr std::uint32_t kLongestRow = 32;

}  // namespace

/// The kernels at the head of the queue, as many as nobody has to hear of one by one.
void Stream::begin_row(Rank& rank, std::uint8_t self) {
  const std::uint32_t most = std::min({queue_.size(), kLongestRow, std::max(launches_to_come(rank), 2U) - 1});
  row_ = 1;
  while (row_ < most && queue_.ahead(row_).computes()) {
    ++row_;
  }
  state_ = State::Running;
  pace_ = rank.slowdown();
  begin_in_row(rank, self);
  if (listeners_ == 0 && rank.skip_to(start_)) {
    end_kernels(rank, self, std::numeric_limits<double>::infinity(), row_);
    rank.skip_to(progress_.clock);  // nothing came first before the row, and nothing has come since
    state_ = State::Ready;
    return;
  }
  ask_for_end(rank, self);
}

/// A host thread that waits for room in the launch queue has to know when kernels start: each start lets one
/// launch through. But as long as it only launches kernels on this stream, it may hear of starts later.
/// @return how many such launches are still to come; that of a thread that does not wait has no end
std::uint32_t Stream::launches_to_come(const Rank& rank) const {
  if (listeners_ == 0) {
    return std::numeric_limits<std::uint32_t>::max();
  }
  const auto actor = static_cast<std::size_t>(std::countr_zero(listeners_));
  return rank.threads()[actor - rank.streams().size()].launches_to_come(rank);
}

/// The first kernel of the row has ended; the next one begins.
void Stream::go_on_in_row(Rank& rank, std::uint8_t self) {
  end_compute(rank, self, queue_.front(), end_);
  queue_.pop();
  if (--row_ > 0) {
    begin_in_row(rank, self);
  }
}

void Stream::begin_in_row(Rank& rank, std::uint8_t self) {
  begin(rank, self, queue_.front());
  since_ = start_;
  left_ = queue_.front().value;
  end_ = since_ + left_ * pace_;
}

/// When the row ends if nothing happens: as go_on_in_row() has it, to the last bit.
void Stream::ask_for_end(Rank& rank, std::uint8_t self) {
  const RankTiming& timing = rank.timing();
  due_ = end_;
  for (std::uint32_t place = 1; place < row_; ++place) {
    const StreamItem& item = queue_.ahead(place);
    const double start = std::max(due_ + timing.kernel_gap, item.issue + timing.launch_to_start);
    due_ = start + item.value * pace_;
  }
  rank.call_at(self, due_);
}

/// Ends the kernels at the head of the row that end by @p by, at most so many.
void Stream::end_kernels(Rank& rank, std::uint8_t self, double by, std::uint32_t most) {
  if (rank.is_watched(step_)) {
    for (; most > 0 && end_ <= by; --most) {
      go_on_in_row(rank, self);
    }
    return;
  }
  const RankTiming& timing = rank.timing();
  ActivityMeter* const meter = rank.activity.get();
  StreamProgress progress = progress_;
  double start = start_;
  double end = end_;
  std::uint32_t count = 0;
  while (count < most && end <= by) {
    progress.compute_kernel(start, end);
    if (meter != nullptr) {
      meter->compute(self, start, end);
    }
    if (++count == row_) {
      break;
    }
    const StreamItem& item = queue_.ahead(count);
    start = std::max(progress.clock + timing.kernel_gap, item.issue + timing.launch_to_start);
    end = start + item.value * pace_;
    ++launches_;
    if (launch_queue_) {
      launch_queue_->starts_at(start);
    }
  }
  if (count == 0) {
    return;
  }
  progress_ = progress;
  queue_.pop(count);
  row_ -= count;
  if (row_ > 0) {
    start_ = since_ = start;
    left_ = queue_.front().value;
    end_ = end;
  }
}

void Stream::end_row(Rank& rank, std::uint8_t self) {
  end_kernels(rank, self, std::numeric_limits<double>::infinity(), row_);
  state_ = State::Ready;
  rank.wake_stream(self);
}

/// Changes at one date come in any order, and more or fewer of them when ranks are folded: the last one alone
/// decides.
void Stream::retime(Rank& rank, std::uint8_t self, double now) {
  if (state_ != State::Running || due_ <= now) {
    return;
  }
  end_kernels(rank, self, now, row_ - 1);
  if (since_ < now) {
    left_ -= (now - since_) / pace_;
    since_ = now;
  }
  pace_ = rank.slowdown();
  end_ = since_ + left_ * pace_;
  ask_for_end(rank, self);
}

bool Stream::shorten_row(Rank& rank, std::uint8_t self) {
  const std::uint32_t most = std::max(launches_to_come(rank), 1U);  // it has heard of the first start
  if (state_ != State::Running || row_ <= most) {
    return false;
  }
  end_kernels(rank, self, rank.now(), row_ - 1);
  row_ = std::min(row_, most);
  ask_for_end(rank, self);
  return true;
}

}  // namespace lockstep
