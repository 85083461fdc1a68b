#include "sim/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "sim/communicator.hpp"

namespace lockstep {
namespace {

// Sends and receives of a rank whose groups it keeps: a pipeline stage has four.
constexpr std::size_t kMostKnownPairs = 16;

}  // namespace

Rank::Rank(std::uint32_t number, const RankAssignment& assignment, const CompiledProgram& program,
           RunContext& context, const RankTiming& timing)
    : number_{number},
      assignment_{&assignment},
      program_{&program},
      context_{&context},
      timing_{&timing},
      streams_(program.program->streams.size()),
      latest_(program.program->events),
      flags_(program.program->flags),
      observed_{context.timeline != nullptr} {
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    if (program.most_queued[stream] > timing.launch_queue) {
      streams_[stream].may_fill();
    }
  }
  for (std::size_t thread = 0; thread < program.program->threads.size(); ++thread) {
    threads_.emplace_back(static_cast<std::uint8_t>(thread));
    runnable_ |= 1ULL << (streams_.size() + thread);
  }
  if (!flags_.empty()) {
    give_inboxes();
  }
}

void Rank::give_inboxes() {
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    for (const Instruction& instruction : program().threads[thread].instructions) {
      if (instruction.op == Opcode::Await) {
        (void)flags_[instruction.operand].posts_for(static_cast<std::uint8_t>(thread));
      }
    }
  }
}

Ring<Rank::Flag::Post>& Rank::Flag::posts_for(std::uint8_t thread) {
  const auto known = std::find_if(inboxes.begin(), inboxes.end(),
                                  [&](const Inbox& inbox) { return inbox.thread == thread; });
  return known != inboxes.end() ? known->posts : inboxes.emplace_back(Inbox{thread, {}}).posts;
}

/// Streams come first: they drain what threads have queued before the threads queue more.
void Rank::run() {
  if (context_->actors_in_simgrid) {
    return;  // they have been resumed
  }
  run_actors();
  while (own_ticks_ != 0) {
    const std::uint8_t stream = next_own_tick();
    own_ticks_ &= ~(1ULL << stream);
    own_now_ = streams_[stream].due();
    streams_[stream].tick(*this, stream);
    run_actors();
  }
}

void Rank::run_actors() {
  while (runnable_ != 0) {
    advance(static_cast<unsigned>(std::countr_zero(runnable_)));
  }
  sweep_activity();
}

void Rank::call_at(std::uint8_t stream, double date) {
  if (is_ahead_of_global_time()) {
    own_ticks_ |= 1ULL << stream;
    return;
  }
  own_ticks_ &= ~(1ULL << stream);
  global_ticks_ |= 1ULL << stream;
  context_->surroundings->call_at(*this, stream, date);
}

bool Rank::tick(std::uint8_t stream, double date) {
  const std::uint64_t asked = 1ULL << stream;
  if ((global_ticks_ & asked) == 0 || streams_[stream].due() != date) {
    return false;  // the rank has gone through it alone, or the kernel was re-timed
  }
  global_ticks_ &= ~asked;
  streams_[stream].tick(*this, stream);
  return true;
}

std::uint8_t Rank::next_own_tick() const {
  auto next = static_cast<std::uint8_t>(std::countr_zero(own_ticks_));
  for (std::uint64_t left = own_ticks_ & (own_ticks_ - 1); left != 0; left &= left - 1) {
    const auto stream = static_cast<std::uint8_t>(std::countr_zero(left));
    next = streams_[stream].due() < streams_[next].due() ? stream : next;
  }
  return next;
}

/// From now on others may change what becomes of its dates.
void Rank::join_global_time() {
  while (own_ticks_ != 0) {
    const std::uint8_t stream = next_own_tick();
    call_at(stream, streams_[stream].due());
  }
}

void Rank::prefetch() const {
  constexpr std::size_t kLine = 64;
  const auto fetch = [](const void* object, std::size_t size) {
    for (std::size_t at = 0; at < size; at += kLine) {
      __builtin_prefetch(static_cast<const char*>(object) + at, 1);
    }
  };
  fetch(threads_.data(), sizeof(HostThread));
  fetch(streams_.data(), std::min<std::size_t>(streams_.size(), 2) * sizeof(Stream));
  fetch(memberships_.data(), kLine);
}

void Rank::sweep_activity() {
  if (activity && activity->is_full()) {
    activity->sweep(watermark());
  }
}

void Rank::record_step(std::uint32_t step) {
  log = std::make_unique<RankLog>(program(), step);
  observed_ = true;
}

void Rank::meter_activity() {
  activity = std::make_unique<ActivityMeter>(streams_.size());
  observed_ = true;
}

