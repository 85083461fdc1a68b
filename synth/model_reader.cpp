#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "ops/data_type_name.hpp"
#include "ops/kernel_fields.hpp"
#include "synth/model_file.hpp"
#include "synth/reference_names.hpp"
#include "traces/chakra/program_trace.hpp"

namespace lockstep::synth {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostIds = 1U << 24U;
constexpr std::size_t kDeepestBlocks = 16;  // blocks within blocks

[[noreturn]] void complain(const std::string& what) {
  throw std::invalid_argument{what};
}

const Json& at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) complain(fmt::format("'{}' is missing", key));
  return *found;
}

double number(const Json& value, const char* what) {
  if (!value.is_number()) complain(fmt::format("'{}' is a number", what));
  return value.get<double>();
}
double number(const Json& object, const char* key, double otherwise) {
  return object.contains(key) ? number(object[key], key) : otherwise;
}

/// A whole number from 0 to below @p bound.
std::uint32_t index(const Json& value, std::size_t bound, const char* what) {
  const double found = number(value, what);
  if (!(found >= 0 && found < static_cast<double>(bound) && found == std::floor(found))) {
    complain(fmt::format("'{}' cannot be {} (a whole number below {})", what, found, bound));
  }
  return static_cast<std::uint32_t>(found);
}

std::string text(const Json& value, const char* what) {
  if (!value.is_string()) complain(fmt::format("'{}' is a text", what));
  return value.get<std::string>();
}

const Json& list(const Json& object, const char* key) {
  const Json& found = at(object, key);
  if (!found.is_array()) complain(fmt::format("'{}' is a list", key));
  return found;
}

std::vector<std::string> texts(const Json& object, const char* key) {
  std::vector<std::string> made;
  for (const Json& entry : list(object, key)) made.push_back(text(entry, key));
  return made;
}

std::vector<std::uint32_t> indices(const Json& object, const char* key, std::size_t bound) {
  std::vector<std::uint32_t> made;
  if (!object.contains(key)) return made;
  for (const Json& entry : list(object, key)) made.push_back(index(entry, bound, key));
  return made;
}

bool truth(const Json& object, const char* key) {
  if (!object.contains(key)) return false;
  if (!object[key].is_boolean()) complain(fmt::format("'{}' is true or false", key));
  return object[key].get<bool>();
}

DataType type_named(const std::string& name) {
  for (int type = 0; type <= static_cast<int>(DataType::BOOL); ++type) {
    if (data_type_name(static_cast<DataType>(type)) == name) return static_cast<DataType>(type);
  }
  complain(fmt::format("'{}' is no data type", name));
}

CollectiveKind kind_named(const std::string& name) {
  for (int kind = 0; kind <= static_cast<int>(CollectiveKind::Barrier); ++kind) {
    if (to_string(static_cast<CollectiveKind>(kind)) == name) return static_cast<CollectiveKind>(kind);
  }
  complain(fmt::format("'{}' is no collective", name));
}

Opcode opcode_named(const std::string& name) {
  for (int op = 0; op <= static_cast<int>(Opcode::StartLag); ++op) {
    if (chakra::name_of_opcode(static_cast<Opcode>(op)) == name) return static_cast<Opcode>(op);
  }
  complain(fmt::format("'{}' is no instruction", name));
}

Symbols symbols_in(const Json& object, const char* key) {
  Symbols made;
  for (const auto& [name, value] : at(object, key).items()) {
    const double size = number(value, name.c_str());
    if (!(size > 0)) complain(fmt::format("symbol '{}' is above 0", name));
    made[name] = size;
  }
  return made;
}

Monomial monomial_in(const Json& object, const Symbols& symbols) {
  Monomial made;
  made.factor = number(at(object, "factor"), "factor");
  made.with_parameters = truth(object, "with_parameters");
  if (!object.contains("powers")) return made;
  for (const auto& [name, value] : object["powers"].items()) {
    if (!symbols.contains(name)) complain(fmt::format("a size of '{}', which is no symbol of the job", name));
    const double exponent = number(value, "powers");
    constexpr double kMost = 4;
    if (!(std::abs(exponent) <= kMost)) complain(fmt::format("a power of {}", exponent));
    made.powers[name] = static_cast<int>(exponent);
  }
  return made;
}

