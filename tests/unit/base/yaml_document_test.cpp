#include "base/yaml_document.hpp"

#include <gtest/gtest.h>

#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

/// The tree in one line, e.g. `{a: 1, b: [x, ~]}`.
std::string flat(const YamlNode& node) {
  std::string text;
  switch (node.kind) {
    case YamlNode::Kind::Null:
      return "~";
    case YamlNode::Kind::Scalar:
      return node.scalar;
    case YamlNode::Kind::Sequence:
      for (const YamlNode& item : node.items) {
        text += (text.empty() ? "" : ", ") + flat(item);
      }
      return "[" + text + "]";
    case YamlNode::Kind::Mapping:
      for (const YamlEntry& entry : node.entries) {
        text += (text.empty() ? "" : ", ") + entry.key + ": " + flat(entry.value);
      }
  }
  return "{" + text + "}";
}

std::string flat(const std::string& text) {
  return flat(YamlDocument::from_text(text, "a.yaml").root());
}

template <class Act>
std::string complaint_of(Act act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(YamlDocument, KnowsWhereEachValueIsWritten) {
  const YamlDocument document = YamlDocument::from_text("a: 1\nb:\n  - x\n  - {c: y}\n", "a.yaml");
  const YamlNode& list = document.root().find("b")->value;
  EXPECT_EQ(to_string(document.root().find("b")->at), "a.yaml:2:1");
  EXPECT_EQ(to_string(list.items[1].find("c")->value.at), "a.yaml:4:9");
}

TEST(YamlDocument, CopiesAliases) {
  EXPECT_EQ(flat("a: &x [1, 2]\nb: *x\n"), "{a: [1, 2], b: [1, 2]}");
}

TEST(YamlDocument, MergeKeyAddsWhatIsNotWritten) {
  EXPECT_EQ(flat("base: &base {p: 1, q: 2}\nuse: {q: 3, <<: *base}\n"),
            "{base: {p: 1, q: 2}, use: {q: 3, p: 1}}");
}

TEST(YamlDocument, TheFirstOfSeveralMergedMappingsWins) {
  EXPECT_EQ(flat("- &a {p: 1}\n- &b {p: 2, q: 2}\n- {<<: [*a, *b]}\n"),
            "[{p: 1}, {p: 2, q: 2}, {p: 1, q: 2}]");
}

TEST(YamlDocument, IncludingFileWinsOverIncludedOneAtEveryDepth) {
  const test::ScratchFolder folder;
  folder.write("sub/common.yaml", "w: {batch: 1, lr: 2}\nsteps: 3\nlist: [1, 2]\n");
  folder.write("sub/later.yaml", "steps: 4\n");
  folder.write("a.yaml", "include: [sub/common.yaml, sub/later.yaml]\nw: {batch: 9}\nlist: [7]\n");
  const YamlDocument document = YamlDocument::from_file(folder / "a.yaml");
  EXPECT_EQ(flat(document.root()), "{w: {batch: 9, lr: 2}, steps: 4, list: [7]}");
  EXPECT_EQ(document.root().find("steps")->value.at.file, (folder / "sub/later.yaml").string());
}

TEST(YamlDocument, AnIncludeThatIsNotBesideTheFileIsLookedForInConfigs) {
  const test::ScratchFolder folder;
  folder.write("mine.yaml", "include: gpus/t4_16gb.yaml\nname: mine\n");
  folder.write("other.yaml", "include: gpus/own.yaml\n");
  folder.write("gpus/own.yaml", "name: own\n");
  EXPECT_NE(YamlDocument::from_file(folder / "mine.yaml").root().find("sm_count"), nullptr);
  EXPECT_EQ(YamlDocument::from_file(folder / "other.yaml").root().find("name")->value.scalar, "own");
}

TEST(YamlDocument, IncludeIsAnOrdinaryKeyBelowTheTop) {
  EXPECT_EQ(flat("matrix: {include: [1]}\n"), "{matrix: {include: [1]}}");
}

TEST(YamlDocument, AnIncludeCircleIsShownWhole) {
  const test::ScratchFolder folder;
  folder.write("a.yaml", "include: b.yaml\n");
  folder.write("b.yaml", "x: 1\ninclude: c.yaml\n");
  folder.write("c.yaml", "include: b.yaml\n");
  const std::string at = (folder / "").string();
  EXPECT_EQ(complaint_of([&] { YamlDocument::from_file(folder / "a.yaml"); }),
            at + "c.yaml:1:10: include goes round in a circle: " + at + "b.yaml -> " + at + "c.yaml -> " +
                at + "b.yaml (included from " + at + "b.yaml:2:10, included from " + at + "a.yaml:1:10)");
}

TEST(YamlDocument, AnErrorInAnIncludedFileNamesTheChain) {
  const test::ScratchFolder folder;
  folder.write("a.yaml", "include: b.yaml\n");
  folder.write("b.yaml", "x: [1\n");
  const std::string at = (folder / "").string();
  EXPECT_EQ(
      complaint_of([&] { YamlDocument::from_file(folder / "a.yaml"); }),
      at + "b.yaml:2:1: not YAML: end of sequence flow not found (included from " + at + "a.yaml:1:10)");
}

TEST(YamlDocument, AMissingIncludeSuggestsItsNeighbour) {
  const test::ScratchFolder folder;
  folder.write("a.yaml", "include: comon.yaml\n");
  folder.write("common.yaml", "x: 1\n");
  const std::string at = (folder / "").string();
  EXPECT_EQ(complaint_of([&] { YamlDocument::from_file(folder / "a.yaml"); }),
            at + "a.yaml:1:10: include: there is no file " + at + "comon.yaml - did you mean 'common.yaml'?");
}

TEST(YamlDocument, RefusesAnAliasThatContainsItself) {
  EXPECT_EQ(
      complaint_of([] { YamlDocument::from_text("a: &a [*a]\n", "a.yaml"); }),
      "a.yaml:1:4: nested too deeply: at most 64 levels are read (is an alias part of what it stands for?)");
}

TEST(YamlDocument, RefusesTwoDocuments) {
  EXPECT_EQ(complaint_of([] { YamlDocument::from_text("a: 1\n---\nb: 2\n", "a.yaml"); }),
            "a.yaml:2:1: not one YAML document: a second one (or text that is no YAML) begins here");
}

TEST(YamlDocument, RefusesATextOnWhichYamlCppGoesRoundInCircles) {
  EXPECT_EQ(complaint_of([] { YamlDocument::from_text(",: &a: '3'd:ze.\n", "a.yaml"); }),
            "a.yaml:1:1: not one YAML document: a second one (or text that is no YAML) begins here");
}

TEST(YamlDocument, SetReplacesAndMakesValues) {
  YamlDocument document =
      YamlDocument::from_text("w: {batch: 1}\nlist: [{x: 1}, {x: 2}]\ngpu: a100\n", "a.yaml");
  document.set("w.batch", "2");
  document.set("new.deep", "[3, 4]");
  document.set("list.1.x", "5");
  document.set("gpu.memory", "40 GiB");
  EXPECT_EQ(
      flat(document.root()),
      "{w: {batch: 2}, list: [{x: 1}, {x: 5}], gpu: {from: a100, memory: 40 GiB}, new: {deep: [3, 4]}}");
  EXPECT_EQ(to_string(document.root().find("w")->value.find("batch")->value.at), "--set w.batch");
}

TEST(YamlDocument, SetTakesAValueReadElsewhereWithItsPlace) {
  YamlDocument document = YamlDocument::from_text("w: {batch: 1}\nmatrix: {w.batch: [2, 4]}\n", "a.yaml");
  const std::optional<YamlEntry> matrix = document.take("matrix");
  ASSERT_TRUE(matrix.has_value());
  EXPECT_FALSE(document.take("matrix").has_value());
  document.set("w.batch", matrix->value.find("w.batch")->value.items[1]);
  EXPECT_EQ(flat(document.root()), "{w: {batch: 4}}");
  EXPECT_EQ(to_string(document.root().find("w")->value.find("batch")->value.at), "a.yaml:2:23");
}

TEST(YamlDocument, SetRefusesWhatLeadsNowhere) {
  YamlDocument document = YamlDocument::from_text("list: [1, 2]\n", "a.yaml");
  EXPECT_EQ(complaint_of([&] { document.set("list.2", "x"); }),
            "--set list.2: '2' is no item of a list of 2 (they are numbered from 0)");
  EXPECT_EQ(complaint_of([&] { document.set("list..x", "x"); }),
            "--set list..x: a key is missing; expected --set KEY.KEY=VALUE");
}

}  // namespace
}  // namespace lockstep
