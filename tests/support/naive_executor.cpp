#include "tests/support/naive_executor.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ops/kernel_model.hpp"
#include "sim/machine.hpp"
#include "tests/support/naive_parts.hpp"

namespace lockstep::testing {
namespace {

using namespace naive;

class NaiveExecutor {
 public:
  NaiveExecutor(const SimulationInput& input, Machine& machine)
      : input_{input},
        job_{*input.job},
        machine_{machine},
        transfers_{std::make_shared<Transfers>(*input.fabric)},
        workers_(job_.ranks.size()) {
    for (const ProcessGroup& group : job_.groups) {
      Group& made = groups_.emplace_back();
      for (const std::uint32_t rank : group.ranks) {
        made.gpus.push_back(job_.ranks[rank].gpu);
      }
      made.issued.resize(group.ranks.size());
    }
    for (std::uint32_t number = 0; number < workers_.size(); ++number) {
      hire(number);
    }
  }

  NaiveResult run() {
    machine_.engine().add_model(transfers_);
    machine_.engine().run();
    NaiveResult result;
    for (const Worker& worker : workers_) {
      for (const Lane& lane : worker.lanes) {
        if (worker.threads_left > 0 || !lane.items.empty()) {
          throw std::runtime_error("the naive executor came to a stop before the end");
        }
        result.launches += lane.put;
        result.fingerprint = (result.fingerprint ^ lane.fingerprint) * 0x100000001b3ULL;
        latest_end_ = std::max(latest_end_, lane.clock);
      }
    }
    result.makespan = latest_end_;
    return result;
  }

 private:
  const Program& program(const Worker& worker) const {
    return *job_.programs[job_.ranks[worker.number].program];
  }
  const GpuSpec& gpu(const Worker& worker) const {
    return input_.gpu_models[input_.gpu_model_of_rank[worker.number]];
  }
  static double factor_of(const std::vector<double>& factors, std::uint32_t rank) {
    return factors.empty() ? 1.0 : factors[rank];
  }

  void hire(std::uint32_t number) {
    Worker& worker = workers_[number];
    worker.number = number;
    worker.lanes.resize(program(worker).streams.size());
    worker.latest.resize(program(worker).events);
    worker.flags.resize(program(worker).flags);
    worker.threads_left = program(worker).threads.size();
    s4u::Host* host = machine_.host(job_.ranks[number].gpu);
    const std::string name = "rank" + std::to_string(number);
    for (std::size_t thread = 0; thread < worker.threads_left; ++thread) {
      simgrid_compat::add_actor(name, host, [this, &worker, thread] { host_thread(worker, thread); });
    }
    for (Lane& lane : worker.lanes) {
      simgrid_compat::add_actor(name, host, [this, &worker, &lane] { stream(worker, lane); });
    }
  }

  void host_thread(Worker& worker, std::size_t thread) {
    const auto& instructions = program(worker).threads[thread].instructions;
    std::vector<std::size_t> awaited(worker.flags.size(), 0);
    double clock = 0;
    for (std::uint32_t step = 0; step < static_cast<std::uint32_t>(job_.steps); ++step) {
      for (std::uint32_t i = 0; i < instructions.size(); ++i) {
        Item item;
        item.instruction = &instructions[i];
        item.where = static_cast<std::uint32_t>(thread) << StreamItem::kThreadShift | i;
        item.step = step;
        execute(worker, item, clock, awaited);
      }
    }
    latest_end_ = std::max(latest_end_, clock);
    if (--worker.threads_left == 0) {
      for (Lane& lane : worker.lanes) {
        lane.news.wake();
      }
    }
  }

