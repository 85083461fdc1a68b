#include "synth/baselines.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "synth/recorded_nodes.hpp"

namespace lockstep::synth {
namespace {

using Nodes = std::vector<RecordedNode>;

std::vector<Nodes> nodes_of(std::span<const Recording> jobs) {
  std::vector<Nodes> nodes;
  for (const Recording& job : jobs) nodes.push_back(recorded_nodes(job));
  return nodes;
}

std::size_t mean_length(const std::vector<Nodes>& jobs) {
  std::size_t all = 0;
  for (const Nodes& nodes : jobs) all += nodes.size();
  return all / jobs.size();
}

std::size_t lot(const Random& random, std::size_t place, std::size_t choices) {
  return static_cast<std::size_t>(random.uniform(place) * static_cast<double>(choices));
}

/// One rank that runs @p nodes one after the other on one stream.
Recording recording_of(const std::vector<const RecordedNode*>& nodes) {
  Program program;
  program.threads.push_back({"main", {}});
  program.streams = {"compute0"};
  program.groups = {"group1"};
  for (const RecordedNode* node : nodes) {
    Instruction instruction;
    instruction.op = node->is_collective ? Opcode::Collective : Opcode::Launch;
    instruction.lead = node->lead;
    instruction.cost = node->cost;
    if (node->is_collective) {
      instruction.operand = static_cast<std::uint32_t>(program.collectives.size());
      program.collectives.push_back(node->call);
      program.collectives.back().group = 0;
    } else {
      instruction.operand = static_cast<std::uint32_t>(program.kernels.size());
      program.kernels.push_back({node->name, DataType::FP32, Timed{Seconds{node->seconds}}});
    }
    program.threads.front().instructions.push_back(instruction);
  }
  Recording made;
  made.job.programs.push_back(std::make_shared<const Program>(std::move(program)));
  made.job.groups.push_back({"group1", {0}});
  made.job.ranks.push_back({0, 0, {0}, {}, {}});
  return made;
}

}  // namespace

Recording bootstrap_of_nodes(std::span<const Recording> jobs, std::uint64_t seed) {
  const std::vector<Nodes> nodes = nodes_of(jobs);
  std::vector<const RecordedNode*> all;
  for (const Nodes& of_job : nodes) {
    for (const RecordedNode& node : of_job) all.push_back(&node);
  }
  const Random random{seed, "synth.bootstrap"};
  std::vector<const RecordedNode*> drawn;
  for (std::size_t i = 0; i < mean_length(nodes); ++i) drawn.push_back(all[lot(random, i, all.size())]);
  return recording_of(drawn);
}

Recording markov_chain(std::span<const Recording> jobs, std::uint64_t seed) {
  const std::vector<Nodes> nodes = nodes_of(jobs);
  std::map<std::string, std::vector<const RecordedNode*>> of_class;
  std::map<std::string, std::vector<const std::string*>> after;  // by class: those that came next
  std::vector<const std::string*> first;
  for (const Nodes& of_job : nodes) {
    for (std::size_t i = 0; i < of_job.size(); ++i) {
      of_class[of_job[i].name].push_back(&of_job[i]);
      (i == 0 ? first : after[of_job[i - 1].name]).push_back(&of_job[i].name);
    }
  }
  const Random classes{seed, "synth.markov.classes"};
  const Random members{seed, "synth.markov.nodes"};
  std::vector<const RecordedNode*> drawn;
  const std::vector<const std::string*>* next = &first;
  for (std::size_t i = 0; i < mean_length(nodes); ++i) {
    if (next->empty()) next = &first;  // the class that a job ends with
    const std::string& name = *(*next)[lot(classes, i, next->size())];
    const auto& alike = of_class[name];
    drawn.push_back(alike[lot(members, i, alike.size())]);
    next = &after[name];
  }
  return recording_of(drawn);
}

}  // namespace lockstep::synth
