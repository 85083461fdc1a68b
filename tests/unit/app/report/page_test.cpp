#include "app/report/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The data block of a page.
nlohmann::json data_in(const std::string& html) {
  const std::string opening = R"(<script type="application/json" id="data">)";
  const auto begin = html.find(opening) + opening.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

Page page_called(const std::string& title) {
  return {"run", title, "A step takes 1 ms.", R"({"name":"x","links":[]})"};
}

TEST(ReportPage, HoldsItsDataAndItsAnswer) {
  const std::string html = page_html(page_called("BERT"));
  EXPECT_THAT(html, HasSubstr("<h1>BERT</h1><p class=\"answer\">A step takes 1 ms.</p>"));
  const nlohmann::json data = data_in(html);
  EXPECT_EQ(data["kind"], "run");
  EXPECT_EQ(data["data"]["name"], "x");
  EXPECT_TRUE(data["timeline"].is_null());
}

TEST(ReportPage, ANameCannotEndItsScript) {
  const std::string name = "</script><script>alert(1)</script><!-- \xe2\x80\xa8";
  Page page = page_called(name);
  page.data = nlohmann::json{{"name", name}}.dump();
  page.scenario = name;
  const std::string html = page_html(page);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(data_in(html)["title"], name);
  EXPECT_EQ(data_in(html)["data"]["name"], name);
  EXPECT_EQ(data_in(html)["scenario"], name);
}

TEST(ReportPage, NeedsNoNetwork) {
  const std::string html = page_html(page_called("BERT"));
  const std::regex outside{
      R"((src|href)\s*=\s*["'](?!data:|#)|url\(|@import|fetch\(|XMLHttpRequest|import\()"};
  std::smatch found;
  EXPECT_FALSE(std::regex_search(html, found, outside)) << found.str();
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(EmbeddedJson, MeansTheSame) {
  const std::string text = R"({"a":"1 < 2 && 3 > 2"})";
  EXPECT_THAT(embedded_json(text), Not(HasSubstr("<")));
  EXPECT_EQ(nlohmann::json::parse(embedded_json(text)), nlohmann::json::parse(text));
}

}  // namespace
}  // namespace lockstep