KernelEntry kernel_in(const Json& object, const Symbols& symbols) {
  KernelEntry made;
  made.call.name = text(at(object, "class"), "class");
  made.call.type = type_named(text(at(object, "type"), "type"));
  std::vector<KernelField> fields;
  for (const auto& [key, value] : at(object, "numbers").items()) {
    fields.push_back({key, number(value, key.c_str()), false});
  }
  made.call.work = work_with(text(at(object, "kind"), "kind"), fields);
  if (object.contains("sizes")) {
    for (const Json& size : list(object, "sizes")) made.sizes.push_back(monomial_in(size, symbols));
  }
  const auto all = fields_of(made.call.work);
  const auto sizes = std::ranges::count_if(all, [](const KernelField& field) { return field.is_size; });
  if (made.sizes.size() != static_cast<std::size_t>(sizes)) {
    complain(fmt::format("a kernel '{}' has {} sizes, not {}", made.call.name, sizes, made.sizes.size()));
  }
  made.residual = number(object, "residual", 0);
  made.spread = number(object, "spread", 0);
  constexpr double kMostLog = 50;
  if (!(std::abs(made.residual) < kMostLog && made.spread >= 0 && made.spread < kMostLog)) {
    complain(fmt::format("kernel '{}': residual and spread are logarithms of factors", made.call.name));
  }
  made.support = index(at(object, "support"), std::numeric_limits<std::uint32_t>::max(), "support");
  return made;
}

CallEntry call_in(const Json& object, const Symbols& symbols, std::size_t groups) {
  CallEntry made;
  CollectiveCall& call = made.call;
  call.kind = kind_named(text(at(object, "kind"), "kind"));
  call.type = type_named(text(at(object, "type"), "type"));
  call.group = index(at(object, "group"), groups, "group");
  call.size = Bytes{number(at(object, "bytes"), "bytes")};
  call.peer = object.contains("peer") ? static_cast<int>(index(object["peer"], kMostIds, "peer")) : 0;
  call.batched = truth(object, "batched");
  if (object.contains("sm_limit"))
    call.sm_limit = static_cast<int>(index(object["sm_limit"], kMostIds, "sm_limit"));
  if (object.contains("send_bytes")) {
    for (const Json& bytes : list(object, "send_bytes"))
      call.send_bytes.push_back(number(bytes, "send_bytes"));
  }
  if (object.contains("recorded")) call.recorded = Seconds{number(object["recorded"], "recorded")};
  made.elements = monomial_in(at(object, "elements"), symbols);
  made.support = index(at(object, "support"), std::numeric_limits<std::uint32_t>::max(), "support");
  return made;
}

/// Reads the body of a template; what a token points to is in the tables.
class BodyReader {
 public:
  explicit BodyReader(const Template& tmpl) : template_{tmpl} {}

  [[nodiscard]] std::vector<Item> items(const Json& body, std::size_t depth) const {
    if (!body.is_array() || depth > kDeepestBlocks) complain("a body is a list of tokens and blocks");
    std::vector<Item> made;
    for (const Json& entry : body) made.push_back(entry.is_array() ? token(entry) : block(entry, depth));
    return made;
  }

 private:
  [[nodiscard]] Item block(const Json& object, std::size_t depth) const {
    Item made;
    made.count = index(at(object, "times"), kMostIds, "times");
    made.body = items(at(object, "of"), depth + 1);
    if (made.count == 0 || made.body.empty()) complain("a block of nothing");
    return made;
  }

