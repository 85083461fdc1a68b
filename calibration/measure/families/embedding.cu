#include "calibration/measure/families/embedding.cuh"

#include <cuda_fp16.h>

#include "calibration/measure/families/families.cuh"
#include "calibration/measure/zipf.hpp"

namespace lockstep {
namespace {

void draw(EmbeddingTables& t, double exponent) {
  const Zipf zipf{t.rows, exponent};
  const Random random{1, "embedding lookups"};
  std::vector<bool> seen(static_cast<std::size_t>(t.tables * t.rows));
  t.drawn.resize(static_cast<std::size_t>(t.lookups()));
  for (std::size_t i = 0; i < t.drawn.size(); ++i) {
    const std::int64_t row = row_of_rank(zipf.draw(random, i), t.rows);
    const std::int64_t table = static_cast<std::int64_t>(i) / (t.batch * t.pooling);
    t.drawn[i] = row;
    auto known = seen[static_cast<std::size_t>(table * t.rows + row)];
    t.unique_rows += known ? 0 : 1;
    known = true;
  }
}

std::shared_ptr<const EmbeddingTables> made(const GridPoint& point) {
  auto t = std::make_shared<EmbeddingTables>();
  t->tables = point.integer("tables");
  t->rows = point.integer("rows");
  t->dim = point.integer("dim");
  t->batch = point.integer("batch");
  t->pooling = point.integer("pooling");
  t->type = point.text("type");
  draw(*t, static_cast<double>(point.integer("zipf_percent")) / 100);
  t->weights = random_numbers(t->type, t->tables * t->rows * t->dim, 1);
  t->state = zeros(t->tables * t->rows * 4);
  t->indices = device_memory(t->lookups() * 8);
  LOCKSTEP_CHECK(
      cudaMemcpy(t->indices->as<void>(), t->drawn.data(), t->indices->bytes(), cudaMemcpyHostToDevice));
  t->output = random_numbers("fp32", t->bags() * t->dim, 3);
  t->gradient = random_numbers("fp32", t->bags() * t->dim, 2);
  return t;
}

}  // namespace

std::shared_ptr<const EmbeddingTables> embedding_tables(const GridPoint& point) {
  // The passes of a lookup are points one after the other: its tables and indices are made once.
  static std::string last_key;
  static std::shared_ptr<const EmbeddingTables> last;
  const std::string key = point.key().substr(point.text("pass").size());
  if (key != last_key) {
    last.reset();  // before the next is made: both may not fit
    last_key.clear();
    last = made(point);
    last_key = key;
  }
  return last;
}

std::unique_ptr<Experiment> embedding_experiment(const Gpu& gpu, const GridPoint& point) {
  const std::shared_ptr<const EmbeddingTables> tables = embedding_tables(point);
  const std::string& pass = point.text("pass");
  Launch launch;
  if (pass == "forward") {
    launch = embedding_forward(tables);
  } else {
    const SortedLookups sorted = memory_for_sorting(*tables);
    const Launch sort = embedding_sort(tables, sorted);
    launch = pass == "sort" ? sort : embedding_update(tables, sorted);
    sort(gpu.stream());
  }
  return with_facts(gpu_experiment(gpu, Cache::Cold, launch), {std::to_string(tables->unique_rows)});
}

}  // namespace lockstep