  void execute(Worker& worker, Item& item, double& clock, std::vector<std::size_t>& awaited) {
    const Instruction& instruction = *item.instruction;
    const Variation::Row row = input_.variation.row(worker.number, item.step);
    const double factor = factor_of(input_.host_factor, worker.number) * row.host(row.draw(item.where));
    const auto spend = [&](float seconds) {
      clock += static_cast<double>(seconds) * factor;
      sleep_until(clock);
    };
    const auto wait_for = [&](const MomentPtr& moment) {
      if (moment) {
        clock = std::max(clock, moment->await());
      }
    };
    if (instruction.op == Opcode::StartLag) {  // its times are the stream's
      finish(worker, item, clock);
      return;
    }
    spend(instruction.lead);
    switch (instruction.op) {
      case Opcode::Launch:
      case Opcode::Collective: {
        Lane& lane = worker.lanes[instruction.stream];
        const auto depth = static_cast<std::uint64_t>(gpu(worker).launch_queue);
        if (lane.put - lane.begun >= depth) {
          lane.room.wait_until([&] { return lane.put - lane.begun < depth; });
          clock = std::max(clock, lane.latest_start);
        }
        ++lane.put;
        break;
      }
      case Opcode::WaitEvent:
        wait_for(worker.latest[instruction.operand]);
        break;
      case Opcode::WaitStream:
        wait_for(drained(worker.lanes[instruction.stream], clock));
        break;
      case Opcode::WaitDevice: {
        std::vector<MomentPtr> ends;
        for (Lane& lane : worker.lanes) {
          ends.push_back(drained(lane, clock));
        }
        std::for_each(ends.begin(), ends.end(), wait_for);
        break;
      }
      case Opcode::Await:
        wait_for(post(worker, instruction.operand, awaited[instruction.operand]++));
        break;
      default:
        break;
    }
    spend(instruction.cost);
    finish(worker, item, clock);
  }

  /// Applies the effects that an instruction has when it returns.
  void finish(Worker& worker, Item& item, double clock) {
    const Instruction& instruction = *item.instruction;
    switch (instruction.op) {
      case Opcode::Collective: {
        const auto [group, position] = membership(worker, instruction);
        item.number = group->issued[position]++;
        break;
      }
      case Opcode::Launch:
      case Opcode::StartLag:
        break;
      case Opcode::RecordEvent:
        item.moment = worker.latest[instruction.operand] = std::make_shared<Moment>();
        break;
      case Opcode::StreamWait:
        item.moment = worker.latest[instruction.operand];
        break;
      case Opcode::Post: {
        auto& posts = worker.flags[instruction.operand];
        const auto open = std::find_if(posts.begin(), posts.end(), [](auto& p) { return !p->happened; });
        const auto index = static_cast<std::size_t>(open - posts.begin());
        post(worker, instruction.operand, index)->happen(clock);
        return;
      }
      default:
        return;
    }
    item.issue = clock;
    put(worker.lanes[instruction.stream], item);
  }

  static MomentPtr post(Worker& worker, std::uint32_t flag, std::size_t index) {
    auto& posts = worker.flags[flag];
    while (posts.size() <= index) {
      posts.push_back(std::make_shared<Moment>());
    }
    return posts[index];
  }

  static void put(Lane& lane, const Item& item) {
    lane.items.push_back(item);
    lane.news.wake();
  }

  /// The moment when everything on @p lane so far has ended.
  static MomentPtr drained(Lane& lane, double clock) {
    Item record;
    record.issue = clock;
    record.moment = std::make_shared<Moment>();
    put(lane, record);
    return record.moment;
  }

  std::pair<Group*, std::size_t> membership(const Worker& worker, const Instruction& instruction) {
    const CollectiveCall& call = call_of(worker, instruction);
    const std::uint32_t group = job_.ranks[worker.number].groups[call.group];
    const auto& ranks = job_.groups[group].ranks;
    const auto place = std::find(ranks.begin(), ranks.end(), worker.number) - ranks.begin();
    return {&groups_[group], static_cast<std::size_t>(place)};
  }

  const CollectiveCall& call_of(const Worker& worker, const Instruction& instruction) const {
    const auto& slots = job_.ranks[worker.number].collective_slots;
    return program(worker)
        .collectives[instruction.per_rank ? slots[instruction.operand] : instruction.operand];
  }

