#include <cudnn.h>

#include <algorithm>
#include <mutex>

#include "generate/runtime/families.cuh"

// The calls that cuDNN 9 would rather have as graphs: they still choose and run the same kernels.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace benchmark {
namespace {

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) {
    fail(cudnnGetErrorString(status), call);
  }
}

#define BENCHMARK_CHECK_DNN(call) check((call), #call)

constexpr std::size_t kMostWorkspace = 1ULL << 30U;

struct Cudnn {
  Cudnn() { BENCHMARK_CHECK_DNN(cudnnCreate(&handle)); }
  ~Cudnn() { static_cast<void>(cudnnDestroy(handle)); }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  cudnnHandle_t handle = nullptr;
  std::mutex turn;  ///< a handle serves one host thread at a time
};

enum class Pass { Forward, DataGradient, WeightGradient };

/// Descriptors of one convolution for cuDNN, and the algorithm that cuDNN chose.
class Plan {
 public:
  Plan(Cudnn& dnn, const Call& call) : pass{static_cast<Pass>(call.integer("pass"))} {
    const auto size = [&](const char* name, std::int64_t otherwise = 1) {
      return static_cast<int>(call.integer(name, otherwise));
    };
    const cudnnTensorFormat_t format =
        call.integer("channels_first") == 1 ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
    const cudnnDataType_t type = call.type == "fp16"   ? CUDNN_DATA_HALF
                                 : call.type == "bf16" ? CUDNN_DATA_BFLOAT16
                                                       : CUDNN_DATA_FLOAT;
    const cudnnMathType_t math = call.type == "fp32" ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
    BENCHMARK_CHECK_DNN(cudnnCreateTensorDescriptor(&x));
    BENCHMARK_CHECK_DNN(cudnnCreateTensorDescriptor(&y));
    BENCHMARK_CHECK_DNN(cudnnCreateFilterDescriptor(&w));
    BENCHMARK_CHECK_DNN(cudnnCreateConvolutionDescriptor(&convolution));
    const int batch = size("batch");
    const int in = size("in_channels", 0);
    const int out = size("out_channels", 0);
    const int height = size("height", 0);
    const int width = size("width", 0);
    const int filter_height = size("filter_height");
    const int filter_width = size("filter_width");
    const int stride = size("stride");
    const int padding_height = size("padding_height", 0);
    const int padding_width = size("padding_width", 0);
    BENCHMARK_CHECK_DNN(cudnnSetTensor4dDescriptor(x, format, type, batch, in, height, width));
    BENCHMARK_CHECK_DNN(cudnnSetFilter4dDescriptor(w, type, format, out, in, filter_height, filter_width));
    BENCHMARK_CHECK_DNN(cudnnSetConvolution2dDescriptor(convolution, padding_height, padding_width, stride,
                                                        stride, 1, 1, CUDNN_CROSS_CORRELATION,
                                                        CUDNN_DATA_FLOAT));
    BENCHMARK_CHECK_DNN(cudnnSetConvolutionMathType(convolution, math));
    const int out_height = (height + 2 * padding_height - filter_height) / stride + 1;
    const int out_width = (width + 2 * padding_width - filter_width) / stride + 1;
    BENCHMARK_CHECK_DNN(cudnnSetTensor4dDescriptor(y, format, type, batch, out, out_height, out_width));
    const std::int64_t bytes = bytes_of_type(call.type);
    of_x = bytes * batch * in * height * width;
    of_w = bytes * in * out * filter_height * filter_width;
    of_y = bytes * batch * out * out_height * out_width;
    choose(dnn);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    static_cast<void>(cudnnDestroyConvolutionDescriptor(convolution));
    static_cast<void>(cudnnDestroyFilterDescriptor(w));
    static_cast<void>(cudnnDestroyTensorDescriptor(y));
    static_cast<void>(cudnnDestroyTensorDescriptor(x));
  }

  Pass pass;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  std::int64_t of_x = 0, of_w = 0, of_y = 0;
  std::size_t workspace = 0;
  cudnnConvolutionFwdAlgo_t forward{};
  cudnnConvolutionBwdDataAlgo_t data_gradient{};
  cudnnConvolutionBwdFilterAlgo_t weight_gradient{};

 private:
  /// The first that cuDNN expects to be fast and whose workspace is small enough.
  template <class Performance, std::size_t Count>
  auto best(const Performance (&found)[Count], int count) {
    for (int i = 0; i < count; ++i) {
      if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].memory <= kMostWorkspace) {
        workspace = found[i].memory;
        return found[i].algo;
      }
    }
    fail("no algorithm for this convolution", "cudnnGetConvolutionAlgorithm");
  }

  void choose(Cudnn& dnn) {
    constexpr int kMost = 8;
    int count = 0;
    if (pass == Pass::Forward) {
      cudnnConvolutionFwdAlgoPerf_t found[kMost];
      BENCHMARK_CHECK_DNN(
          cudnnGetConvolutionForwardAlgorithm_v7(dnn.handle, x, w, convolution, y, kMost, &count, found));
      forward = best(found, count);
    } else if (pass == Pass::DataGradient) {
      cudnnConvolutionBwdDataAlgoPerf_t found[kMost];
      BENCHMARK_CHECK_DNN(cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn.handle, w, y, convolution, x, kMost,
                                                                      &count, found));
      data_gradient = best(found, count);
    } else {
      cudnnConvolutionBwdFilterAlgoPerf_t found[kMost];
      BENCHMARK_CHECK_DNN(cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn.handle, x, y, convolution, w,
                                                                        kMost, &count, found));
      weight_gradient = best(found, count);
    }
  }
};

}  // namespace

Launch make_convolution(Device& device, const Call& call) {
  auto& dnn = device.library<Cudnn>();
  const auto plan = std::make_shared<Plan>(dnn, call);
  Arena& input = device.input(call.type);
  Arena& output = device.output();
  for (const std::int64_t bytes : {plan->of_x, plan->of_w, plan->of_y}) {
    input.need(bytes);
    output.need(bytes);
  }
  const auto workspace = static_cast<std::int64_t>(plan->workspace);
  output.need(workspace);
  return [=, &dnn, &input, &output](cudaStream_t stream) {
    const float one = 1;
    const float zero = 0;
    const Plan& p = *plan;
    void* const space = output.take(workspace);
    const std::lock_guard lock{dnn.turn};
    BENCHMARK_CHECK_DNN(cudnnSetStream(dnn.handle, stream));
    if (p.pass == Pass::Forward) {
      BENCHMARK_CHECK_DNN(cudnnConvolutionForward(dnn.handle, &one, p.x, input.take(p.of_x), p.w,
                                                  input.take(p.of_w), p.convolution, p.forward, space,
                                                  p.workspace, &zero, p.y, output.take(p.of_y)));
    } else if (p.pass == Pass::DataGradient) {
      BENCHMARK_CHECK_DNN(cudnnConvolutionBackwardData(dnn.handle, &one, p.w, input.take(p.of_w), p.y,
                                                       input.take(p.of_y), p.convolution, p.data_gradient,
                                                       space, p.workspace, &zero, p.x, output.take(p.of_x)));
    } else {
      BENCHMARK_CHECK_DNN(cudnnConvolutionBackwardFilter(
          dnn.handle, &one, p.x, input.take(p.of_x), p.y, input.take(p.of_y), p.convolution,
          p.weight_gradient, space, p.workspace, &zero, p.w, output.take(p.of_w)));
    }
  };
}

}  // namespace benchmark
