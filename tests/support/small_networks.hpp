#pragma once

#include <string>

namespace lockstep::testing {

inline std::string repeated(const std::string& number, int times) {
  std::string line;
  for (int i = 0; i < times; ++i) line += number + " ";
  return line + "\n";
}

/// Two devices. Compute: features as they are (mean 0, deviation 1; dimension: mean 4, deviation 2), trunk 20
/// -> 1 takes bin_2 + 10 scaled dimensions, then doubles; head adds 1 and passes on. Communication: backward
/// a tenth of the device's width; forward a hundredth of it and how long the other waits.
inline std::string small_networks() {
  std::string text = "20 4\n";
  text += repeated("0", 17) + "4 0 0\n" + repeated("1", 17) + "2 1 1\n";
  text += "1 20\n" + repeated("0", 9) + "1 " + repeated("0", 7) + "10 0 0\n0\n";
  text += "1 1\n2\n0\n";
  text += "1 1\n1\n1\n";
  text += "1 1\n1\n0\n";
  text += "4 1\n" + repeated("0", 4) + repeated("1", 4) + "2 4\n0.01 0 0 1\n0 0.01 1 0\n0 0\n";
  text += "2 1\n0 0\n1 1\n2 2\n0.1 0\n0 0.1\n0 0\n";
  return text;
}

}  // namespace lockstep::testing
