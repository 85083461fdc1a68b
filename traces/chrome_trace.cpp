#include "traces/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace lockstep {
namespace {

// Numbers and fixed text of one event and its flow half; names and shapes come on top.
constexpr std::size_t kRoom = 1024;

// Runtime calls that launch nothing are numbered from here on, beyond the launches of a rank and within 31
// bits.
constexpr std::uint32_t kLaunchesNothing = 1'500'000'000;

/// Nearest nanosecond. Monotone, so slices that nest or follow each other still do.
std::int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

/// `DIR/timeline.json.gz` -> `DIR/timeline.rank07.json.gz`, digits as the largest rank needs.
std::filesystem::path path_of_rank(const std::filesystem::path& path, std::uint32_t rank, std::size_t ranks) {
  const std::string name = path.filename().string();
  const std::size_t dot = std::min(name.find('.'), name.size());
  const std::size_t digits = fmt::formatted_size("{}", ranks - 1);
  return path.parent_path() /
         fmt::format("{}.rank{:0{}}{}", name.substr(0, dot), rank, digits, name.substr(dot));
}

/// Host pid, tid, and time of a slice.
void end_host_slice(JsonCursor& json, const RankLanes& lanes, std::size_t thread, std::int64_t start,
                    std::int64_t end) {
  json.text(R"(},"pid":)").number(lanes.host_pid);
  json.text(R"(,"tid":)").number(host_tid(lanes, thread));
  json.text(R"(,"ts":)").microseconds(start).text(R"(,"dur":)").microseconds(end - start).text("}");
}

}  // namespace

ChromeTraceWriter::ChromeTraceWriter(const Job& job, std::span<const Vertex> vertices,
                                     ChromeTraceOptions options)
    : job_{job},
      options_{std::move(options)},
      compressor_{options_.compression_level, options_.compression_threads} {
  if (options_.ranks.empty()) {
    options_.ranks.resize(job.ranks.size());
    std::iota(options_.ranks.begin(), options_.ranks.end(), 0U);
  }
  std::sort(options_.ranks.begin(), options_.ranks.end());
  options_.ranks.erase(std::unique(options_.ranks.begin(), options_.ranks.end()), options_.ranks.end());
  if (!options_.ranks.empty() && options_.ranks.back() >= job.ranks.size()) {
    throw std::invalid_argument{
        fmt::format("rank {} is not one of the job's {}", options_.ranks.back(), job.ranks.size())};
  }
  add_texts(options_.nccl_names);
  open_files(vertices);
}

ChromeTraceWriter::~ChromeTraceWriter() = default;

void ChromeTraceWriter::add_texts(NcclNames names) {
  texts_.resize(job_.programs.size());
  lanes_.resize(job_.ranks.size());
  for (const std::uint32_t rank : options_.ranks) {
    const RankAssignment& assignment = job_.ranks[rank];
    std::unique_ptr<ProgramText>& text = texts_[assignment.program];
    if (text == nullptr) {
      text = std::make_unique<ProgramText>(*job_.programs[assignment.program], assignment, names);
    }
    lanes_[rank].text = text.get();
  }
  for (const std::string& name : options_.noise) {
    noise_.push_back(noise_slice(name));
  }
  for (const ProcessGroup& group : job_.groups) {
    group_members_.push_back(group_members(group));
  }
}

void ChromeTraceWriter::open_files(std::span<const Vertex> vertices) {
  constexpr std::size_t kMostBlock = std::size_t{1} << 20;
  constexpr std::size_t kLeastBlock = std::size_t{8} << 10;
  constexpr std::size_t kAllBlocks = std::size_t{128} << 20;
  const std::vector<RankLanes> all = lanes_of(job_, vertices, options_.ranks, options_.file_per_rank);
  for (const RankLanes& lanes : all) {
    lanes_[lanes.rank].ids = lanes;
  }
  if (!options_.file_per_rank) {
    open_file(options_.path, vertices, all, kMostBlock);
    return;
  }
  const std::size_t block =
      std::clamp(kAllBlocks / std::max<std::size_t>(all.size(), 1), kLeastBlock, kMostBlock);
  for (const RankLanes& lanes : all) {
    open_file(path_of_rank(options_.path, lanes.rank, job_.ranks.size()), vertices, {&lanes, 1}, block);
  }
}

void ChromeTraceWriter::open_file(std::filesystem::path path, std::span<const Vertex> vertices,
                                  std::span<const RankLanes> ranks, std::size_t block_size) {
  GzipFile& file = *files_.emplace_back(std::make_unique<GzipFile>(path, compressor_, block_size));
  file.append(file_opening(job_, vertices, ranks, options_.of_a_recording));
  for (const RankLanes& lanes : ranks) {
    lanes_[lanes.rank].file = &file;
  }
  paths_.push_back(std::move(path));
}

