#pragma once

/// @file
/// Properties checked by rapidcheck inside a googletest case.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <sstream>
#include <string>

namespace lockstep::testing {

/// The same cases every time, unless RC_PARAMS says otherwise (`RC_PARAMS="seed=7 max_success=1000"`).
template <class Property>
void holds(const std::string& what, int cases, const Property& property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (std::getenv("RC_PARAMS") == nullptr) {
    params.seed = 2026;
    params.maxSuccess = cases;
  }
  const auto result = rc::detail::checkTestable(property, rc::detail::TestMetadata{what, what}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
}

}  // namespace lockstep::testing
