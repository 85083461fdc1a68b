// Our kernel lists against those a profiler printed on V100: ../shared/data/kernels/.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/yaml_reader.hpp"
#include "ops/workload/dlrm.hpp"
#include "ops/workload/model_spec.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/kernel_kinds.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

const std::string kMeasured =
    LOCKSTEP_SOURCE_DIR "/../shared/data/kernels/iteration_kernel_traces_v100.csv.gz";

/// The kind of a kernel, whoever names it.
std::string kind_of(const std::string& kernel) {
  constexpr std::array<std::pair<const char*, const char*>, 15> kKinds{
      {{"Memcpy HtoD", "copy to device"},
       {"Memcpy DtoH", "copy to host"},
       {"Memcpy DtoD", "copy"},
       {"batched_embedding_forward", "embedding"},
       {"batched_embedding_backward", "embedding bwd"},
       {"index_elementwise", "index"},
       {"indexing_backward", "index bwd"},
       {"RadixSort", "sort"},
       {"CatArray", "concat"},
       {"reduce_kernel", "reduce"},
       {"elementwise", "elementwise"},
       {"gemv", "gemm"},
       {"gemm", "gemm"},
       {"gemmk1", "gemm"},
       {"Memset", "memset"}}};
  return testing::first_kind(kernel, kKinds);
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

struct MeasuredList {
  std::vector<ListedOperator> operators;
  int library_choices = 0;
};

/// One iteration; columns:
/// run,model,batch,iter,op_in_iter,module,op,kernel_idx,kernel,input_shapes,count,time_us.
MeasuredList measured(const std::string& run, const std::string& iteration) {
  MeasuredList list;
  std::istringstream lines{gzip_text(kMeasured)};
  std::string line, last;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() < 12 || fields[0] != run || fields[3] != iteration) {
      continue;
    }
    const int count = std::stoi(fields[10]);
    if (testing::is_library_choice(fields[8])) {
      list.library_choices += count;
      continue;
    }
    if (fields[4] != last) {
      list.operators.push_back({fields[6], {}});
      last = fields[4];
    }
    for (int i = 0; i < count; ++i) {
      list.operators.back().kernels.push_back(kind_of(fields[8]));
    }
  }
  return list;
}

/// PyTorch 1.8-1.9 named autograd nodes without the trailing 0.
std::string without_number(std::string name) {
  if (name.size() > 1 && name.back() == '0' && name.find("Backward") != std::string::npos) {
    name.pop_back();
  }
  return name;
}

std::vector<std::string> as_lines(const std::vector<ListedOperator>& operators) {
  std::vector<std::string> lines;
  for (const ListedOperator& op : operators) {
    std::vector<std::string> kinds;
    std::transform(op.kernels.begin(), op.kernels.end(), std::back_inserter(kinds), kind_of);
    std::sort(kinds.begin(), kinds.end());  // the lists group equal kernels of an operator
    std::string text = without_number(op.name) + ":";
    for (const std::string& kind : kinds) {
      text += " " + kind;
    }
    lines.push_back(text);
  }
  return lines;
}

/// Its profile has the optimizer's loops as wholes, as these lists have.
HostOverheads host_of_the_traces() {
  HostOverheads host = plain_host();
  host.operators = {{"Optimizer.zero_grad#SGD.zero_grad", {}}, {"Optimizer.step#SGD.step", {}}};
  return host;
}

std::vector<ListedOperator> ours(const std::string& model_name, bool indices_on_host) {
  ModelSpec model = read_file<ModelSpec>(LOCKSTEP_SOURCE_DIR "/configs/models/" + model_name + ".yaml");
  model.dlrm->interaction_indices_on_host = indices_on_host;
  const std::vector<VertexId> gpus(1, 0);
  const std::vector<Bytes> memory(1, 1000_GB);
  return operators_of(dlrm_job(*model.dlrm, {.global_batch = 2048,
                                             .precision = Precision::FP32,
                                             .framework = model.framework,
                                             .parallelism = {},
                                             .host = host_of_the_traces(),
                                             .gradient_accumulation = 1,
                                             .clip_gradients = false,
                                             .gpus = gpus,
                                             .gpu_memory = memory}));
}