void Rank::advance(unsigned actor) {
  runnable_ &= ~(1ULL << actor);
  if (actor < streams_.size()) {
    streams_[actor].advance(*this, static_cast<std::uint8_t>(actor));
  } else {
    threads_[actor - streams_.size()].advance(*this);
  }
}

bool Rank::finished(unsigned actor) const {
  const bool threads_done =
      std::all_of(threads_.begin(), threads_.end(), [](const auto& t) { return t.done(); });
  return actor < streams_.size() ? threads_done && streams_[actor].idle()
                                 : threads_[actor - streams_.size()].done();
}

bool Rank::finished() const {
  for (unsigned actor = 0; actor < actors(); ++actor) {
    if (!finished(actor)) {
      return false;
    }
  }
  return true;
}

void Rank::wake_all(std::uint64_t actors) {
  if (!context_->actors_in_simgrid) {
    runnable_ |= actors;
    return;
  }
  for (; actors != 0; actors &= actors - 1) {
    wake(static_cast<unsigned>(std::countr_zero(actors)));
  }
}

std::string Rank::actor_name(unsigned actor) const {
  const bool is_stream = actor < streams_.size();
  return fmt::format("rank{}.{}", number_,
                     is_stream ? program().streams[actor] : program().threads[actor - streams_.size()].name);
}

Membership Rank::membership(const CollectiveCall& call) {
  if (!is_pair(call.kind)) {
    return memberships_[call.group];
  }
  for (const auto& [known, membership] : pairs_) {
    if (known == &call) {
      return membership;
    }
  }
  const Membership membership = context_->surroundings->pair(*this, call);
  if (pairs_.size() < kMostKnownPairs) {
    pairs_.emplace_back(&call, membership);
  }
  return membership;
}

double Rank::watermark() const {
  double threads = std::numeric_limits<double>::infinity();
  for (const HostThread& thread : threads_) {
    threads = thread.done() ? threads : std::min(threads, thread.clock());
  }
  double earliest = std::numeric_limits<double>::infinity();
  for (const Stream& stream : streams_) {
    switch (stream.state()) {
      case Stream::State::InCollective:
      case Stream::State::InCopy:
      case Stream::State::Running:
        earliest = std::min(earliest, stream.begun());
        break;
      default:
        earliest = std::min(earliest,
                            std::max(stream.clock(), stream.backlog() == 0 ? threads : stream.head().issue));
    }
  }
  return earliest;
}

/// NCCL's communicator of a call among those of this rank: PyTorch makes one of each pair that sends.
Rank::CommunicationChannel Rank::channel_of(const CollectiveCall& call) {
  return is_pair(call.kind) ? CommunicationChannel{call.group, call.kind, call.peer}
                            : CommunicationChannel{call.group, CollectiveKind::AllReduce, 0};
}

void Rank::communication_arrives(double now, const CollectiveCall& call, const Communicator& group) {
  if (context_->stepped) {
    const CollectivePlan* message = is_pair(call.kind) ? group.find_plan(call) : nullptr;
    const int channels = message != nullptr ? message->channels : std::numeric_limits<int>::max();
    communication_.push_back(
        {channel_of(call), timing_->interference.held(call.sm_limit, group.sm_limit(), channels), false});
    set_slowdown(now);
    join_global_time();
  }
}

void Rank::communication_transfers(double now, const CollectiveCall& call) {
  if (context_->stepped) {
    const auto waiting = std::ranges::find_if(communication_, [&](const auto& living) {
      return living.channel == channel_of(call) && !living.transfers;
    });
    waiting->transfers = true;
    set_slowdown(now);
  }
}

void Rank::communication_ends(double now, const CollectiveCall& call) {
  if (context_->stepped) {
    const auto transferring = std::ranges::find_if(communication_, [&](const auto& living) {
      return living.channel == channel_of(call) && living.transfers;
    });
    communication_.erase(transferring);
    leave_global_time();
    set_slowdown(now);
  }
}

/// Kernels of one communicator take turns on the GPU: they hold the SMs of the widest.
int Rank::held_sms(bool transferring) const {
  int sum = 0;
  for (auto living = communication_.begin(); living != communication_.end(); ++living) {
    const auto counts = [&](const LivingCommunication& other) {
      return other.channel == living->channel && (other.transfers || !transferring);
    };
    if (std::none_of(communication_.begin(), living, counts)) {
      int most = 0;
      for (const LivingCommunication& other : communication_) {
        most = counts(other) ? std::max(most, other.sms) : most;
      }
      sum += most;
    }
  }
  return sum;
}

void Rank::set_slowdown(double now) {
  const double slowdown = timing_->interference.slowdown(held_sms(false), held_sms(true));
  if (slowdown == slowdown_) {
    return;
  }
  slowdown_ = slowdown;
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    streams_[stream].retime(*this, static_cast<std::uint8_t>(stream), now);
  }
}

}  // namespace lockstep
