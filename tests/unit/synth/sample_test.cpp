#include "synth/sample.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "ops/model_flops.hpp"
#include "sim/compiled_program.hpp"
#include "synth/constraints.hpp"
#include "synth/fit.hpp"
#include "synth/replicas.hpp"
#include "tests/support/layered_job.hpp"

namespace lockstep::synth {
namespace {

using testing::layered_job;
using testing::LayeredSizes;

GpuSpec a100() {
  return testing::shipped_a100();
}

Recording recording_of(const LayeredSizes& sizes) {
  Recording made;
  made.job = layered_job(sizes);
  made.gpu = a100();
  made.labels = {{"batch", static_cast<double>(sizes.tokens)}};
  return made;
}

Model fitted(const std::vector<LayeredSizes>& jobs, bool exact = false) {
  std::vector<Recording> recordings;
  for (const LayeredSizes& job : jobs) recordings.push_back(recording_of(job));
  FitOptions options;
  options.exact = exact;
  return fit(recordings, options);
}

struct Totals {
  double flops = 0, seconds = 0, bytes = 0, launches = 0;
};

/// Of rank 0.
Totals totals_of(const Job& job) {
  Totals totals;
  const Program& program = *job.programs[job.ranks.front().program];
  const std::vector<KernelTiming> times = time_kernels(program, a100());
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Launch) {
        totals.flops += model_flops(program.kernels[i.operand]).in_base_units();
        totals.seconds += times[i.operand].seconds;
        totals.launches += 1;
      } else if (i.op == Opcode::Collective) {
        totals.bytes += program.collectives[i.operand].size.in_base_units();
      }
    }
  }
  return totals;
}

void expect_alike(const Job& sampled, const Job& truth) {
  const Totals a = totals_of(sampled);
  const Totals b = totals_of(truth);
  EXPECT_DOUBLE_EQ(a.flops, b.flops);
  EXPECT_DOUBLE_EQ(a.seconds, b.seconds);
  EXPECT_DOUBLE_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.launches, b.launches);
}

TEST(Sample, WithoutKnobsIsTheJob) {
  const LayeredSizes sizes;
  SampleOptions options;
  expect_alike(sample(fitted({sizes}), a100(), options).job, layered_job(sizes));
}

// One job tells layers, hidden and, by its label, the tokens: the bigger job is what it would be.
TEST(Sample, KnobsOfOneJobGiveTheBiggerJob) {
  SampleOptions options;
  options.symbols = {{"layers", 18}, {"hidden", 1024}, {"batch", 1024}, {"ranks", 16}};
  const Sample made = sample(fitted({LayeredSizes{}}), a100(), options);
  LayeredSizes truth;
  truth.layers = 18;
  truth.hidden = 1024;
  truth.tokens = 1024;
  expect_alike(made.job, layered_job(truth));
  EXPECT_EQ(made.job.ranks.size(), 16U);
  EXPECT_EQ(made.job.groups.front().ranks.size(), 16U);
  EXPECT_EQ(made.repairs, 0U);
}

// Gradients of three layers are scattered at once: a block is one layer all the same.
TEST(Sample, LayersAreNotThoseOfAReduceScatter) {
  LayeredSizes sizes;
  sizes.layers = 12;
  sizes.reduction = CollectiveKind::ReduceScatter;
  sizes.reduced_at_once = 3;
  SampleOptions options;
  options.symbols = {{"layers", 18}};
  LayeredSizes truth = sizes;
  truth.layers = 18;
  expect_alike(sample(fitted({sizes}), a100(), options).job, layered_job(truth));
}

// hidden = tokens in the first job; the second tells them apart.
TEST(Sample, TwoJobsTellWhatOneLeavesOpen) {
  LayeredSizes first;
  first.tokens = 256;
  LayeredSizes second = first;
  second.hidden = 384;
  const Model one = fitted({first});
  EXPECT_EQ(one.jobs.front().unclear, std::vector<std::string>{"batch and hidden"});
  const Model both = fitted({first, second});
  EXPECT_TRUE(both.jobs.front().unclear.empty());
  SampleOptions options;
  options.symbols = {{"hidden", 768}};
  LayeredSizes truth = first;
  truth.hidden = 768;
  expect_alike(sample(both, a100(), options).job, layered_job(truth));
}

TEST(Sample, TheOrderOfTheJobsSaysNothing) {
  LayeredSizes second;
  second.hidden = 384;
  const Model a = fitted({LayeredSizes{}, second});
  const Model b = fitted({second, LayeredSizes{}});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(a.jobs[i].symbols, b.jobs[i].symbols);
    EXPECT_EQ(a.jobs[i].templates[0].kernels, b.jobs[i].templates[0].kernels);
    EXPECT_EQ(a.jobs[i].templates[0].body, b.jobs[i].templates[0].body);
  }
}

