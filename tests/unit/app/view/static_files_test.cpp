#include "app/view/static_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX's

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ViewedFolder : public ::testing::Test {
 protected:
  ViewedFolder() {
    std::string name = (fs::temp_directory_path() / "lockstep-view-XXXXXX").string();
    home_ = mkdtemp(name.data());
    fs::create_directories(home_ / "results" / "a run");
    write_whole_file(home_ / "secret.txt", "secret");
    write_whole_file(home_ / "results" / "report.html", "<p>page</p>");
    write_whole_file(home_ / "results" / "a run" / "x & y.json", "{}");
    fs::create_symlink("../secret.txt", home_ / "results" / "link.txt");
  }
  ~ViewedFolder() override { fs::remove_all(home_); }
  ViewedFolder(const ViewedFolder&) = delete;
  ViewedFolder& operator=(const ViewedFolder&) = delete;

  [[nodiscard]] FileAnswer answer(const std::string& target) const {
    return StaticFiles{home_ / "results"}.answer(target);
  }

  fs::path home_;
};

TEST_F(ViewedFolder, IsItsReport) {
  EXPECT_EQ(answer("/").body, "<p>page</p>");
  EXPECT_EQ(answer("/?x=1").status, 200);
  EXPECT_EQ(answer("/report.html").type, "text/html; charset=utf-8");
}

TEST_F(ViewedFolder, ListsAFolderWithoutOne) {
  const FileAnswer listed = answer("/a%20run/");
  EXPECT_THAT(listed.body, HasSubstr(R"(<a href="x%20%26%20y.json">x &amp; y.json</a>)"));
  EXPECT_EQ(answer("/a%20run/x%20%26%20y.json").body, "{}");
}

TEST_F(ViewedFolder, ShowsNothingOutside) {
  for (const char* const target : {"/../secret.txt", "/%2e%2e/secret.txt", "/a%20run/../../secret.txt",
                                   "/link.txt", "//etc/passwd", "/..%2fsecret.txt"}) {
    const FileAnswer found = answer(target);
    EXPECT_THAT(found.status, ::testing::AnyOf(403, 404)) << target;
    EXPECT_THAT(found.body, Not(HasSubstr("secret"))) << target;
  }
}

TEST_F(ViewedFolder, RefusesWhatIsNoPath) {
  EXPECT_EQ(answer("report.html").status, 400);
  EXPECT_EQ(answer("/%zz").status, 400);
  EXPECT_EQ(answer("/%00").status, 400);
  EXPECT_EQ(answer("/%4").status, 400);
  EXPECT_EQ(answer("/nothing").status, 404);
}

TEST_F(ViewedFolder, IsAFolder) {
  EXPECT_THROW(StaticFiles{home_ / "secret.txt"}, InputError);
}

}  // namespace
}  // namespace lockstep
