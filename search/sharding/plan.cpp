#include "search/sharding/plan.hpp"

namespace lockstep::sharding {

std::vector<Bytes> memory_of(const Plan& plan, const Task& task) {
  std::vector<Bytes> memory(task.devices());
  for (const Piece& piece : plan.pieces) {
    memory[piece.device] += task.size_of(piece.table, piece.columns);
  }
  return memory;
}

std::vector<double> widths_of(const Plan& plan, const Task& task) {
  std::vector<double> widths(task.devices());
  for (const Piece& piece : plan.pieces) {
    widths[piece.device] += static_cast<double>(piece.columns);
  }
  return widths;
}

std::vector<double> indices_of(const Plan& plan, const Task& task) {
  std::vector<double> indices(task.devices());
  for (const Piece& piece : plan.pieces) {
    indices[piece.device] += task.indices_of(piece.table);
  }
  return indices;
}

bool is_valid(const Plan& plan, const Task& task) {
  std::vector<std::int64_t> columns(task.tables.size());
  for (const Piece& piece : plan.pieces) {
    if (piece.table >= columns.size() || piece.device >= task.devices() || piece.columns < 1) {
      return false;
    }
    columns[piece.table] += piece.columns;
  }
  for (std::size_t table = 0; table < columns.size(); ++table) {
    if (columns[table] != task.tables[table].shape.dimension) {
      return false;
    }
  }
  const std::vector<Bytes> memory = memory_of(plan, task);
  for (std::size_t device = 0; device < memory.size(); ++device) {
    if (memory[device] > task.capacity[device]) {
      return false;
    }
  }
  return true;
}

std::vector<Piece> whole_tables(const Task& task) {
  std::vector<Piece> pieces;
  for (std::uint32_t table = 0; table < task.tables.size(); ++table) {
    pieces.push_back({table, task.tables[table].shape.dimension, 0});
  }
  return pieces;
}

}  // namespace lockstep::sharding
