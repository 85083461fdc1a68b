/// @file
/// What a simulation has of its machine in SimGrid, and what SimGrid tells of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/machine.hpp"
#include "sim/tracing.hpp"
#include "tests/support/contended_job.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two ranks of a node of 8 add up 20 ticks' worth, beside work of their hosts.
class TwoOfEight : public ::testing::Test {
 protected:
  Fabric fabric_ = rail_fabric(1);
  CollectivePlanner planner_{fabric_, rings()};
  Job job_ = job_of(fabric_, {script(1), script(2)}, {{"pair", {0, 1}}});

  static Script script(double delay) {
    Script script({"compute", "communication"}, {"pair"});
    script.work(delay).launch(0, 3).all_reduce(1, 0, Bytes{9e6}, 1);
    return script;
  }

  [[nodiscard]] std::vector<std::size_t> sizes(const SimulationOptions& options) const {
    return in_child([&] {
      const PlatformSize size = simulate(input_of(job_, fabric_, planner_), options, nullptr).platform;
      return std::vector<std::size_t>{size.hosts, size.links, size.actors};
    });
  }
};

// Two GPUs and their socket; each GPU sends to the NVSwitch and receives from it; a thread and two streams
// each.
TEST_F(TwoOfEight, HaveTheHostsAndLinksThatTheyUse) {
  EXPECT_THAT(sizes(options_for(EngineMode::RunAhead)), ElementsAre(3U, 4U, 6U));
  EXPECT_THAT(sizes(options_for(EngineMode::S4u)), ElementsAre(3U, 4U, 6U));
  EXPECT_THAT(sizes(options_for(EngineMode::Bare)), ElementsAre(0U, 0U, 6U));
}

// Flows ask SimGrid for routes: 8 GPUs and a socket, and all links.
TEST_F(TwoOfEight, HaveTheWholeMachineForFlows) {
  EXPECT_THAT(sizes(options_for(EngineMode::RunAhead, false, NetworkMode::Flows)),
              ElementsAre(9U, fabric_.links().size(), 6U));
}

// The plan of an uneven call is not known before it meets.
TEST_F(TwoOfEight, HaveAllLinksForUnevenCalls) {
  CollectiveCall call{CollectiveKind::AllToAll, DataType::FP32, 0, Bytes{8e6}, {}, 0};
  call.send_bytes = {6e6, 2e6};
  std::vector<Script> scripts(2, Script({"communication"}, {"pair"}).collective(0, call));
  job_ = job_of(fabric_, scripts, {{"pair", {0, 1}}});
  EXPECT_THAT(sizes(options_for(EngineMode::RunAhead)), ElementsAre(3U, fabric_.links().size(), 4U));
}

TEST(Platform, OfAFoldedJobHasWhatOneRankUses) {
  const Fabric fabric = rail_fabric(2);
  const CollectivePlanner planner{fabric};
  const Job job = contended_job(fabric, 16, 1);
  SimulationOptions options;
  const auto size = [&] {
    return in_child([&] {
      const SimulationResult result = simulate(input_of(job, fabric, planner), options, nullptr);
      return std::vector<std::size_t>{result.simulated_ranks, result.platform.hosts, result.platform.links};
    });
  };
  const std::vector<std::size_t> full = size();
  options.fold = true;
  const std::vector<std::size_t> folded = size();
  EXPECT_THAT(full, ::testing::ElementsAre(16U, 18U, full[2]));
  EXPECT_LT(folded[0], full[0]);
  EXPECT_LT(folded[1], full[1]);
  EXPECT_LT(folded[2], full[2]);
  EXPECT_GT(folded[2], 0U);
}

/// Like the simulations of a replay: the clock goes on, dates count from the beginning of each.
TEST(Platform, CarriesSeveralSimulationsOneAfterAnother) {
  const Fabric fabric = rail_fabric(2, 2);
  const CollectivePlanner planner{fabric};
  const Job job = contended_job(fabric, 16, 1);
  auto input = input_of(job, fabric, planner);
  input.variation = jitter(0.1);
  const Agreement bare = agreement_of(simulate(input, options_for(EngineMode::Bare), nullptr));
  const std::string same = in_child([&] {
    Machine machine{fabric, every_part(fabric)};
    input.machine = &machine;
    std::string results;
    for (const EngineMode mode : {EngineMode::RunAhead, EngineMode::S4u, EngineMode::RunAhead}) {
      results += agreement_of(simulate(input, options_for(mode), nullptr)) == bare ? "same " : "other ";
    }
    return results;
  });
  EXPECT_EQ(same, "same same same ");
}

/// Containers of a Paje file by name: type and the name of the parent.
struct Paje {
  std::map<std::string, std::string> parents_of_hosts, parents_of_links, parents_of_actors;
  std::map<std::string, std::vector<double>> loads;  // by link, bytes a second
};

