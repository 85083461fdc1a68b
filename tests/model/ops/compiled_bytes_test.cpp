/// @file
/// What torch.compile saves: kernels, bytes and memory of the same model, compiled and eager.

#include <gtest/gtest.h>

#include <numeric>
#include <variant>

#include "base/yaml_reader.hpp"
#include "ops/workload/model_spec.hpp"
#include "ops/workload/transformer.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

/// Bytes that a kernel moves which is no product, attention, optimizer or copy from the host; again-reads
/// left out.
struct BytesOf {
  DataType type;
  template <class Work>
  double operator()(const Work& work) const {
    const double element = size_of(type).in_base_units();
    if constexpr (std::is_same_v<Work, Pointwise>) {
      return element * static_cast<double>(work.elements) * (work.reads + work.writes);
    } else if constexpr (std::is_same_v<Work, Softmax>) {
      const double alone = work.direction == Direction::Forward ? 2 : 3;
      return element * static_cast<double>(work.rows * work.columns) *
             (work.fused.any() ? work.fused.reads + work.fused.writes : alone);
    } else if constexpr (std::is_same_v<Work, LayerNorm>) {
      const double alone = work.part == LayerNorm::Part::InputGradient ? 3 : 2;
      return element * static_cast<double>(work.rows * work.columns) *
             (work.fused.any() ? work.fused.reads + work.fused.writes : alone);
    } else if constexpr (std::is_same_v<Work, Reduction>) {
      return element * static_cast<double>(work.rows * work.columns);
    } else if constexpr (std::is_same_v<Work, Concat>) {
      return element * 2 * static_cast<double>(work.elements);
    } else if constexpr (std::is_same_v<Work, IndexSelect>) {
      return element * 2 * static_cast<double>(work.picks * work.columns);
    } else {
      return 0;
    }
  }
};

struct Sums {
  double bytes = 0, flops = 0, activations = 0;
  int kernels = 0;
};

struct Case {
  const char* model;
  Precision precision;
  MixedPrecision mixed = MixedPrecision::Autocast;
  Phases phases = Phases::ForwardBackward;
  bool dropout = true;
  int batch = 8;
};

Sums sums_of(const Case& of, Compile compile) {
  TransformerSpec spec =
      *read_file<ModelSpec>(std::string{LOCKSTEP_SOURCE_DIR} + "/configs/models/" + of.model + ".yaml")
           .transformer;
  spec.dropout = of.dropout;
  std::vector<VertexId> gpus{0};
  TrainingSetup setup;
  setup.global_batch = of.batch;
  setup.precision = of.precision;
  setup.mixed_precision = of.mixed;
  setup.phases = of.phases;
  setup.framework.compile = compile;
  setup.host = plain_host();
  setup.gpus = gpus;
  const Job job = transformer_job(spec, setup);
  Sums sums;
  const Program& program = *job.programs.front();
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Launch) {
        const KernelCall& call = program.kernels[i.operand];
        sums.bytes += std::visit(BytesOf{call.type}, call.work);
        ++sums.kernels;
        if (const auto* gemm = std::get_if<Gemm>(&call.work)) {
          sums.flops +=
              2.0 * static_cast<double>(gemm->batch * gemm->m) * static_cast<double>(gemm->n * gemm->k);
        }
      }
    }
  }
  sums.activations = job.memory.at(0)[MemoryUse::Activations];
  return sums;
}

TEST(CompiledTransformer, NeverMovesMoreThanEager) {
  for (const char* const model : {"gpt2", "gpt2_large", "bert_base", "bert_large"}) {
    for (const Precision precision : {Precision::FP32, Precision::TF32, Precision::FP16, Precision::BF16}) {
      for (const MixedPrecision mixed : {MixedPrecision::Autocast, MixedPrecision::Pure}) {
        if (mixed == MixedPrecision::Pure && precision != Precision::BF16) {
          continue;
        }
        for (const Phases phases : {Phases::Forward, Phases::ForwardBackward}) {
          for (const bool dropout : {false, true}) {
            for (const int batch : {1, 4}) {
              const Case of{model, precision, mixed, phases, dropout, batch};
              const Sums eager = sums_of(of, Compile::None), compiled = sums_of(of, Compile::Inductor);
              const std::string what =
                  fmt::format("{} {} {} phases {} dropout {} batch {}", model, name_of(precision),
                              name_of(mixed), name_of(phases), dropout, batch);
              EXPECT_LT(compiled.bytes, eager.bytes) << what;
              EXPECT_LT(compiled.kernels, eager.kernels) << what;
              EXPECT_LE(compiled.activations, eager.activations) << what;
            }
          }
        }
      }
    }
  }
}

/// GPT-2's products are the same in both; only BERT's attention leaves them. On tensor cores the head's three
/// have 7 columns more, 50,264, for 8 x 1,024 tokens of 768.
TEST(CompiledTransformer, MultipliesAsMuch) {
  const auto more = [](Precision precision) {
    const Case of{.model = "gpt2", .precision = precision};
    return sums_of(of, Compile::Inductor).flops - sums_of(of, Compile::None).flops;
  };
  EXPECT_DOUBLE_EQ(more(Precision::FP32), 0);
  EXPECT_DOUBLE_EQ(more(Precision::BF16), 3 * 2 * 8.0 * 1024 * 768 * 7);
}

/// E = 1024 x 8 x 768 elements of the stream, F = 4 E between the GEMMs of feed-forward, 16 E of scores.
/// Eager mode alone keeps the loss's log-softmax in FP32, of all tokens but each sample's last.
TEST(CompiledTransformer, KeepsLessOfGeluNewAndOfAutocastsSoftmax) {
  const double e = 1024.0 * 8 * 768, layers = 12, log_softmax = 4.0 * 8 * 1023 * 50257;
  const Case fp32{.model = "gpt2", .precision = Precision::FP32};
  EXPECT_NEAR(sums_of(fp32, Compile::None).activations - sums_of(fp32, Compile::Inductor).activations,
              log_softmax + layers * e * 4 * (16 - 8),
              1);  // gelu_new 4 F a tensor: three and x / 2, to tanh and the input
  const Case bf16{.model = "gpt2", .precision = Precision::BF16};
  const double scores = 16 * e;
  EXPECT_NEAR(sums_of(bf16, Compile::None).activations - sums_of(bf16, Compile::Inductor).activations,
              1.5 * log_softmax + layers * (4 * e * 8 + scores * 2),
              1);  // of 16 bits, and cast; two FP32 tensors of F; scores for softmax's result
}

}  // namespace
}  // namespace lockstep
