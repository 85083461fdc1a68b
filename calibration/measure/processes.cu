#include "calibration/measure/processes.cuh"

#include <cstdlib>
#include <utility>

#ifdef LOCKSTEP_HAS_MPI
#include <mpi.h>
#endif

namespace lockstep {

#ifdef LOCKSTEP_HAS_MPI
// MPI's own handling of errors ends all processes: return codes need no look.

Processes::Processes(int* count, char*** arguments) {
  MPI_Init(count, arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &index_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, index_, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &index_on_node_);
  MPI_Comm_size(node, &count_on_node_);
  MPI_Comm_free(&node);
}

Processes::~Processes() {
  MPI_Finalize();
}

std::string Processes::from_leader(std::string text) const {
  auto size = static_cast<unsigned long>(text.size());
  MPI_Bcast(&size, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  text.resize(size);
  from_leader(text.data(), text.size());
  return text;
}

void Processes::from_leader(void* data, std::size_t bytes) const {
  MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
}

double Processes::mean(double value) const {
  double sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  // All could differ in the last bit, and then in how often they repeat: the leader's counts.
  from_leader(&sum, sizeof sum);
  return sum / count_;
}

void Processes::meet() const {
  MPI_Barrier(MPI_COMM_WORLD);
}

void Processes::abandon(int exit_code) const {
  if (count_ > 1) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }
  std::exit(exit_code);
}

#else

Processes::Processes(int* /*count*/, char*** /*arguments*/) {}
Processes::~Processes() = default;
std::string Processes::from_leader(std::string text) const {
  return text;
}
void Processes::from_leader(void* /*data*/, std::size_t /*bytes*/) const {}
double Processes::mean(double value) const {
  return value;
}
void Processes::meet() const {}
void Processes::abandon(int exit_code) const {
  std::exit(exit_code);
}

#endif

}  // namespace lockstep
