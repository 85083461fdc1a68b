#include "app/commands/validate.hpp"

#include <gtest/gtest.h>

#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

ValidationSet set_of(const std::string& table) {
  ValidationSet set;
  set.table = table;
  return set;
}

TEST(FolderOfTables, IsBesideTheSetWhereItsTableIs) {
  const test::ScratchFolder folder;
  const auto set_file = folder.path() / "configs" / "validation" / "set.yaml";
  folder.write("configs/validation/measured/small.csv", "a\n1\n");
  EXPECT_EQ(folder_of_tables(set_of("small.csv"), set_file, ""), set_file.parent_path() / "measured");
  EXPECT_EQ(folder_of_tables(set_of("small.csv"), set_file, "elsewhere"),
            set_file.parent_path() / "measured");
  EXPECT_EQ(folder_of_tables(set_of("large.csv"), set_file, "elsewhere"), "elsewhere");
  EXPECT_EQ(folder_of_tables(set_of("large.csv"), set_file, ""), usual_data_folder(set_file));
}

}  // namespace
}  // namespace lockstep