const Instruction& ChromeTraceWriter::instruction_of(const TimelineSpan& span) const {
  const Program& program = *job_.programs[job_.ranks[span.rank].program];
  return program.threads[span.thread].instructions[span.instruction];
}

std::uint64_t ChromeTraceWriter::external_id(const TimelineSpan& span, const Lane& lane) const {
  const std::uint32_t scope = lane.text->place(span.thread, span.instruction).scope;
  return scope == 0 ? 0 : std::uint64_t{span.step} * lane.text->scopes_per_step + scope;
}

std::uint64_t ChromeTraceWriter::flow_id(const TimelineSpan& span) const {
  return std::uint64_t{span.correlation} * job_.ranks.size() + span.rank;  // unique in a merged file
}

void ChromeTraceWriter::write(std::span<const TimelineSpan> spans) {
  for (const TimelineSpan& span : spans) {
    Lane& lane = lanes_[span.rank];
    if (lane.file == nullptr) {
      continue;
    }
    if (span.step < options_.first_step) {
      extend_step(span, lane);
      continue;
    }
    switch (span.kind) {
      case SpanKind::Range:
      case SpanKind::HostWork:
        write_range(span, lane);
        break;
      case SpanKind::Noise:
        write_noise(span, lane);
        break;
      case SpanKind::Runtime:
      case SpanKind::HostWait:
        write_runtime(span, lane);
        break;
      case SpanKind::Kernel:
        write_kernel(span, lane);
        break;
      case SpanKind::Collective:
        write_collective(span, lane);
        break;
    }
  }
}

void ChromeTraceWriter::write_range(const TimelineSpan& span, Lane& lane) {
  extend_step(span, lane);
  const std::string& head = lane.text->ranges[instruction_of(span).operand];
  JsonCursor json{lane.file->reserve(head.size() + kRoom)};
  json.text(head).number(external_id(span, lane));
  end_host_slice(json, lane.ids, span.thread, nanoseconds(span.start), nanoseconds(span.end));
  lane.file->commit(json.at());
  ++events_;
}

void ChromeTraceWriter::write_noise(const TimelineSpan& span, Lane& lane) {
  extend_step(span, lane);
  const std::string& head = noise_[span.instruction];
  JsonCursor json{lane.file->reserve(head.size() + kRoom)};
  json.text(head).number(0);
  end_host_slice(json, lane.ids, span.thread, nanoseconds(span.start), nanoseconds(span.end));
  lane.file->commit(json.at());
  ++events_;
}

void ChromeTraceWriter::write_runtime(const TimelineSpan& span, Lane& lane) {
  extend_step(span, lane);
  const Instruction& instruction = instruction_of(span);
  const std::string* head = &runtime_head(instruction.op);
  if (instruction.op == Opcode::Launch) {
    const RankAssignment& rank = job_.ranks[span.rank];
    head = &lane.text->launch_heads[instruction.per_rank ? rank.kernel_slots[instruction.operand]
                                                         : instruction.operand];
  }
  const std::int64_t start = nanoseconds(span.start);
  JsonCursor json{lane.file->reserve(head->size() + kRoom)};
  json.text(*head).number(external_id(span, lane));
  json.text(R"(,"correlation":)")
      .number(span.correlation != 0 ? span.correlation : kLaunchesNothing + ++lane.calls);
  if (instruction.op == Opcode::RecordEvent || instruction.op == Opcode::StreamWait ||
      instruction.op == Opcode::WaitEvent) {
    json.text(R"(,"event":)").number(instruction.operand);
  }
  end_host_slice(json, lane.ids, span.thread, start, nanoseconds(span.end));
  ++events_;
  if (span.correlation != 0) {
    json.text(",\n").text(R"({"ph":"s","cat":"ac2g","name":"ac2g","id":)").number(flow_id(span));
    json.text(R"(,"pid":)").number(lane.ids.host_pid);
    json.text(R"(,"tid":)").number(host_tid(lane.ids, span.thread));
    json.text(R"(,"ts":)").microseconds(start).text("}");
    ++events_;
  }
  lane.file->commit(json.at());
}

void ChromeTraceWriter::write_kernel(const TimelineSpan& span, Lane& lane) {
  const Instruction& instruction = instruction_of(span);
  const RankAssignment& rank = job_.ranks[span.rank];
  const std::uint32_t id =
      instruction.per_rank ? rank.kernel_slots[instruction.operand] : instruction.operand;
  const std::string& head = lane.text->kernels[id];
  JsonCursor json{lane.file->reserve(head.size() + kRoom)};
  json.text(head);
  const auto* copy = std::get_if<Memcpy>(&job_.programs[rank.program]->kernels[id].work);
  const std::int64_t duration = nanoseconds(span.end) - nanoseconds(span.start);
  if (copy != nullptr && duration > 0) {
    const double rate = copy->size.in_base_units() / static_cast<double>(duration);  // GB/s is bytes a ns
    json.text(R"_("memory bandwidth (GB/s)":)_").microseconds(std::llround(rate * 1000)).text(",");
  }
  lane.file->commit(end_gpu_slice(json, span, lane).at());
}

