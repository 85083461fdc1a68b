/// @file
/// Gzip files that are cut off or damaged, of each kind that is read: the same loop over all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "calibration/collectives/nccl_tests_log.hpp"
#include "calibration/csv_table.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/chakra/converted_json.hpp"
#include "traces/chakra/record_reader.hpp"
#include "traces/comparison/recorded_run.hpp"
#include "traces/json_outline.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/pipeline/timeline.hpp"
#include "traces/pytorch_et/trace_reader.hpp"
#include "traces/unpacked.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::string packed(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string bytes(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT: zlib only reads
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());  // NOLINT: zlib's bytes
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

struct Format {
  const char* name;  ///< of a file
  std::string text;
  std::function<void(const std::string& path)> read;
};

const char* const kProfile = R"({"traceEvents": [
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":60,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":6,"dur":9,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":16,"dur":9,"args":{"stream":7,"correlation":1}}
]})";

std::vector<Format> formats() {
  return {
      {"rank.0.et.gz", "\3one\3two\5three",
       [](const std::string& path) {
         chakra::RecordReader reader{path};
         for (std::string_view record; reader.next(record);) {
         }
       }},
      {"chakra.json.gz",
       R"({"workload_graph": [{"id": 1, "name": "a", "type": 4, "runtime": 5}, {"id": 2, "name": "b", "type": 4, "runtime": 5}]})",
       [](const std::string& path) { (void)chakra::read_converted_json(path); }},
      {"profile.json.gz", kProfile, [](const std::string& path) { (void)kineto::read_kineto(path); }},
      {"timeline.json.gz", kProfile, [](const std::string& path) { (void)comparison::read_run(path, 0); }},
      {"outline.json.gz", kProfile, [](const std::string& path) { (void)outline_of(path); }},
      {"et.json.gz", R"({"schema": "1.0.1", "nodes": [{"id": 1, "name": "a", "parent": 1}]})",
       [](const std::string& path) { (void)pytorch_et::read_execution_trace(path); }},
      {"pipeline.json.gz",
       R"([{"name":"thread_name","ph":"M","pid":0,"tid":0,"args":{"name":"PP rank 0, TP rank 0, compute"}},
{"name":"forward-compute","ph":"X","pid":0,"tid":0,"ts":0,"dur":5,"args":{"step":1}}])",
       [](const std::string& path) { (void)pipeline::read_timeline(path); }},
      {"all_reduce.log.gz",
       "#  Rank  0 Group  0 Pid 10 on node1 device  0 [0x0f] NVIDIA H100\n"
       "#  Rank  1 Group  0 Pid 11 on node1 device  1 [0x2d] NVIDIA H100\n"
       "#  size count type redop root time algbw busbw #wrong\n"
       "1048576 262144 float sum -1 100.00 10.49 10.49 0\n",
       [](const std::string& path) {
         CollectiveMeasurements rows;
         (void)NcclTestsLog{"all_reduce"}.read(path, rows);
       }},
      {"table.csv.gz", "a,b\n1,2\n3,4\n", [](const std::string& path) { (void)CsvTable::from_file(path); }},
      {"indices.txt.gz", "1 2 3\n4 5 6\n",
       [](const std::string& path) { (void)unpacked(read_whole_file(path), path); }},
  };
}

/// Empty: it was read.
std::string complaint_about(const Format& format, const std::string& bytes) {
  const test::ScratchFolder folder;
  const std::string path = (folder / format.name).string();
  std::ofstream{path, std::ios::binary} << bytes;
  try {
    format.read(path);
  } catch (const InputError& problem) {
    return problem.what();
  }
  return "";
}

TEST(CutFiles, AreRefusedAtEachByteOfEachFormat) {
  for (const Format& format : formats()) {
    const std::string whole = packed(format.text);
    EXPECT_EQ(complaint_about(format, whole), "") << format.name;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THAT(complaint_about(format, whole.substr(0, size)), HasSubstr("cut off"))
          << format.name << " of " << size << " bytes";
    }
  }
}

// All but what the checksum does not cover: time, level, system (RFC 1952, 2.3).
TEST(CutFiles, AreRefusedWithAnyByteDamaged) {
  constexpr std::size_t kFlags = 3, kHeader = 10;
  for (const Format& format : formats()) {
    const std::string whole = packed(format.text);
    for (std::size_t at = 0; at < whole.size(); at += at == kFlags ? kHeader - kFlags : 1) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      EXPECT_THAT(complaint_about(format, damaged), HasSubstr("cut off or broken"))
          << format.name << " at " << at;
    }
  }
}

TEST(CutFiles, MayBeStrungTogetherButWhole) {
  for (const Format& format : formats()) {
    const std::size_t half = format.text.size() / 2;
    const std::string first = packed(format.text.substr(0, half));
    const std::string both = first + packed(format.text.substr(half));
    EXPECT_EQ(complaint_about(format, both), "") << format.name;
    EXPECT_EQ(complaint_about(format, both + std::string(512, '\0')), "") << format.name;
    for (std::size_t size = first.size() + 1; size < both.size(); ++size) {
      EXPECT_THAT(complaint_about(format, both.substr(0, size)), HasSubstr("cut off")) << format.name;
    }
  }
}

}  // namespace
}  // namespace lockstep
