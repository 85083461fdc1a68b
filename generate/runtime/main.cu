/// @file
/// Runs the operation table beside it: `benchmark [--steps N] [--host recorded|none] [--one-process]
/// [--annotate]`. One process a rank; the number of a process comes from its launcher (torchrun, mpirun,
/// Slurm, run.sh).

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "generate/runtime/rank_run.cuh"
#include "generate/runtime/results.cuh"

namespace {

using namespace benchmark;

struct Arguments {
  std::string table = "operations.txt";
  std::string output = ".";
  int steps = 0;  // as the table says
  std::string host, log;
  int warm_up = 3;
  bool one_process = false, oversubscribe = false, annotate = false;
};

[[noreturn]] void refuse(const std::string& reason) {
  throw Failure{reason};
}

Arguments arguments_of(int count, char** values) {
  Arguments made;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= count) {
        refuse(name + " needs a value");
      }
      return values[++i];
    };
    if (name == "--table") {
      made.table = value();
    } else if (name == "--output") {
      made.output = value();
    } else if (name == "--steps") {
      made.steps = std::atoi(value().c_str());
      if (made.steps < 1) {
        refuse("--steps: at least 1");
      }
    } else if (name == "--host") {
      made.host = value();
      if (made.host != "recorded" && made.host != "none") {
        refuse("--host is recorded or none");
      }
    } else if (name == "--log") {
      made.log = value();
    } else if (name == "--warm-up") {
      made.warm_up = std::max(std::atoi(value().c_str()), 0);
    } else if (name == "--annotate") {
      made.annotate = true;
    } else if (name == "--one-process") {
      made.one_process = true;
    } else if (name == "--oversubscribe") {
      made.oversubscribe = true;
    } else {
      refuse("there is no option " + name +
             "; there are --table, --output, --steps, --warm-up, --host, --annotate, --log, --one-process, "
             "--oversubscribe");
    }
  }
  return made;
}

/// The first of these variables that is set.
int variable(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return std::atoi(value);
    }
  }
  return otherwise;
}

/// Host threads spin: with fewer cores they would wait for each other.
void expect_cores(const Table& table, std::size_t local_ranks, bool oversubscribe) {
  std::size_t threads = 0;
  for (const Program& program : table.programs) {
    threads = std::max(threads, program.threads.size());
  }
  const std::size_t cores = std::thread::hardware_concurrency();
  if (!oversubscribe && threads * local_ranks > cores) {
    refuse(std::to_string(threads * local_ranks) + " host threads on " + std::to_string(cores) +
           " cores: their times would be of the waiting for a core; --oversubscribe runs them all the same");
  }
}

void run(const Table& table, std::uint32_t rank, int device, Rendezvous& rendezvous,
         const Arguments& arguments) {
  RunOptions options;
  options.steps = arguments.steps > 0 ? arguments.steps : table.steps;
  options.warm_up = arguments.warm_up;
  options.annotate = arguments.annotate;
  options.host_recorded = arguments.host.empty() ? table.host_recorded : arguments.host == "recorded";
  options.log = arguments.log.empty() ? "" : arguments.log + "." + std::to_string(rank);
  const Measured measured = run_rank(table, rank, device, rendezvous, options);
  const std::string file = arguments.output + "/measured." + std::to_string(rank) + ".json";
  std::ofstream out{file};
  out << to_json(measured, rank);
  if (!out.flush()) {
    refuse(file + " cannot be written");
  }
  std::cout << to_text(measured, rank) + "\n" << std::flush;
}

void run_all_here(const Table& table, const Arguments& arguments) {
  expect_cores(table, table.ranks.size(), arguments.oversubscribe);
  Rendezvous rendezvous{""};
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < table.ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        run(table, rank, static_cast<int>(rank), rendezvous, arguments);
      } catch (const std::exception& problem) {
        std::cerr << "rank " + std::to_string(rank) + ": " + problem.what() + "\n";
        std::_Exit(1);  // the others would wait for ever
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void run_here(const Table& table, const Arguments& arguments) {
  const int rank = variable({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, 0);
  const int count = variable({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, 1);
  const int local =
      variable({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, rank);
  const int local_count = variable(
      {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"}, count);
  if (count != static_cast<int>(table.ranks.size())) {
    refuse(std::to_string(table.ranks.size()) + " ranks are needed, and " + std::to_string(count) +
           " processes run: ./run.sh starts them, or --one-process");
  }
  const char* folder = std::getenv("BENCHMARK_RENDEZVOUS");
  if (folder == nullptr && count > 1) {
    refuse("BENCHMARK_RENDEZVOUS names no folder that all processes see: ./run.sh makes one");
  }
  expect_cores(table, static_cast<std::size_t>(local_count), arguments.oversubscribe);
  Rendezvous rendezvous{folder == nullptr ? "" : folder};
  run(table, static_cast<std::uint32_t>(rank), local, rendezvous, arguments);
}

}  // namespace

int main(int count, char** values) {
  try {
    const Arguments arguments = arguments_of(count, values);
    std::ifstream text{arguments.table};
    if (!text) {
      refuse(arguments.table + " cannot be read");
    }
    const Table table = read_table(text);
    if (arguments.one_process) {
      run_all_here(table, arguments);
    } else {
      run_here(table, arguments);
    }
  } catch (const TableError& problem) {
    std::cerr << "operation table, line " << problem.line << ": " << problem.what() << '\n';
    return 2;
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
  return 0;
}