  void stream(Worker& worker, Lane& lane) {
    for (;;) {
      lane.news.wait_until([&] { return !lane.items.empty() || worker.threads_left == 0; });
      if (lane.items.empty()) {
        return;
      }
      const Item item = lane.items.front();
      if (item.instruction != nullptr && item.instruction->op == Opcode::StartLag) {
        lane.lag = item.instruction;
      } else if (item.instruction != nullptr && item.instruction->op == Opcode::StreamWait) {
        lane.clock = item.moment ? std::max(lane.clock, item.moment->await()) : lane.clock;
      } else if (item.moment) {
        lane.clock = std::max(lane.clock, item.issue);
        item.moment->happen(lane.clock);
      } else {
        begin(worker, lane, item);
        const double end = item.instruction->op == Opcode::Launch ? kernel(worker, lane, item)
                                                                  : collective(worker, lane, item);
        lane.fingerprint =
            (lane.fingerprint ^ std::bit_cast<std::uint64_t>(lane.clock)) * 0x9e3779b97f4a7c15ULL +
            std::bit_cast<std::uint64_t>(end);
        lane.clock = end;
      }
      lane.items.pop_front();
    }
  }

  void begin(const Worker& worker, Lane& lane, const Item& item) {
    const double after_work = lane.lag == nullptr ? 0 : lane.lag->cost;
    const double after_launch = lane.lag == nullptr ? 0 : lane.lag->lead;
    const double gap = lane.begun == 0 ? 0 : gpu(worker).kernel_gap.in_base_units() + after_work;
    lane.clock =
        std::max(lane.clock + gap, item.issue + (gpu(worker).launch_to_start.in_base_units() + after_launch));
    lane.lag = nullptr;
    sleep_until(lane.clock);
    lane.latest_start = lane.clock;
    ++lane.begun;
    lane.room.wake();
  }

  double kernel(const Worker& worker, const Lane& lane, const Item& item) {
    const auto& slots = job_.ranks[worker.number].kernel_slots;
    const std::uint32_t operand = item.instruction->operand;
    const KernelCall& call = program(worker).kernels[item.instruction->per_rank ? slots[operand] : operand];
    const auto* copy = std::get_if<Memcpy>(&call.work);
    if (copy != nullptr && copy->path != Memcpy::Path::DeviceToDevice) {
      throw std::invalid_argument("the naive executor knows no copies over PCIe");
    }
    const Variation::Row row = input_.variation.row(worker.number, item.step);
    const double factor = factor_of(input_.gpu_factor, worker.number) * row.kernel(row.draw(item.where));
    const double alone = model_for(call).predict(call, gpu(worker)).duration.in_base_units();
    const double end = lane.clock + alone * factor;
    sleep_until(end);
    return end;
  }

  double collective(Worker& worker, const Lane& lane, const Item& item) {
    Group& group = *membership(worker, *item.instruction).first;
    Gathering& gathering = group.gatherings[item.number];
    gathering.met = std::max(gathering.met, lane.clock);
    const MomentPtr end = gathering.end;
    if (++gathering.arrived == group.gpus.size()) {
      const CollectiveCall& call = call_of(worker, *item.instruction);
      gathering.plan =
          input_.plan_collective({call.kind, call.type, call.size, call.peer, 0, {}}, group.gpus);
      transfers_->start(gathering.met + gathering.plan.latency.in_base_units(), gathering, group.gpus);
    }
    return end->await();
  }

  const SimulationInput& input_;
  const Job& job_;
  Machine& machine_;
  std::shared_ptr<Transfers> transfers_;
  std::vector<Worker> workers_;
  std::deque<Group> groups_;
  double latest_end_ = 0;
};

}  // namespace

NaiveResult simulate_naively(const SimulationInput& input) {
  Machine machine{*input.fabric, every_part(*input.fabric)};
  return NaiveExecutor{input, machine}.run();
}

}  // namespace lockstep::testing