TEST(Sample, RefusesKnobsThatTheModelDoesNotKnow) {
  const Model model = fitted({LayeredSizes{}});
  const auto with = [&](const char* name, double value) {
    SampleOptions options;
    options.symbols = {{name, value}};
    static_cast<void>(sample(model, a100(), options));
  };
  EXPECT_THROW(with("experts", 8), std::invalid_argument);
  EXPECT_THROW(with("ranks", 6), std::invalid_argument);  // 4 were recorded
}

// Ranks 0-1 and 2-3 share tensors, 0-2 and 1-3 gradients: gradients are reduced among all replicas.
TEST(Sample, ReplicasJoinTheGroupsOfGradientsAlone) {
  Job job = layered_job({});
  job.programs.front() = [&] {
    Program program = *job.programs.front();
    program.groups = {"tensor", "data"};
    CollectiveCall other = program.collectives.front();
    program.collectives.front().group = 1;
    other.group = 0;
    program.collectives.push_back(other);
    return std::make_shared<const Program>(std::move(program));
  }();
  job.groups = {{"t0", {0, 1}}, {"t1", {2, 3}}, {"d0", {0, 2}}, {"d1", {1, 3}}};
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.ranks[rank].groups = {rank / 2, 2 + rank % 2};
  const Job twice = replicated(job, 2);
  EXPECT_EQ(twice.ranks.size(), 8U);
  const auto members = [&](std::uint32_t rank, std::size_t group) {
    return twice.groups[twice.ranks[rank].groups[group]].ranks;
  };
  EXPECT_EQ(members(5, 0), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(members(5, 1), (std::vector<std::uint32_t>{1, 3, 5, 7}));
}

TEST(Sample, MembersThatCallOtherwiseAreTold) {
  Job job = layered_job({});
  EXPECT_EQ(conflict_of(job), "");
  Program other = *job.programs.front();
  other.collectives.front().size = Bytes{1};
  job.programs.push_back(std::make_shared<const Program>(std::move(other)));
  job.ranks.back().program = 1;
  EXPECT_NE(conflict_of(job), "");
}

// Traces of older PyTorch do not tell sizes.
TEST(Sample, CollectivesOfUnknownSizeStaySo) {
  Recording recording = recording_of({});
  Program untold = *recording.job.programs.front();
  for (CollectiveCall& call : untold.collectives) call.size = Bytes{0};
  recording.job.programs.front() = std::make_shared<const Program>(std::move(untold));
  const Job made = sample(fit({{recording}}, FitOptions{}), a100(), SampleOptions{}).job;
  EXPECT_EQ(totals_of(made).bytes, 0);
}

/// A rank that reduces so many bytes, one all-reduce after the other, each from its thread.
std::shared_ptr<const Program> reducing(const std::vector<std::pair<const char*, double>>& calls) {
  ProgramBuilder rank{plain_host()};
  const StreamId stream = rank.stream("communication");
  const GroupId world = rank.group("world");
  for (const auto& [thread, bytes] : calls) {
    rank.on(rank.thread(thread));
    CollectiveCall call;
    call.group = world;
    call.size = Bytes{bytes};
    rank.collective(stream, call);
  }
  return std::make_shared<const Program>(std::move(rank).build());
}

Job of_two(std::shared_ptr<const Program> first, std::shared_ptr<const Program> second) {
  Job job;
  job.programs = {std::move(first), std::move(second)};
  job.groups = {{"world", {0, 1}}};
  job.ranks = {{0, 0, {0}, {}, {}}, {1, 1, {0}, {}, {}}};
  return job;
}

// A recording may have two threads call on one rank, and one thread on another: only what is called counts.
TEST(Sample, SeveralThreadsOfOneMemberHaveNoOrder) {
  const auto one = reducing({{"main", 4}, {"main", 8}});
  EXPECT_EQ(conflict_of(of_two(one, reducing({{"autograd", 8}, {"main", 4}}))), "");
  EXPECT_EQ(conflict_of(of_two(reducing({{"autograd", 8}, {"main", 4}}), one)), "");
  EXPECT_NE(conflict_of(of_two(one, reducing({{"main", 8}, {"main", 4}}))), "");
  EXPECT_NE(conflict_of(of_two(one, reducing({{"autograd", 8}, {"main", 8}}))), "");
}

}  // namespace
}  // namespace lockstep::synth