void ChromeTraceWriter::write_collective(const TimelineSpan& span, Lane& lane) {
  const Instruction& instruction = instruction_of(span);
  const RankAssignment& rank = job_.ranks[span.rank];
  const std::uint32_t id =
      instruction.per_rank ? rank.collective_slots[instruction.operand] : instruction.operand;
  const CollectiveCall& call = job_.programs[rank.program]->collectives[id];
  const std::uint32_t group = rank.groups[call.group];
  const std::string& head = lane.text->collectives[id];
  const std::string& members = group_members_[group];
  const MessageElements elements = message_elements(call, job_.groups[group].ranks.size());
  const std::uint64_t sequence = std::uint64_t{span.step} * lane.text->collectives_per_step[call.group] +
                                 lane.text->place(span.thread, span.instruction).sequence;
  const std::int64_t met = nanoseconds(span.transfer_start);

  JsonCursor json{lane.file->reserve(head.size() + members.size() + kRoom)};
  json.text(head).text(members);
  if (call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive) {
    json.text(call.kind == CollectiveKind::Send ? R"("Dst Rank":)" : R"("Src Rank":)")
        .number(job_.groups[group].ranks[static_cast<std::size_t>(call.peer)])
        .text(",");
  }
  json.text(R"("In msg nelems":)").number(elements.in);
  json.text(R"(,"Out msg nelems":)").number(elements.out);
  json.text(R"(,"Seq":)").number(sequence);
  json.text(R"(,"waiting_us":)").microseconds(met - nanoseconds(span.start));
  json.text(R"(,"transfer_us":)").microseconds(nanoseconds(span.end) - met).text(",");
  lane.file->commit(end_gpu_slice(json, span, lane).at());
}

JsonCursor& ChromeTraceWriter::end_gpu_slice(JsonCursor& json, const TimelineSpan& span, const Lane& lane) {
  const ProgramText::StreamText& stream = lane.text->streams[span.stream];
  const std::int64_t start = nanoseconds(span.start);
  json.text(R"("External id":)").number(external_id(span, lane));
  json.text(R"(,"device":)").number(lane.ids.device);
  json.text(R"(,"correlation":)").number(span.correlation);
  json.text(stream.slice_tail).number(lane.ids.gpu_pid);
  json.text(R"(,"ts":)").microseconds(start);
  json.text(R"(,"dur":)").microseconds(nanoseconds(span.end) - start).text("}");
  ++events_;
  if (span.correlation != 0) {
    json.text(",\n").text(R"({"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":)").number(flow_id(span));
    json.text(stream.flow_tail).number(lane.ids.gpu_pid);
    json.text(R"(,"ts":)").microseconds(start).text("}");
    ++events_;
  }
  return json;
}

void ChromeTraceWriter::extend_step(const TimelineSpan& span, Lane& lane) {
  if (span.thread != 0) {
    return;
  }
  if (span.step != lane.step) {
    write_step(lane);
    lane.step = span.step;
  }
  lane.step_end = std::max(lane.step_end, nanoseconds(span.end));
}

void ChromeTraceWriter::write_step(Lane& lane) {
  if (lane.text->names_steps || lane.step_end == lane.step_start) {  // or the main thread did nothing
    return;
  }
  if (lane.step < options_.first_step) {
    lane.step_start = lane.step_end;
    return;
  }
  JsonCursor json{lane.file->reserve(kRoom)};
  json.text(",\n").text(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#)").number(lane.step);
  json.text(R"(","args":{"External id":0)");
  end_host_slice(json, lane.ids, 0, lane.step_start, lane.step_end);
  lane.file->commit(json.at());
  lane.step_start = lane.step_end;
  ++events_;
}

void ChromeTraceWriter::finish(const TimelineTracks& tracks) {
  for (const std::uint32_t rank : options_.ranks) {
    write_step(lanes_[rank]);
  }
  if (!options_.file_per_rank) {
    const TrackEvents added = track_events(job_, tracks, first_pid_of_tracks(job_.ranks.size()));
    files_.front()->append(added.text);
    events_ += added.count;
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i]->append(file_ending(paths_[i].filename().string(), options_.left_out));
  }
  for (const std::unique_ptr<GzipFile>& file : files_) {
    file->complete();
  }
  for (const std::unique_ptr<GzipFile>& file : files_) {
    file->publish();
  }
}

std::uint64_t ChromeTraceWriter::text_size() const {
  return std::accumulate(files_.begin(), files_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& file) { return sum + file->text_size(); });
}

}  // namespace lockstep
