#include "traces/comparison/side_by_side.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "traces/block_compressor.hpp"
#include "traces/gzip_file.hpp"
#include "traces/json_elements.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::comparison {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBlock = 1U << 20U;

/// Writes the events of one run after the other's.
class Writer {
 public:
  explicit Writer(GzipFile& file) : file_{file} {}

  /// @param letter A or B
  void add(const RecordedRun& run, char letter) {
    letter_ = letter;
    pids_.clear();
    const std::int64_t zero = run.start;
    JsonElements elements{"traceEvents", run.file,
                          [&](std::string& text, std::uint64_t /*line*/) { event(run, text, zero); },
                          [](std::string_view /*key*/, std::string& /*text*/, std::uint64_t /*line*/) {}};
    for_each_block(run.file, [&](std::string_view block) { elements.feed(block); });
    name_processes();
  }

 private:
  void event(const RecordedRun& run, const std::string& text, std::int64_t zero) {
    Json event = Json::parse(text, nullptr, false);
    if (!event.is_object() || !event.contains("pid") || !event["pid"].is_number_integer()) {
      return;  // tracks of the profiler's own have texts
    }
    const auto pid = event["pid"].get<std::int64_t>();
    if (!run.processes.empty() && !run.processes.contains(pid)) {
      return;
    }
    const std::string phase = event.value("ph", "");
    const auto [entry, fresh] = pids_.try_emplace(pid, Process{next_pid_, {}});
    next_pid_ += fresh ? 1 : 0;
    if (phase == "M") {
      const std::string what = event.value("name", "");
      if (what == "process_name") {
        const Json& name = event["args"]["name"];
        entry->second.name = name.is_string() ? name.get<std::string>() : "";
      }
      if (what.starts_with("process_")) {
        return;
      }
    } else if (event.contains("ts") && event["ts"].is_number()) {
      constexpr double kMicro = 1e-3;  // of a nanosecond
      event["ts"] = event["ts"].get<double>() - kMicro * static_cast<double>(zero);
    }
    event["pid"] = entry->second.number;
    if (event.contains("id")) {  // of arrows
      const Json& id = event["id"];
      event["id"] = fmt::format("{}{}", letter_, id.is_string() ? id.get<std::string>() : id.dump());
    }
    write(event);
  }

  void name_processes() {
    for (const auto& [pid, process] : pids_) {
      const std::string name = process.name.empty() ? fmt::format("process {}", pid) : process.name;
      for (const auto& [what, key, value] :
           {std::tuple{"process_name", "name", Json(fmt::format("{}: {}", letter_, name))},
            std::tuple{"process_sort_index", "sort_index", Json(process.number)}}) {
        Json arguments;
        arguments[key] = value;
        write({{"name", what},
               {"ph", "M"},
               {"ts", 0},
               {"pid", process.number},
               {"tid", 0},
               {"args", arguments}});
      }
    }
  }

  void write(const Json& event) {
    file_.append(is_first_ ? "\n" : ",\n");
    is_first_ = false;
    file_.append(event.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  struct Process {
    int number = 0;
    std::string name;
  };
  GzipFile& file_;
  char letter_ = 'A';
  std::map<std::int64_t, Process> pids_;  // of the run at hand
  int next_pid_ = 1;
  bool is_first_ = true;
};

}  // namespace

void write_side_by_side(const RecordedRun& a, const RecordedRun& b, const std::filesystem::path& file) {
  BlockCompressor compressor{1, 0};
  GzipFile timeline{file, compressor, kBlock};
  timeline.append(R"({"schemaVersion":1,"displayTimeUnit":"ns","traceEvents":[)");
  Writer writer{timeline};
  writer.add(a, 'A');
  writer.add(b, 'B');
  timeline.append("\n]}\n");
  timeline.complete();
  timeline.publish();
}

}  // namespace lockstep::comparison
