#include "search/plans/pipeline_time.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "ops/workload/parallel/pipeline_schedule.hpp"

namespace lockstep {
namespace {

using Kind = StageAction::Kind;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Dates of things to come, one for each of a few places; the earliest is at hand: a tournament.
class Dates {
 public:
  explicit Dates(std::uint32_t places) {
    while (leaves_ < places) {
      leaves_ *= 2;
    }
    nodes_.assign(2 * leaves_, {kNever, 0});
    for (std::uint32_t place = 0; place < leaves_; ++place) {
      nodes_[leaves_ + place].place = place;
    }
  }

  void set(std::size_t place, double date) {
    std::size_t node = leaves_ + place;
    nodes_[node].date = date;
    for (node /= 2; node > 0; node /= 2) {
      const Entry &left = nodes_[2 * node], &right = nodes_[2 * node + 1];
      nodes_[node] = right.date < left.date ? right : left;
    }
  }

  struct Entry {
    double date;
    std::uint32_t place;
  };
  /// The earliest; of equal ones the first place.
  [[nodiscard]] const Entry& first() const { return nodes_[1]; }
  [[nodiscard]] double date(std::size_t place) const { return nodes_[leaves_ + place].date; }

 private:
  std::size_t leaves_ = 2;
  std::vector<Entry> nodes_;
};

/// The pipeline of one step, event by event.
class PipelineRun {
 public:
  PipelineRun(const TransformerPlanSpec& plan, int micro_batches, const PipelineCosts& costs)
      : stage_count_{static_cast<std::uint32_t>(plan.pipeline)},
        parts_{stage_count_ * static_cast<std::uint32_t>(plan.chunks)},
        micro_batches_{static_cast<std::uint32_t>(micro_batches)},
        waits_for_sends_{plan.schedule == PipelineSchedule::OneFOneB ||
                         plan.schedule == PipelineSchedule::GPipe},
        waits_for_device_{plan.waits_for_device()},
        apart_{plan.schedule == PipelineSchedule::ZeroBubble},
        costs_{costs},
        stages_(stage_count_),
        messages_(std::size_t{2} * parts_ * micro_batches_),
        dates_{3 * stage_count_} {
    for (std::uint32_t stage = 0; stage < stage_count_; ++stage) {
      std::vector<StageAction>& actions = stages_[stage].actions;
      actions =
          stage_actions(plan.schedule, plan.pipeline, static_cast<int>(stage), micro_batches, plan.chunks);
      stages_[stage].behind = plan.schedule == PipelineSchedule::Interleaved
                                  ? stage_exchanges(actions, plan.overlap_p2p)
                                  : std::vector<StageExchange>(actions.size());
    }
  }

  double length() {
    for (std::uint32_t stage = 0; stage < stage_count_; ++stage) {
      go_on(stage);
    }
    while (dates_.first().date < kNever) {
      const auto [date, place] = dates_.first();
      if (place >= stage_count_) {
        now_ = date;
        dates_.set(place, kNever);
        end_message(place - stage_count_);
      } else if (stages_[place].due > date) {  // it was slowed down meanwhile
        dates_.set(place, stages_[place].due);
      } else {
        now_ = date;
        end_action(place);
      }
    }
    return now_;
  }

  /// After length(): by how much the forward actions of the last p micro-batches end later on the first stage
  /// than those of the p before.
  [[nodiscard]] double last_round() const {
    return forward_ends_.back() - forward_ends_[forward_ends_.size() - 1 - parts_];
  }

 private:
  enum End : std::uint8_t { Sender, Receiver };

  /// Messages of one direction that leave a stage or come to it: one after the other.
  struct Stream {
    std::vector<std::uint32_t> messages;
    std::size_t head = 0;
  };
  struct Stage {
    std::vector<StageAction> actions;
    std::vector<StageExchange> behind;  // them
    std::size_t next = 0;
    bool runs = false;
    double left = 0, since = 0;  // work of the action that runs, s, at that date
    double pace = 1;             // how long a second of it takes
    double due = 0;              // when it ends
    std::array<std::uint32_t, 4> awaited{kNone, kNone, kNone, kNone};  // before the next action
    std::uint32_t unsent = kNone;                                      // goes with the next exchange
    int held = 0, transferring = 0;                                    // SMs
    std::array<std::array<Stream, 2>, 2> streams;                      // by end and direction
  };
  struct Message {
    std::uint8_t ends = 0;  // that are there
    bool is_asked_for = false, has_come = false;
  };
  /// A message, its direction, and the stages at its ends.
  struct Route {
    std::uint32_t message, direction;
    std::array<std::uint32_t, 2> stage;  // by End
  };

