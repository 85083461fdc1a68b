#include "sim/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/simgrid_compat.hpp"

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;

/// An executor's dates inside SimGrid's event loop, as long as it lives. SimGrid keeps every model.
class ExecutorModel final : public simgrid::kernel::resource::Model {
 public:
  ExecutorModel(Executor& executor, std::function<void()> on_quiet)
      : Model(fmt::format("lockstep {}", ++made)),
        executor_{&executor},
        on_quiet_{std::move(on_quiet)},
        began_{s4u::Engine::get_clock()} {}

  /// Time from @p now until the next thing happens, or -1 for never.
  double next_occurring_event(double now) override {
    if (executor_ == nullptr) {
      return -1.0;
    }
    if (!executor_->context().actors_in_simgrid) {
      executor_->pass_ticks();
    }
    const double date = executor_->next_date();
    if (std::isfinite(date)) {
      return std::max(0.0, date - (now - began_));
    }
    if (executor_->is_transferring()) {
      return -1.0;  // flows: SimGrid's network knows when
    }
    on_quiet_();
    return -1.0;
  }

  void update_actions_state(double now, double /*delta*/) override {
    if (executor_ != nullptr) {
      executor_->advance_to(now - began_);
    }
  }

  void retire() { executor_ = nullptr; }

 private:
  static inline int made = 0;  // SimGrid wants a name of its own for each
  Executor* executor_;
  std::function<void()> on_quiet_;
  double began_;
};

/// SimGrid's event loop, with the dates of @p executor in it.
void run_loop(Executor& executor, Machine& machine, std::function<void()> on_quiet) {
  const auto model = std::make_shared<ExecutorModel>(executor, std::move(on_quiet));
  const struct Retirement {
    ExecutorModel& model;
    ~Retirement() { model.retire(); }
  } retirement{*model};
  machine.engine().add_model(model);
  machine.engine().run();
}

/// Host threads and streams as real SimGrid actors: each does what the executor's own loop does for actor
/// objects.
class ActorBodies {
 public:
  ActorBodies(Executor& executor, Machine& machine) : bodies_(executor.ranks().size()) {
    executor.hand_over_actors([this](Rank& rank, unsigned actor) { resume(bodies_[rank.number()][actor]); });
    for (Rank& rank : executor.ranks()) {
      const RankHome home = home_of(*executor.spec().fabric, rank.assignment().gpu);
      bodies_[rank.number()].resize(rank.actors());
      for (unsigned actor = 0; actor < rank.actors(); ++actor) {
        const bool is_stream = actor < rank.streams().size();
        bodies_[rank.number()][actor].actor = simgrid_compat::add_actor(
            rank.actor_name(actor), machine.host(is_stream ? home.gpu : home.socket),
            [this, &rank, actor] { live(rank, actor); });
      }
    }
  }

  /// Ends actors that nothing can wake any more, before SimGrid reports them as its own deadlock.
  void end_all() {
    for (auto& rank : bodies_) {
      for (Body& body : rank) {
        if (body.suspended) {
          body.suspended = false;
          body.actor->kill();
        }
      }
    }
  }

  void rethrow_failure() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  struct Body {
    s4u::ActorPtr actor;
    bool suspended = false;
  };

  static void resume(Body& body) {
    if (std::exchange(body.suspended, false)) {
      body.actor->resume();
    }
  }

  void live(Rank& rank, unsigned actor) {
    Body& self = bodies_[rank.number()][actor];
    try {
      while (!rank.finished(actor)) {
        if (rank.may_advance(actor)) {
          rank.advance(actor);
          s4u::this_actor::yield();  // those that were woken go first
        } else {
          rank.sweep_activity();
          self.suspended = true;
          s4u::this_actor::suspend();
        }
      }
    } catch (const simgrid::ForcefulKillException&) {
      throw;
    } catch (...) {  // SimGrid would abort on an exception that leaves an actor
      failure_ = failure_ ? failure_ : std::current_exception();
    }
    for (Body& other : bodies_[rank.number()]) {
      resume(other);  // this may have been what kept them from being finished
    }
  }

  std::vector<std::vector<Body>> bodies_;  // by rank and actor
  std::exception_ptr failure_;
};

}  // namespace

void run_in_simgrid(Executor& executor, Machine& machine) {
  executor.begin();
  run_loop(executor, machine, [] {});
}

void run_as_simgrid_actors(Executor& executor, Machine& machine) {
  ActorBodies bodies{executor, machine};
  run_loop(executor, machine, [&bodies] { bodies.end_all(); });
  bodies.rethrow_failure();
}

void run_without_simgrid(Executor& executor) {
  executor.begin();
  executor.pass_ticks();
  for (double date = executor.next_date(); std::isfinite(date); date = executor.next_date()) {
    executor.advance_to(date);
    executor.pass_ticks();
  }
}

}  // namespace lockstep
