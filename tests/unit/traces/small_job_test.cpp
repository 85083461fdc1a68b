#include "small_job.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

namespace lockstep::test {
namespace {

// Positions in the main thread's instructions.
enum Main : std::uint32_t {
  kForward,
  kAddmm,
  kGemm,
  kEndAddmm,
  kCopy,
  kSet,
  kRecord,
  kWait,
  kAllReduce,
  kEndForward,
  kSynchronize
};

Instruction instruction(Opcode op, std::uint32_t operand = 0, std::uint8_t stream = 0) {
  Instruction one;
  one.op = op;
  one.operand = operand;
  one.stream = stream;
  return one;
}

std::shared_ptr<const Program> small_program() {
  Program program;
  program.streams = {"compute", "nccl"};
  program.groups = {"world"};
  program.names = {"## forward ##", "aten::addmm", "AddmmBackward0"};
  program.kernels = {{"sgemm_128x64", DataType::FP32, Gemm{1, 128, 64, 32}},
                     {"copy", DataType::FP32, Memcpy{Bytes{4194304}, Memcpy::Path::HostToDevice, true}},
                     {"set", DataType::FP32, Memset{Bytes{1024}}}};
  program.collectives = {{CollectiveKind::AllReduce, DataType::FP32, 0, Bytes{1048576}, {}, 0}};
  program.events = 1;
  program.threads.push_back(
      {"main",
       {instruction(Opcode::RangeBegin, 0), instruction(Opcode::RangeBegin, 1),
        instruction(Opcode::Launch, 0), instruction(Opcode::RangeEnd), instruction(Opcode::Launch, 1),
        instruction(Opcode::Launch, 2), instruction(Opcode::RecordEvent, 0),
        instruction(Opcode::StreamWait, 0, 1), instruction(Opcode::Collective, 0, 1),
        instruction(Opcode::RangeEnd), instruction(Opcode::WaitDevice)}});
  program.threads.push_back(
      {"autograd",
       {instruction(Opcode::RangeBegin, 2), instruction(Opcode::Launch, 0), instruction(Opcode::RangeEnd)}});
  return std::make_shared<const Program>(std::move(program));
}

/// One rank's spans of one step; times in microseconds from @p origin.
class Spans {
 public:
  Spans(std::vector<TimelineSpan>& all, std::uint32_t rank, std::uint32_t step)
      : all_{all}, rank_{rank}, step_{step}, origin_{100.0003 * step + 3.0 * rank} {}

  TimelineSpan& add(SpanKind kind, std::uint32_t instruction, double start, double end,
                    std::uint32_t correlation = 0, std::uint8_t thread = 0, std::uint8_t stream = 0) {
    TimelineSpan span;
    span.start = (origin_ + start) * 1e-6;
    span.end = (origin_ + end) * 1e-6;
    span.transfer_start = span.start;
    span.rank = rank_;
    span.instruction = instruction;
    span.correlation = correlation == 0 ? 0 : 5 * step_ + correlation;
    span.step = step_;
    span.kind = kind;
    span.thread = thread;
    span.stream = stream;
    return all_.emplace_back(span);
  }

 private:
  std::vector<TimelineSpan>& all_;
  std::uint32_t rank_, step_;
  double origin_;
};

void add_step(std::vector<TimelineSpan>& all, std::uint32_t rank, std::uint32_t step) {
  Spans spans{all, rank, step};
  spans.add(SpanKind::Runtime, kGemm, 2.0004, 6.0004, 1);
  spans.add(SpanKind::Kernel, kGemm, 9, 20.0006, 1);
  spans.add(SpanKind::Range, kAddmm, 1.0001, 8).depth = 1;
  spans.add(SpanKind::Runtime, kCopy, 10, 14, 2);
  spans.add(SpanKind::Kernel, kCopy, 20.0006, 30, 2);
  spans.add(SpanKind::Runtime, kSet, 14, 16, 3);
  spans.add(SpanKind::Kernel, kSet, 30, 30, 3);  // rounds to nothing
  spans.add(SpanKind::Runtime, kRecord, 16, 17);
  spans.add(SpanKind::Runtime, kWait, 17, 18);
  spans.add(SpanKind::Runtime, kAllReduce, 18, 22, 4);
  // Rank 1 arrives 3 us later; both end at 60 us of rank 0's clock.
  TimelineSpan& all_reduce = spans.add(SpanKind::Collective, kAllReduce, 30, 60 - 3.0 * rank, 4, 0, 1);
  all_reduce.transfer_start = all_reduce.start + (rank == 0 ? 3e-6 : 0);
  spans.add(SpanKind::Range, kForward, 1, 23);
  spans.add(SpanKind::HostWait, kSynchronize, 23, 81);
  spans.add(SpanKind::Runtime, 1, 26, 30, 5, 1);
  spans.add(SpanKind::Kernel, 1, 40, 80, 5, 1);
  spans.add(SpanKind::Range, 0, 25, 31, 0, 1);
}

}  // namespace

Job small_job() {
  Job job;
  job.programs = {small_program()};
  job.groups = {{"world", {0, 1}}};
  job.ranks = {{0, 0, {0}, {}, {}}, {1, 0, {0}, {}, {}}};
  job.steps = 2;
  return job;
}

std::vector<Vertex> two_gpus() {
  return {{VertexKind::Gpu, 0, 0, "node0.gpu0", "A100-SXM4-80GB"},
          {VertexKind::Gpu, 0, 1, "node0.gpu1", "A100-SXM4-80GB"}};
}

std::vector<TimelineSpan> spans_of_small_job(std::uint32_t steps) {
  std::vector<TimelineSpan> all;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {  // actors run ahead: rank 0 is done before rank 1 starts
    for (std::uint32_t step = 0; step < steps; ++step) {
      add_step(all, rank, step);
    }
  }
  return all;
}

std::string gunzip(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file{gzopen(path.c_str(), "rb"), &gzclose};
  if (file == nullptr || gzdirect(file.get()) != 0) {
    throw std::runtime_error{path.string() + " is no gzip file"};
  }
  std::string text;
  std::array<char, 65536> piece{};
  int size = 0;
  while ((size = gzread(file.get(), piece.data(), piece.size())) > 0) {
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  if (size < 0 || gzeof(file.get()) == 0) {
    throw std::runtime_error{path.string() + " is damaged"};
  }
  return text;
}

std::vector<nlohmann::json> events_with(const nlohmann::json& trace, const std::string& member,
                                        const std::string& value) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.value(member, "") == value) {
      found.push_back(event);
    }
  }
  return found;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lockstep_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error{"no temporary directory"};
  }
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::filesystem::remove_all(path_);
}

std::vector<std::string> TemporaryDirectory::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{path_}) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Gunzip, RefusesTextThatIsNotCompressed) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "plain";
  gzFile plain = gzopen(path.c_str(), "wbT");  // T: written as it is
  gzputs(plain, "{}");
  gzclose(plain);
  EXPECT_THROW(gunzip(path), std::runtime_error);
}

}  // namespace lockstep::test
