#pragma once

/// @file
/// SimGrid's clock does not restart, so a process can simulate with it only once: tests that compare runs
/// make each in a child process.

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep::testing {

/// How a child process ended.
struct ChildOutcome {
  std::string result;   ///< the bytes the callable returned
  std::string error;    ///< the text of the exception it threw; empty: none
  std::string printed;  ///< what the child wrote to stdout and stderr
  int exit_code = -1;   ///< -1: killed by a signal, or by the time limit
  bool timed_out = false;
};

namespace in_child_detail {

inline void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const auto written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0) {
      std::_Exit(125);
    }
    done += static_cast<std::size_t>(written);
  }
}

/// In the child: runs, reports 'R' + result or 'E' + exception text, and exits as main() would, so that
/// whatever libraries do at exit is part of the test.
[[noreturn]] inline void live(const std::function<std::string()>& body, int report, int output) {
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  std::string text;
  try {
    text = 'R' + body();
  } catch (const std::exception& error) {
    text = std::string{"E"} + error.what();
  }
  write_all(report, text);
  std::exit(0);
}

/// Appends what there is to read; false at the end of the file.
inline bool drain(int file, std::string& text) {
  std::array<char, 65536> buffer{};
  const auto count = ::read(file, buffer.data(), buffer.size());
  if (count > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return count > 0;
}

}  // namespace in_child_detail

/// Runs @p body in a forked child and waits for its end, at most @p limit.
inline ChildOutcome watch_child(const std::function<std::string()>& body,
                                std::chrono::seconds limit = std::chrono::seconds{60}) {
  std::array<int, 2> report{};
  std::array<int, 2> output{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0 || ::pipe2(output.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe() failed");
  }
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    throw std::runtime_error("fork() failed");
  }
  if (child == 0) {
    ::close(report[0]);
    ::close(output[0]);
    in_child_detail::live(body, report[1], output[1]);
  }
  ::close(report[1]);
  ::close(output[1]);

  ChildOutcome outcome;
  std::string reported;
  std::array<pollfd, 2> files{{{report[0], POLLIN, 0}, {output[0], POLLIN, 0}}};
  const std::array<std::string*, 2> texts{&reported, &outcome.printed};
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(files.data(), files.size(), static_cast<int>(left.count())) == 0) {
      outcome.timed_out = true;
      ::kill(child, SIGKILL);
      break;
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd >= 0 && files[i].revents != 0 && !in_child_detail::drain(files[i].fd, *texts[i])) {
        files[i].fd = -1;  // poll() passes it over from now on
      }
    }
  }
  ::close(report[0]);
  ::close(output[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (!reported.empty()) {
    (reported.front() == 'R' ? outcome.result : outcome.error) = reported.substr(1);
  }
  return outcome;
}

/// Runs @p body in a child and returns its result: a string, a trivially copyable value, or a vector of such.
/// @throws std::runtime_error with the text of the exception it threw, or when the child did not end well
template <class Body>
auto in_child(Body&& body, std::chrono::seconds limit = std::chrono::seconds{60}) {
  using Result = std::invoke_result_t<Body>;
  const auto as_bytes = [](const auto* first, std::size_t count) {
    return std::string{reinterpret_cast<const char*>(first), count * sizeof(*first)};
  };
  const ChildOutcome outcome = watch_child(
      [&]() -> std::string {
        const Result result = body();
        if constexpr (std::is_same_v<Result, std::string>) {
          return result;
        } else if constexpr (std::is_trivially_copyable_v<Result>) {
          return as_bytes(&result, 1);
        } else {
          return as_bytes(result.data(), result.size());
        }
      },
      limit);
  if (outcome.timed_out || outcome.exit_code != 0 || !outcome.error.empty()) {
    throw std::runtime_error(outcome.timed_out ? "the child ran out of time: " + outcome.printed
                             : !outcome.error.empty()
                                 ? outcome.error
                                 : "the child exited with code " + std::to_string(outcome.exit_code) + ": " +
                                       outcome.printed);
  }
  if constexpr (std::is_same_v<Result, std::string>) {
    return outcome.result;
  } else if constexpr (std::is_trivially_copyable_v<Result>) {
    Result result{};
    std::memcpy(&result, outcome.result.data(), std::min(sizeof result, outcome.result.size()));
    return result;
  } else {
    Result result(outcome.result.size() / sizeof(typename Result::value_type));
    std::memcpy(result.data(), outcome.result.data(), outcome.result.size());
    return result;
  }
}

}  // namespace lockstep::testing