  [[nodiscard]] std::uint32_t part_of(std::uint32_t stage, const StageAction& action) const {
    return static_cast<std::uint32_t>(action.chunk) * stage_count_ + stage;
  }
  [[nodiscard]] static std::uint32_t direction(Kind kind) { return kind == Kind::Forward ? 0 : 1; }
  [[nodiscard]] std::uint32_t message_to(std::uint32_t part, const StageAction& action) const {
    const std::uint32_t row = direction(action.kind) * parts_ + part;
    return row * micro_batches_ + static_cast<std::uint32_t>(action.micro_batch);
  }
  /// The message that the action waits for; kNone: none.
  [[nodiscard]] std::uint32_t input_of(std::uint32_t stage, const StageAction& action) const {
    const std::uint32_t part = part_of(stage, action);
    const bool at_end = action.kind == Kind::Forward ? part == 0 : part + 1 == parts_;
    return at_end || action.kind == Kind::WeightGradient ? kNone : message_to(part, action);
  }
  /// The message that the action sends: the input of the next part.
  [[nodiscard]] std::uint32_t output_of(std::uint32_t stage, const StageAction& action) const {
    const std::uint32_t part = part_of(stage, action);
    const bool forward = action.kind == Kind::Forward;
    const bool at_end = forward ? part + 1 == parts_ : part == 0;
    return at_end || action.kind == Kind::WeightGradient ? kNone
                                                         : message_to(forward ? part + 1 : part - 1, action);
  }
  /// A message that leaves @p stage (or comes to it).
  [[nodiscard]] Route route(std::uint32_t message, std::uint32_t direction, End end,
                            std::uint32_t stage) const {
    const bool up = (direction == 0) == (end == Sender);  // the other end is the next stage
    const std::uint32_t next = stage + 1 == stage_count_ ? 0 : stage + 1;
    const std::uint32_t before = stage == 0 ? stage_count_ - 1 : stage - 1;
    const std::uint32_t other = up ? next : before;
    return end == Sender ? Route{message, direction, {stage, other}}
                         : Route{message, direction, {other, stage}};
  }
  [[nodiscard]] const PipelineMessage& cost_of(const Route& route) const {
    return costs_.messages[route.stage[route.direction == 0 ? Sender : Receiver]];
  }

  [[nodiscard]] double duration(std::uint32_t part, const StageAction& action) const {
    const bool is_last = static_cast<std::uint32_t>(action.micro_batch) + 1 == micro_batches_;
    const double last = is_last && !costs_.last.empty() ? costs_.last[part] : 0;
    switch (action.kind) {
      case Kind::Forward:
        return costs_.forward[part];
      case Kind::Backward:
        return costs_.backward[part] + (apart_ ? -costs_.weights[part] : last);
      case Kind::WeightGradient:
        return costs_.weights[part] + last;
    }
    return 0;
  }

  /// Begins the next action, if all that it needs is there.
  void go_on(std::uint32_t number) {
    Stage& stage = stages_[number];
    if (stage.runs || stage.next == stage.actions.size()) {
      return;
    }
    const StageAction& action = stage.actions[stage.next];
    const std::uint32_t input = input_of(number, action);
    ask_for(input, number, direction(action.kind));
    const bool is_ready =
        std::ranges::all_of(stage.awaited, [&](std::uint32_t message) { return has_come(message); });
    if (!has_come(input) || !is_ready) {
      return;
    }
    stage.runs = true;
    stage.left = duration(part_of(number, action), action) + restart(number, input);
    stage.since = now_;
    stage.pace = pace(stage);
    stage.due = now_ + stage.left * stage.pace;
    dates_.set(number, stage.due);
  }

  /// Restart time of a stage that waited for that input, or for what its exchange sent and received.
  [[nodiscard]] double restart(std::uint32_t number, std::uint32_t input) const {
    const bool is_after_exchange =
        input != kNone ||
        std::ranges::any_of(stages_[number].awaited, [](std::uint32_t message) { return message != kNone; });
    return waits_for_device_ && is_after_exchange && !costs_.restart.empty() ? costs_.restart[number] : 0;
  }

  [[nodiscard]] bool has_come(std::uint32_t message) const {
    return message == kNone || messages_[message].has_come;
  }

  void end_action(std::uint32_t number) {
    Stage& stage = stages_[number];
    const StageAction& action = stage.actions[stage.next++];
    stage.runs = false;
    if (number == 0 && action.kind == Kind::Forward) {
      forward_ends_.push_back(now_);
    }
    exchange(number, action, stage.behind[stage.next - 1]);
    go_on(number);
    if (!stage.runs) {
      dates_.set(number, kNever);
    }
  }