  [[nodiscard]] Item token(const Json& list) const {
    enum Place : std::uint8_t {
      AtOp,
      AtThread,
      AtStream,
      AtSource,
      AtOperand,
      AtLead,
      AtCost,
      AtSpread,
      AtReference,
      AtPerRank
    };
    const auto value = [&](Place place) { return place < list.size() ? number(list[place], "token") : 0; };
    const auto bounded = [&](Place place, std::size_t bound, const char* what) {
      return place < list.size() ? index(list[place], bound, what) : 0;
    };
    if (list.empty() || list.size() > AtPerRank + 1) complain("a token has one to ten entries");
    const Program& program = template_.program;
    Item made;
    Token& token = made.token;
    token.op = opcode_named(text(list[AtOp], "token"));
    token.thread = static_cast<std::uint8_t>(bounded(AtThread, program.threads.size(), "thread"));
    token.stream = static_cast<std::uint8_t>(
        bounded(AtStream, std::max<std::size_t>(program.streams.size(), 1), "stream"));
    constexpr std::size_t kSources = 256;
    token.source = static_cast<std::uint8_t>(bounded(AtSource, kSources, "source"));
    token.reference = static_cast<Reference>(bounded(AtReference, kReferences.size(), "reference"));
    token.per_rank = bounded(AtPerRank, 2, "per rank") == 1;
    token.operand = bounded(AtOperand, bound_of(token), "operand");
    check_source(token);
    token.lead = static_cast<float>(value(AtLead));
    token.cost = static_cast<float>(value(AtCost));
    made.spread = static_cast<float>(value(AtSpread));
    if (!(token.lead >= 0 && token.cost >= 0 && made.spread >= 0)) complain("times are not negative");
    return made;
  }

  [[nodiscard]] std::size_t bound_of(const Token& token) const {
    if (token.per_rank) return kMostIds;
    switch (token.op) {
      case Opcode::HostWork:
      case Opcode::RangeBegin:
        return template_.program.names.size();
      case Opcode::Launch:
        return template_.kernels.size();
      case Opcode::Collective:
        return template_.calls.size();
      case Opcode::RecordEvent:
        return template_.program.carried_events.size() + 1;
      default:
        return token.reference == Reference::Carried ? template_.program.carried_events.size() : kMostIds;
    }
  }

  void check_source(const Token& token) const {
    const bool is_thread = token.op == Opcode::Await;
    const bool is_stream = token.op == Opcode::StreamWait || token.op == Opcode::WaitEvent;
    const std::size_t bound = is_thread ? template_.program.threads.size() : template_.program.streams.size();
    if ((is_thread || is_stream) && token.source >= bound && token.reference != Reference::Carried) {
      complain("a token waits for a stream or thread that does not exist");
    }
  }

  const Template& template_;
};

Bucket bucket_in(const Json& object, const Template& tmpl) {
  Bucket made;
  made.item = index(at(object, "item"), tmpl.body.size(), "item");
  made.place = number(at(object, "place"), "place");
  if (!(made.place >= 0 && made.place <= 1)) complain("'place' is a share from 0 to 1");
  std::size_t calls = 0;
  for (const Item& item : BodyReader{tmpl}.items(at(object, "of"), 0)) {
    if (!item.body.empty() || item.token.per_rank) complain("a bucket holds tokens, the same on all ranks");
    calls += item.token.op == Opcode::Collective ? 1 : 0;
    made.tokens.push_back(item.token);
  }
  if (calls != 1) complain("a bucket holds one collective");
  return made;
}

Template template_in(const Json& object, const Symbols& symbols) {
  Template made;
  for (const std::string& thread : texts(object, "threads")) made.program.threads.push_back({thread, {}});
  made.program.streams = texts(object, "streams");
  made.program.groups = texts(object, "groups");
  made.program.names = texts(object, "ranges");
  constexpr std::size_t kMost = 256;
  if (made.program.threads.empty() || made.program.threads.size() > kMost ||
      made.program.streams.size() > kMost) {
    complain("a rank has 1 to 256 threads and at most 256 streams");
  }
  made.program.carried_events.resize(index(at(object, "carried_events"), kMostIds, "carried_events"));
  for (const Json& kernel : list(object, "kernels")) made.kernels.push_back(kernel_in(kernel, symbols));
  for (const Json& call : list(object, "collectives")) {
    made.calls.push_back(call_in(call, symbols, made.program.groups.size()));
  }
  made.body = BodyReader{made}.items(at(object, "body"), 0);
  for (const Json& bucket : list(object, "buckets")) made.buckets.push_back(bucket_in(bucket, made));
  return made;
}