/// SimGrid writes `0 alias parent name` for a type, `6 date alias type container "name"` for a container, and
/// `8 date type container value` for a value of a variable.
Paje read_paje(const std::filesystem::path& file) {
  std::map<std::string, std::string> types, names, variables;
  Paje paje;
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words{line};
    std::string event, date, alias, parent, name, type;
    words >> event;
    if (event == "0" || event == "1") {
      words >> alias >> parent >> name;
      types[alias] = name;
    } else if (event == "6") {
      words >> date >> alias >> type >> parent >> name;
      name = name.substr(1, name.size() - 2);
      names[alias] = name;
      auto& place = types[type] == "HOST"    ? paje.parents_of_hosts
                    : types[type] == "ACTOR" ? paje.parents_of_actors
                                             : paje.parents_of_links;
      place[name] = names[parent];
    } else if (event == "8") {
      double value = 0;
      words >> date >> type >> alias >> value;
      if (types[type] == "bandwidth_used") {
        paje.loads[names[alias]].push_back(value);
      }
    }
  }
  return paje;
}

// A ring of two with half of 9 MB on each of its two steps: each GPU sends and receives at the NVLink's 450
// GB/s.
TEST_F(TwoOfEight, AreInSimgridsTraceWithTheirLoads) {
  const test::ScratchFolder folder;
  SimulationOptions options = options_for(EngineMode::S4u);
  const Agreement untraced = simulated_in_child(input_of(job_, fabric_, planner_), options);
  options.tracing = {"tracing:yes", "tracing/platform:yes", "tracing/actor:yes",
                     "tracing/filename:" + (folder / "run.paje").string()};
  EXPECT_EQ(simulated_in_child(input_of(job_, fabric_, planner_), options), untraced);
  const Paje paje = read_paje(folder / "run.paje");
  std::set<std::string> hosts, links;
  for (const auto& [name, parent] : paje.parents_of_hosts) {
    hosts.insert(name);
  }
  EXPECT_THAT(hosts, ElementsAre("node0.cpu0", "node0.gpu0", "node0.gpu1"));
  EXPECT_EQ(paje.parents_of_links.count("node0.gpu0->node0.nvswitch0"), 1U);
  std::map<std::string, std::string> homes;
  for (const auto& [name, parent] : paje.parents_of_actors) {
    homes[name.substr(0, name.find('-'))] = parent;  // SimGrid adds a number
  }
  EXPECT_EQ(homes, (std::map<std::string, std::string>{{"rank0.communication", "node0.gpu0"},
                                                       {"rank0.compute", "node0.gpu0"},
                                                       {"rank0.main", "node0.cpu0"},
                                                       {"rank1.communication", "node0.gpu1"},
                                                       {"rank1.compute", "node0.gpu1"},
                                                       {"rank1.main", "node0.cpu0"}}));
  ASSERT_EQ(paje.loads.count("node0.gpu0->node0.nvswitch0"), 1U);
  EXPECT_THAT(paje.loads.at("node0.gpu0->node0.nvswitch0"),
              ElementsAre(::testing::DoubleNear(450e9, 1e3), 0));
}

std::string refusal(const std::string& setting) {
  try {
    check_tracing_setting(setting);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

TEST(TracingSettings, AreOnlyThoseThatLeaveTheAnswerAlone) {
  for (const char* fine : {"tracing:yes", "tracing:off", "tracing/precision:6", "tracing/filename:a:b",
                           "tracing/comment:two words"}) {
    EXPECT_EQ(refusal(fine), "") << fine;
  }
  EXPECT_THAT(refusal("network/model:SMPI"), HasSubstr("'network/model' is no key of SimGrid's tracing"));
  EXPECT_THAT(refusal("tracing/actors:yes"), HasSubstr("did you mean 'tracing/actor'?"));
  EXPECT_EQ(refusal("tracing:maybe"), "tracing takes yes or no, e.g. tracing:yes");
  EXPECT_EQ(refusal("tracing"), "tracing takes yes or no, e.g. tracing:yes");
  EXPECT_THAT(refusal("tracing/precision:many"),
              AllOf(HasSubstr("digits"), HasSubstr("tracing/precision:9")));
  EXPECT_THAT(refusal("tracing/filename:"), HasSubstr("takes a text"));
}

TEST(TracingSettings, TheLastOneCounts) {
  const std::vector<std::string> settings{"tracing:no", "tracing/filename:a", "tracing:yes",
                                          "tracing/filename:b"};
  EXPECT_TRUE(asks_for_tracing(settings));
  EXPECT_EQ(traced_file(settings), "b");
  EXPECT_EQ(traced_file({}), "simgrid.trace");
  EXPECT_FALSE(asks_for_tracing({}));
}

}  // namespace
}  // namespace lockstep::testing