  /// Sends what the action made, and asks for what comes next.
  void exchange(std::uint32_t number, const StageAction& action, const StageExchange& behind) {
    Stage& stage = stages_[number];
    const std::uint32_t output = output_of(number, action);
    if (!behind.sends) {
      stage.unsent = output;
      return;
    }
    const std::uint32_t held_back = std::exchange(stage.unsent, kNone);
    std::array<std::uint32_t, 2> inputs{kNone, kNone};
    send(held_back, number, direction(Kind::Forward));
    send(output, number, direction(action.kind));
    for (const std::optional<StageAction>& next : {behind.forward, behind.backward}) {
      if (next) {
        std::uint32_t& input = inputs[direction(next->kind)];
        input = input_of(number, *next);
        ask_for(input, number, direction(next->kind));
      }
    }
    if (behind.waits) {
      stage.awaited = {held_back, output, inputs[0], inputs[1]};
    } else {
      stage.awaited = {waits_for_sends_ ? output : kNone, kNone, kNone, kNone};
    }
  }

  void send(std::uint32_t message, std::uint32_t stage, std::uint32_t direction) {
    if (message != kNone) {
      join(route(message, direction, Sender, stage), Sender);
    }
  }

  void ask_for(std::uint32_t message, std::uint32_t stage, std::uint32_t direction) {
    if (message != kNone && !messages_[message].is_asked_for) {
      messages_[message].is_asked_for = true;
      join(route(message, direction, Receiver, stage), Receiver);
    }
  }

  /// One end of a message gets into its stream.
  void join(const Route& route, End end) {
    Stream& stream = stages_[route.stage[end]].streams[end][route.direction];
    stream.messages.push_back(route.message);
    if (stream.messages.size() == stream.head + 1) {
      arrive(route, end);
    }
  }

  void arrive(const Route& route, End end) {
    const PipelineMessage& cost = cost_of(route);
    const std::uint32_t mine = route.stage[end], others = route.stage[end == Sender ? Receiver : Sender];
    stages_[mine].held += cost.sms;
    if (++messages_[route.message].ends == 2) {
      stages_[mine].transferring += cost.sms;
      stages_[others].transferring += cost.sms;
      retime(others);
      dates_.set((std::size_t{1} + route.direction) * stage_count_ + route.stage[Sender],
                 now_ + cost.seconds);
    }
    retime(mine);
  }

  /// @param link direction x stages + sender: each has one message on its way
  void end_message(std::uint32_t link) {
    const std::uint32_t direction = link / stage_count_, sender = link % stage_count_;
    const Stream& sent = stages_[sender].streams[Sender][direction];
    const Route ended = route(sent.messages[sent.head], direction, Sender, sender);
    messages_[ended.message].has_come = true;
    const int sms = cost_of(ended).sms;
    for (const End end : {Sender, Receiver}) {
      Stage& stage = stages_[ended.stage[end]];
      stage.held -= sms;
      stage.transferring -= sms;
      ++stage.streams[end][direction].head;
    }
    for (const End end : {Sender, Receiver}) {
      const std::uint32_t stage = ended.stage[end];
      const Stream& stream = stages_[stage].streams[end][direction];
      if (stream.head < stream.messages.size()) {
        arrive(route(stream.messages[stream.head], direction, end, stage), end);
      } else {
        retime(stage);
      }
      go_on(stage);
    }
  }

  [[nodiscard]] double pace(const Stage& stage) const {
    return stage.held == 0
               ? 1
               : 1 + costs_.compute * (costs_.interference.slowdown(stage.held, stage.transferring) - 1);
  }

  void retime(std::uint32_t number) {
    Stage& stage = stages_[number];
    if (!stage.runs) {
      return;
    }
    const double changed = pace(stage);
    if (changed != stage.pace) {
      stage.left -= (now_ - stage.since) / stage.pace;
      stage.since = now_;
      stage.pace = changed;
      stage.due = now_ + stage.left * stage.pace;
      if (stage.due < dates_.date(number)) {
        dates_.set(number, stage.due);
      }
    }
  }

  std::uint32_t stage_count_, parts_, micro_batches_;
  bool waits_for_sends_, waits_for_device_, apart_;
  const PipelineCosts& costs_;
  std::vector<Stage> stages_;
  std::vector<Message> messages_;     // by direction, receiving part and micro-batch
  std::vector<double> forward_ends_;  // on the first stage
  Dates dates_;                       // of actions' ends by stage, then of messages' by direction and sender
  double now_ = 0;
};

}  // namespace

double pipeline_time(const TransformerPlanSpec& plan, int micro_batches, const PipelineCosts& costs) {
  constexpr int kRounds = 4, kMost = 6;
  const int stages = plan.pipeline;
  if (micro_batches <= kMost * stages) {
    return PipelineRun{plan, micro_batches, costs}.length();
  }
  const int few = kRounds * stages + micro_batches % stages;
  PipelineRun run{plan, few, costs};
  const double begun = run.length();
  const double round = plan.schedule == PipelineSchedule::Interleaved
                           ? run.last_round()
                           : PipelineRun{plan, few + stages, costs}.length() - begun;
  const int rounds = (micro_batches - few) / stages;
  return begun + rounds * round;
}

}  // namespace lockstep
