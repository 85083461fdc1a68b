#include "sim/engine.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "sim/simgrid_compat.hpp"

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;

/// Our dates inside SimGrid's event loop.
class ExecutorModel final : public simgrid::kernel::resource::Model {
 public:
  ExecutorModel(Executor& executor, std::function<void()> on_quiet)
      : Model("lockstep"), executor_{executor}, on_quiet_{std::move(on_quiet)} {}

  /// Time from @p now until the next thing happens, or -1 for never.
  double next_occurring_event(double now) override {
    const double date = executor_.next_date();
    if (std::isfinite(date)) {
      return std::max(0.0, date - now);
    }
    if (executor_.is_transferring()) {
      return -1.0;  // flows: SimGrid's network knows when
    }
    on_quiet_();
    return -1.0;
  }

  void update_actions_state(double now, double /*delta*/) override { executor_.advance_to(now); }

 private:
  Executor& executor_;
  std::function<void()> on_quiet_;
};

/// Host threads and streams as real SimGrid actors: each does what the executor's own loop does for actor
/// objects.
class ActorBodies {
 public:
  ActorBodies(Executor& executor, Machine& machine) : bodies_(executor.ranks().size()) {
    executor.hand_over_actors([this](Rank& rank, unsigned actor) { resume(bodies_[rank.number()][actor]); });
    for (Rank& rank : executor.ranks()) {
      bodies_[rank.number()].resize(rank.actors());
      for (unsigned actor = 0; actor < rank.actors(); ++actor) {
        bodies_[rank.number()][actor].actor =
            simgrid_compat::add_actor(rank.actor_name(actor), machine.host(rank.assignment().gpu),
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
  machine.engine().add_model(std::make_shared<ExecutorModel>(executor, [] {}));
  machine.engine().run();
}

void run_as_simgrid_actors(Executor& executor, Machine& machine) {
  ActorBodies bodies{executor, machine};
  machine.engine().add_model(std::make_shared<ExecutorModel>(executor, [&bodies] { bodies.end_all(); }));
  machine.engine().run();
  bodies.rethrow_failure();
}

void run_without_simgrid(Executor& executor) {
  executor.begin();
  for (double date = executor.next_date(); std::isfinite(date); date = executor.next_date()) {
    executor.advance_to(date);
  }
}

}  // namespace lockstep