JobModel job_in(const Json& object) {
  JobModel made;
  made.symbols = symbols_in(object, "symbols");
  made.unclear = texts(object, "unclear");
  made.gpu = text(at(object, "gpu"), "gpu");
  made.cluster = text(at(object, "cluster"), "cluster");
  made.has_launches = truth(object, "has_launches");
  made.interferes = truth(object, "interference");
  constexpr std::size_t kMostSteps = 1'000'000;
  made.steps = static_cast<int>(index(at(object, "steps"), kMostSteps, "steps"));
  if (made.steps < 1) complain("'steps' is at least 1");
  made.tokens = static_cast<std::uint64_t>(number(at(object, "tokens"), "tokens"));
  const Json& ranks = list(object, "ranks");
  for (const Json& group : list(object, "groups")) {
    ProcessGroup members{fmt::format("group{}", made.groups.size() + 1), {}};
    for (const Json& rank : group) members.ranks.push_back(index(rank, ranks.size(), "groups"));
    made.groups.push_back(std::move(members));
  }
  for (const Json& tmpl : list(object, "templates"))
    made.templates.push_back(template_in(tmpl, made.symbols));
  for (const Json& rank : ranks) {
    RankAssignment assignment;
    assignment.program = index(at(rank, "template"), made.templates.size(), "template");
    const Template& tmpl = made.templates[assignment.program];
    assignment.groups = indices(rank, "groups", made.groups.size());
    assignment.kernel_slots = indices(rank, "kernel_slots", tmpl.kernels.size());
    assignment.collective_slots = indices(rank, "collective_slots", tmpl.calls.size());
    made.ranks.push_back(std::move(assignment));
  }
  const auto count = made.symbols.find("ranks");
  if (made.ranks.empty() || count == made.symbols.end() ||
      count->second != static_cast<double>(made.ranks.size())) {
    complain("symbol 'ranks' is the number of the job's ranks");
  }
  return made;
}

int line_of(const std::string& content, std::size_t byte) {
  const auto end = content.begin() + static_cast<std::ptrdiff_t>(std::min(byte, content.size()));
  return 1 + static_cast<int>(std::count(content.begin(), end, '\n'));
}

Json parsed(const std::filesystem::path& path, const std::string& content) {
  try {
    return Json::parse(content);
  } catch (const Json::parse_error& problem) {
    throw InputError{{path.string(), line_of(content, problem.byte)},
                     "no model of synthetic traces: the file is no JSON (lockstep synth fit writes models)"};
  } catch (const Json::out_of_range&) {
    throw InputError{{path.string()}, "no model of synthetic traces: it holds a number beyond all bounds"};
  }
}

}  // namespace

Model read_model(const std::filesystem::path& path) {
  const std::string content = read_whole_file(path);
  const Json all = parsed(path, content);
  try {
    if (!all.is_object() || !all.contains("schema") || all["schema"] != kModelSchema) {
      complain(
          fmt::format("no model of synthetic traces: 'schema' is not {} (lockstep synth fit writes models)",
                      kModelSchema));
    }
    Model model;
    model.family = text(at(all, "family"), "family");
    model.min_support = index(at(all, "min_support"), kMostIds, "min_support");
    for (const auto& [name, value] : at(all, "spreads").items())
      model.spreads[name] = number(value, "spreads");
    for (const Json& job : list(all, "jobs")) model.jobs.push_back(job_in(job));
    if (model.jobs.empty()) complain("'jobs' lists at least one job");
    return model;
  } catch (const std::invalid_argument& problem) {
    throw InputError{{path.string()}, problem.what()};
  }
}

}  // namespace lockstep::synth
