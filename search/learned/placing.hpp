#pragma once

#include <cstdint>
#include <vector>

#include "search/learned/parameter.hpp"
#include "search/sharding/plan.hpp"

namespace lockstep::sharding::learned {

/// Whole tables that go to devices one after the other, none to a device without memory for it.
class Placing {
 public:
  explicit Placing(const Task& task)
      : task_{&task}, plan_{whole_tables(task)}, used_(task.devices()), room_(task.devices()) {}

  /// Finds out which devices have room for the table (room()). @return whether one has
  [[nodiscard]] bool has_room(std::uint32_t table);
  [[nodiscard]] const std::vector<bool>& room() const { return room_; }
  /// @pre it has room
  void put(std::uint32_t table, std::uint32_t device);

  /// Share of a device's memory that is filled.
  [[nodiscard]] double filled(std::uint32_t device) const;
  /// The least memory that a device lacks for the table, as a share of the device's memory.
  [[nodiscard]] double lacking(std::uint32_t table) const;
  /// @pre every table was put somewhere
  [[nodiscard]] const Plan& plan() const { return plan_; }

 private:
  [[nodiscard]] Bytes size_of(std::uint32_t table) const {
    return task_->size_of(table, task_->tables[table].shape.dimension);
  }

  const Task* task_;
  Plan plan_;
  std::vector<Bytes> used_;
  std::vector<bool> room_;
};

/// Table numbers, the largest cost first; of equals the first.
[[nodiscard]] std::vector<std::uint32_t> costliest_first(const Vector& costs);

}  // namespace lockstep::sharding::learned
