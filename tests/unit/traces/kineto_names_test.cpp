#include "traces/kineto_names.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "traces/kernel_shapes.hpp"
#include "traces/timeline_text.hpp"

namespace lockstep {
namespace {

using nlohmann::json;

json members(const std::string& text) {
  return json::parse("{" + text + "\"end\":0}");
}

// Names as they stand in the traces of ../shared/data/traces.
TEST(KinetoNames, TellsOperatorsFromAnnotations) {
  for (const char* name : {"aten::addmm", "AddmmBackward0", "BinaryCrossEntropyWithLogitsBackward0",
                           "autograd::engine::evaluate_function: SumBackward1", "record_param_comms",
                           "LookupFunction", "All2All_ReqBackward"}) {
    EXPECT_TRUE(names_operator(name)) << name;
  }
  for (const char* name : {"## forward ##", "Optimizer.step#Adagrad.step", "DistributedDataParallel.forward",
                           "nccl:all_reduce", "## KJTAllToAllTensorsAwaitable wait() ##", "123",
                           "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}) {
    EXPECT_FALSE(names_operator(name)) << name;
  }
}

TEST(KinetoNames, CopiesAreNamedByDirection) {
  const auto name = [](Memcpy::Path path, bool pinned) {
    return slice_name(KernelCall{"copy", DataType::FP32, Memcpy{Bytes{8}, path, pinned}});
  };
  EXPECT_EQ(name(Memcpy::Path::HostToDevice, true), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(name(Memcpy::Path::DeviceToHost, false), "Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(name(Memcpy::Path::DeviceToDevice, true), "Memcpy DtoD (Device -> Device)");
}

TEST(KinetoNames, ReducingCollectivesCarryTheirType) {
  const auto name = [](CollectiveKind kind, NcclNames names) {
    return slice_name(CollectiveCall{kind, DataType::BF16, 0, Bytes{64}, {}, 0}, names);
  };
  EXPECT_EQ(name(CollectiveKind::AllReduce, NcclNames::DevKernel), "ncclDevKernel_AllReduce_Sum_bf16");
  EXPECT_EQ(name(CollectiveKind::ReduceScatter, NcclNames::Kernel), "ncclKernel_ReduceScatter_Sum_bf16");
  EXPECT_EQ(name(CollectiveKind::AllGather, NcclNames::DevKernel), "ncclDevKernel_AllGather");
  EXPECT_EQ(name(CollectiveKind::AllToAll, NcclNames::DevKernel), "ncclDevKernel_SendRecv");
}

TEST(KinetoNames, ElementsOfAMessage) {
  // 1024 FP32 elements among 8 ranks: sizes are those of the large buffer (ops/collectives/collective.hpp).
  const auto elements = [](CollectiveKind kind) {
    const MessageElements message =
        message_elements(CollectiveCall{kind, DataType::FP32, 0, Bytes{4096}, {}, 0}, 8);
    return std::pair{message.in, message.out};
  };
  EXPECT_EQ(elements(CollectiveKind::AllReduce), (std::pair{1024UL, 1024UL}));
  EXPECT_EQ(elements(CollectiveKind::AllGather), (std::pair{128UL, 1024UL}));
  EXPECT_EQ(elements(CollectiveKind::ReduceScatter), (std::pair{1024UL, 128UL}));
  EXPECT_EQ(elements(CollectiveKind::Barrier), (std::pair{1UL, 1UL}));
}

TEST(KinetoNames, EveryKernelsShapeIsJson) {
  const EmbeddingBags bags{32, {{1000, 64, 10, 0}, {500, 64, 2.5, 0}}, Direction::Backward, Optimizer::Sgd};
  for (const KernelWork& work : std::initializer_list<KernelWork>{
           Gemm{}, Pointwise{}, Reduction{}, Concat{}, Transpose{}, TriangularIndex{}, Softmax{}, LayerNorm{},
           FlashAttention{}, bags, IndexSelect{}, OptimizerUpdate{}, Memcpy{}, Memset{}, Timed{}}) {
    const json shape = members(shape_members({"kernel", DataType::FP16, work}));
    EXPECT_EQ(shape["type"], "fp16");
  }
  const json gemm = members(shape_members({"gemm", DataType::TF32, Gemm{4, 128, 64, 32, true, false}}));
  EXPECT_EQ(gemm["m"], 128);
  EXPECT_EQ(gemm["transpose"], "TN");
  const json embedding = members(shape_members({"embedding", DataType::FP32, bags}));
  EXPECT_EQ(embedding["lookups"], 32 * 12.5);
}

TEST(KinetoNames, LongSplitsAreCutAsTheProfilerDoes) {
  CollectiveCall call{CollectiveKind::AllToAll, DataType::FP32, 0, Bytes{0}, {}, 0};
  call.send_bytes.assign(31, 8.0);
  const json shown = members(collective_members(call));
  EXPECT_EQ(shown["Collective name"], "all_to_allv");
  const auto text = shown["In split size"].get<std::string>();
  EXPECT_TRUE(text.starts_with("[2, 2, "));
  EXPECT_TRUE(text.ends_with("2, ...]"));
}

/// A replay's copies have their recorded name and no work.
TEST(KinetoNames, RecordedCopiesAreOfTheirCategory) {
  const auto category = [](const char* name) {
    KernelCall recorded;
    recorded.name = name;
    return category_of(recorded);
  };
  EXPECT_EQ(category("Memcpy HtoD (Pinned -> Device)"), "gpu_memcpy");
  EXPECT_EQ(category("Memset (Device)"), "gpu_memset");
  EXPECT_EQ(category("volta_sgemm_128x64_nn"), "kernel");
}

TEST(StreamNumber, ComputeIsSevenWhereverItStands) {
  Program program;
  program.streams = {"copy", "compute", "nccl"};
  EXPECT_EQ(stream_number(program, 0), 20);
  EXPECT_EQ(stream_number(program, 1), 7);
  EXPECT_EQ(stream_number(program, 2), 21);
  program.streams = {"main", "side"};
  EXPECT_EQ(stream_number(program, 0), 7);
  EXPECT_EQ(stream_number(program, 1), 20);
}

}  // namespace
}  // namespace lockstep
