#pragma once

#include <string>

namespace lockstep {

/// Messages about progress go to stderr, when a person is looking.
class Progress {
 public:
  explicit Progress(bool quiet);

  /// On one line, which the next message replaces.
  void say(const std::string& what) const;

  /// Clears the line.
  void done() const;

 private:
  bool shown_;
};

}  // namespace lockstep
