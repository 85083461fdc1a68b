#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/yaml_text.hpp"
#include "base/yaml_tree.hpp"

namespace {

/// The text of a tree. @throws InputError for what is no YAML
std::string text_of(const std::string& yaml) {
  std::vector<lockstep::Problem> problems;
  const lockstep::YamlNode tree = lockstep::parse_yaml(yaml, "fuzz.yaml", problems);
  return lockstep::block_text(tree, [](const lockstep::YamlNode&) { return std::string{}; });
}

}  // namespace

/// Configurations: any text gives a tree or an InputError, and a tree that is written and read is the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string written;
  try {
    written = text_of({reinterpret_cast<const char*>(bytes), size});
  } catch (const lockstep::InputError&) {  // what a broken file should give
    return 0;
  }
  if (text_of(written) != written) {
    __builtin_trap();
  }
  return 0;
}
