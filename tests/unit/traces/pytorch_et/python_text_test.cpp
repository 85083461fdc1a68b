#include "traces/pytorch_et/python_text.hpp"

#include <gtest/gtest.h>

namespace lockstep::testing {
namespace {

using pytorch_et::python_quoted;
using pytorch_et::python_text;

TEST(PythonText, IsWhatPythonPrints) {
  EXPECT_EQ(python_text(R"([1, 2.5, "cuda:0", true, null, [[], [3]]])"),
            "[1, 2.5, 'cuda:0', True, None, [[], [3]]]");
  EXPECT_EQ(python_text(R"({"a": false})"), "{'a': False}");
}

TEST(PythonText, OfWhatIsNoJsonIsAText) {
  EXPECT_EQ(python_text("-inf"), "'-inf'");
  EXPECT_EQ(python_quoted("it's a \\"), "'it\\'s a \\\\'");
}

}  // namespace
}  // namespace lockstep::testing