TEST(DlrmKernelList, DefaultLaunchesWhatPyTorchLaunched) {
  const MeasuredList real = measured("R4_default_2021-08", "5");
  if (real.operators.empty()) {
    GTEST_SKIP() << "needs " << kMeasured;
  }
  EXPECT_EQ(as_lines(ours("dlrm_default", true)), as_lines(real.operators));
  RecordProperty("library_choices_left_out", real.library_choices);
  std::printf("dlrm_default, R4: %zu operators equal; %d memsets and split-K reductions not launched by us\n",
              real.operators.size(), real.library_choices);
}

TEST(DlrmKernelList, MlperfDiffersWhereThatVersionDid) {
  const MeasuredList real = measured("R3_MLPerf_2021-05", "5");
  if (real.operators.empty()) {
    GTEST_SKIP() << "needs " << kMeasured;
  }
  // That version moved the triangle's indices to the device in the model's code, before each use: two small
  // copies more in forward, index arithmetic on the device in backward. And its loss ended with a resize
  // copy.
  std::vector<std::string> expected;
  for (const ListedOperator& op : real.operators) {
    expected.push_back(as_lines({op}).front());
  }
  const auto index = std::find(expected.begin(), expected.end(), "aten::index: index");
  ASSERT_NE(index, expected.end());
  ASSERT_EQ(*(index - 1), "aten::to: copy to device");
  ASSERT_EQ(*(index - 2), "aten::to: copy to device");
  expected.erase(index - 2, index);
  const auto loss =
      std::find(expected.begin(), expected.end(), "aten::binary_cross_entropy: copy elementwise reduce");
  ASSERT_NE(loss, expected.end());
  *loss = "aten::binary_cross_entropy: elementwise reduce";
  EXPECT_EQ(as_lines(ours("dlrm_mlperf", false)), expected);
}

/// Kernels of each operator in the second list: kinds by operator, of the last segment of its path. Columns:
/// run,stream,path,name,time_us,pct,count,input_shapes.
std::map<std::string, std::multiset<std::string>> kinds_by_operator(const std::string& file) {
  std::map<std::string, std::multiset<std::string>> kinds;
  std::ifstream lines{file};
  std::string line, run;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() < 8 || line.front() == '#' || fields[2].find('/') == std::string::npos) {
      continue;
    }
    if (run.empty()) {
      run = fields[0];  // the others repeat it
    }
    if (fields[0] == run && !testing::is_library_choice(fields[3])) {
      kinds[fields[2].substr(fields[2].rfind('/') + 1)].insert(kind_of(fields[3]));
    }
  }
  return kinds;
}

TEST(DlrmKernelList, OperatorsOfAnotherDlrmAreMadeOfTheSameKernels) {
  const std::string file = LOCKSTEP_SOURCE_DIR "/../shared/data/kernels/fb_dlrm_trace_kernels_v100.csv";
  const auto real = kinds_by_operator(file);
  if (real.empty()) {
    GTEST_SKIP() << "needs " << file;
  }
  std::map<std::string, std::multiset<std::string>> mine;
  for (const ListedOperator& op : ours("dlrm_default", true)) {
    if (!mine.contains(op.name)) {
      std::transform(op.kernels.begin(), op.kernels.end(), std::inserter(mine[op.name], mine[op.name].end()),
                     kind_of);
    }
  }
  EXPECT_EQ(real.at("BmmBackward0"), mine.at("BmmBackward0"));
  EXPECT_EQ(real.at("LookupFunction"), mine.at("LookupFunction"));
  EXPECT_EQ(real.at("LookupFunctionBackward"), mine.at("LookupFunctionBackward"));
  // The list joins all products of a module: each has its bias copy.
  EXPECT_EQ(real.at("aten::addmm").count("gemm"), real.at("aten::addmm").count("elementwise"));
  EXPECT_EQ(mine.at("aten::linear"), (std::multiset<std::string>{"elementwise", "gemm"}));
}

}  // namespace
}  // namespace lockstep
