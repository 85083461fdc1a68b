#!/usr/bin/env python3
"""Keeps tests/validation/scores.csv, the figures of every set of measurements, and the tables that are made of it.

Without options it compares: the file with the sets of configs/validation, and with README.md, docs/validation.md,
docs/trust.md, the answers that docs/validation/*.md quote, and the bounds of tests/validation/bounds.csv. `--check SET` predicts a set and compares that, too:
half a point of drift, to the better or to the worse, is an error; the same commit renews the file and says why in
CHANGELOG.md. Columns of default_host are of the same set with the host that a scenario without one gets.

Usage: tools/validation_scores.py [--write SET... | --write all | --tables | --check SET] [--data FOLDER] [--lockstep FILE]
"""
import argparse
import csv
import json
import re
import subprocess
import sys
from pathlib import Path

from validation_goals import goals_table

ROOT = Path(__file__).resolve().parent.parent
SETS = ROOT / "configs" / "validation"
SCORES = ROOT / "tests" / "validation" / "scores.csv"
BOUNDS = ROOT / "tests" / "validation" / "bounds.csv"  # of figures, which no renewal of the scores may pass
COLUMNS = ["set", "of", "rows", "geometric", "median", "mean", "ninetieth", "largest", "bias", "in_band", "rank",
           "default_host_mean", "default_host_in_band", "host"]
COMPARED = ["mean", "ninetieth", "in_band", "default_host_mean", "default_host_in_band"]
DRIFT, RANK_DRIFT = 0.5, 0.005  # points; of the rank correlation
SKIPPED = 77  # exit code, as tests/CMakeLists.txt knows it
FETCHED = {"gpt_multi_node_a100"}  # its table is not in the data folder; who has it scores it
SIMULATED = {"gpt_single_node_a100"}  # another simulator's output, so no accuracy


def names_of_sets():
    return sorted(file.stem for file in SETS.glob("*.yaml"))


def text_of(name):
    """The set's file and what it includes, without comments."""
    text = (SETS / f"{name}.yaml").read_text()
    for included in re.findall(r"(?m)^include: (\S+)$", text):
        text += (SETS.parent / included).read_text()
    return re.sub(r"(?m)^\s*#.*$", "", text)


def is_shipped(name):
    """Whether the set's tables are in the repository, so that a clone has all that it takes to score it."""
    tables = re.findall(r"(?m)^(?:table: +|  )([\w./-]+\.csv(?:\.gz)?)(?::| *$)", text_of(name))
    return bool(tables) and all((SETS / table).exists() for table in tables)


def host_of(name):
    """How a set says its host: '' where it does not, 'named', or 'speed set' by hand."""
    text = text_of(name)
    if re.search(r"\bhost\.speed:", text):
        return "speed set"
    return "named" if re.search(r"(?m)(^\s+|[{,]\s*)host(\.from)?:", text) else ""


class NotHere(Exception):
    """The measurements of a set are not at hand."""


def predicted(name, asked, *options):
    command = [asked.lockstep, "validate", name, "--json", "-", *options]
    if asked.data:
        command += ["--data", asked.data]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "are not here" in done.stderr:
        raise NotHere(done.stderr.strip())
    if done.returncode != 0:
        sys.exit(f"lockstep validate {name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def percent(value):
    return "" if value is None else f"{100 * value:.1f}"


def rows_of(name, asked):
    """The set's lines of the file, by predicting it."""
    answer = predicted(name, asked)
    return lines_of(name, answer, predicted(name, asked, "--default-host") if host_of(name) else answer)


def lines_of(name, answer, default):
    """From what the program says of the set as it is, and on the default host."""
    host, rows = host_of(name), []
    for of, lines in answer["errors"].items():
        ours, theirs = lines[-1]["lockstep"], default["errors"][of][-1]["lockstep"]
        rank = answer.get("rank_correlation_of_step", {}).get("all_points") if of == "step" else None
        has_host = answer["predicts"] == "step"
        rows.append({"set": name, "of": of, "rows": str(ours["points"]),
                     **{column: percent(ours[key]) for column, key in
                        (("geometric", "geometric_mean"), ("median", "median"), ("mean", "mean"),
                         ("ninetieth", "ninetieth_percentile"), ("largest", "largest"), ("bias", "bias"))},
                     "in_band": percent(ours.get("inside_band")), "rank": "" if rank is None else f"{rank:.3f}",
                     "default_host_mean": percent(theirs["mean"]) if has_host else "",
                     "default_host_in_band": percent(theirs.get("inside_band")) if has_host else "", "host": host})
    return rows


def read_scores():
    if not SCORES.exists():
        return []
    with SCORES.open(newline="") as file:
        return list(csv.DictReader(file))


def write_scores(rows):
    SCORES.parent.mkdir(parents=True, exist_ok=True)
    with SCORES.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (row["set"], row["of"])))


def drifts(before, now):
    """What moved of one line, in words."""
    found = []
    if before["rows"] != now["rows"]:
        found.append(f"rows {before['rows']} -> {now['rows']}")
    for column in COMPARED:
        old, new = before[column], now[column]
        if (old == "") != (new == "") or (old and abs(float(new) - float(old)) > DRIFT - 1e-9):
            found.append(f"{column} {old or 'none'} -> {new or 'none'} %")
    old, new = before["rank"], now["rank"]
    if (old == "") != (new == "") or (old and abs(float(new) - float(old)) > RANK_DRIFT + 1e-9):
        found.append(f"rank {old or 'none'} -> {new or 'none'}")
    return found


def check_set(name, asked):
    kept = {row["of"]: row for row in read_scores() if row["set"] == name}
    try:
        rows = rows_of(name, asked)
    except NotHere as absent:
        print(f"skipped: {absent}")
        return SKIPPED
    if not kept:
        sys.exit(f"{name} is not in {SCORES.relative_to(ROOT)}: tools/validation_scores.py --write {name}")
    code = 0
    for row in rows:
        found = drifts(kept[row["of"]], row) if row["of"] in kept else ["not in the file"]
        if found:
            code = 1
            print(f"{name}, {row['of']}: {'; '.join(found)}")
    if code:
        print(f"if that is meant: tools/validation_scores.py --write {name}, and say why in CHANGELOG.md")
    return code


# ---- tables of README.md and docs/


def steps(rows):
    return [row for row in rows if row["of"] == "step"]


def link(name, folder):
    """To the page that quotes the set's answer."""
    for page in sorted((ROOT / "docs" / "validation").glob("*.md")):
        if page.stem == name or re.search(rf"lockstep validate {name}\b", page.read_text()):
            return f"[`{name}`]({folder}validation/{page.name})"
    return f"`{name}`"


def accuracy_table(rows, folder):
    """Every set of steps, the best first."""
    lines = ["| training steps of | rows | mean error | on the default host | in band | there |", "|---|---:|---:|---:|---:|---:|"]
    for row in sorted((row for row in steps(rows) if row["set"] not in SIMULATED),
                      key=lambda row: float(row["default_host_mean"])):
        mark = {"": "", "named": " (host named)", "speed set": " (host's speed set by hand)"}[row["host"]]
        lines.append(f"| {link(row['set'], folder)}{mark} | {row['rows']} | {row['mean']} % | {row['default_host_mean']} % "
                     f"| {row['in_band']} % | {row['default_host_in_band']} % |")
    return "\n".join(lines)


def coverage_table(rows):
    """One figure for each class: the mean over its sets of the share of rows inside their band."""
    own = [row for row in rows if row["set"] not in SIMULATED]
    kinds = [("steps, on the host that the set names", "step", "in_band", lambda row: True),
             ("steps, all on the default host", "step", "default_host_in_band", lambda row: True),
             ("of these, sets that name a host", "step", "default_host_in_band", lambda row: row["host"]),
             ("kernels", "kernel", "in_band", lambda row: True),
             ("collectives", "collective", "in_band", lambda row: True)]
    lines = ["| | sets | rows | inside, mean of sets |", "|---|---:|---:|---:|"]
    for words, of, column, belongs in kinds:
        chosen = [row for row in own if row["of"] == of and row[column] and belongs(row)]
        if chosen:
            mean = sum(float(row[column]) for row in chosen) / len(chosen)
            lines.append(f"| {words} | {len(chosen)} | {sum(int(row['rows']) for row in chosen)} | {mean:.1f} % |")
    return "\n".join(lines)


def shipped_table(rows):
    """How many sets a clone without the folder of measurements scores."""
    lines = ["| | sets | rows | of all sets |", "|---|---:|---:|---:|"]
    for words, of in (("steps", "step"), ("kernels", "kernel"), ("collectives", "collective")):
        every = [row for row in rows if row["of"] == of]
        here = [row for row in every if is_shipped(row["set"])]
        lines.append(f"| {words} | {len(here)} | {sum(int(row['rows']) for row in here)} | {len(every)} |")
    return "\n".join(lines)


TABLES = {"README.md": {"scores": lambda rows: accuracy_table(rows, "docs/")},
          "docs/validation.md": {"scores": lambda rows: accuracy_table(rows, ""), "shipped": shipped_table,
                                 "goals": goals_table},
          "docs/trust.md": {"coverage": coverage_table}}


def with_tables(page, rows):
    text = (ROOT / page).read_text()
    for name, make in TABLES[page].items():
        place = re.compile(rf"(<!-- {name}: tools/validation_scores\.py --tables -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(text):
            sys.exit(f"{page}: no place for the table '{name}'")
        text = place.sub(lambda found: f"{found[1]}{make(rows)}\n{found[2]}", text)
    return ALL_SETS.sub(lambda block: with_figures(block[0], rows), text)


ALL_SETS = re.compile(r"^```text lockstep validate --all\n.*?^```$", re.MULTILINE | re.DOTALL)
AIM = re.compile(r"(?P<head>  \w+ +\w+ +(?P<figure>mean|geometric|median|90th) +(?P<aim>[\d.]+))(?P<value> +[\d.]+)  "
                 r"(?:reached|missed)(?P<tail>.*)")
FIGURE_OF_AIM = {"90th": "ninetieth"}
FIGURES = ["geometric", "median", "mean", "ninetieth", "largest", "bias", "in_band", "rank"]


def with_figures(block, rows):
    """The answer of `lockstep validate --all` with the figures of the file; lines of classes stay as they are."""
    kept = {(row["set"], row["of"]): row for row in rows}

    def line(found):
        row = kept.get((found["set"], found["of"]))
        aim = AIM.fullmatch(found[0])
        if row is None:
            return found[0]
        if aim:
            value = row[FIGURE_OF_AIM.get(aim["figure"], aim["figure"])]
            word = "reached" if float(value) <= float(aim["aim"]) else "missed"
            tail = aim["tail"].strip()
            return f"{aim['head']}{value:>{len(aim['value'])}}  " + (f"{word:<9}{tail}" if tail else word)
        values = iter(f"{float(row[name]):+.1f}" if name == "bias" else row[name] for name in FIGURES)
        return found["head"] + re.sub(r" +[-+]?\d+\.\d+", lambda old: f"{next(values):>{len(old[0])}}", found["figures"])

    return re.sub(r"(?m)^(?P<head>  (?P<set>\w+) +(?P<of>step|kernel|collective) +(?:\d+(?= ))?)(?P<figures>.*)$", line, block)


QUOTED = re.compile(r"^```text lockstep validate (?P<set>\w+)\n(?P<answer>.*?)^```$", re.MULTILINE | re.DOTALL)


def stale_quotes(rows):
    """Pages that quote other figures than the file has."""
    kept = {(row["set"], row["of"]): row for row in rows}
    words = {"step time": "step", "GPU busy time": "gpu_busy", "kernel time": "kernel", "collective time": "collective"}
    found = []
    for page in sorted((ROOT / "docs" / "validation").glob("*.md")):
        for block in QUOTED.finditer(page.read_text()):
            for part in re.finditer(r"errors of ([\w ]+), %\n(.*?)\n\n", block["answer"] + "\n\n", re.DOTALL):
                of = words.get(part[1])
                lines = [line.split() for line in part[2].split("\n") if re.match(r"  all\s+\d", line)]
                row = kept.get((block["set"], of))
                if not lines or row is None:
                    continue
                figures = [word for word in lines[-1][1:] if re.fullmatch(r"[-+]?\d+\.\d", word)]
                quoted = {"mean": figures[2], "ninetieth": figures[3]}
                if len(figures) > 6:
                    quoted["in_band"] = figures[6]
                found += [f"{page.relative_to(ROOT)}: {block['set']}: {column} {value}, in the file {row[column]}"
                          for column, value in quoted.items() if abs(float(value) - float(row[column])) > 0.15]
    return found


def passed_bounds(rows):
    """Figures of the file beyond their bounds."""
    kept = {(row["set"], row["of"]): row for row in rows}
    with BOUNDS.open(newline="") as file:
        for bound in csv.DictReader(file):
            row = kept.get((bound["set"], bound["of"]), {})
            value, limit = row.get(bound["figure"]) or None, float(bound["bound"])
            if value is None or (float(value) > limit if bound["side"] == "most" else float(value) < limit):
                yield (f"{BOUNDS.relative_to(ROOT)}: {bound['set']}, {bound['of']}: {bound['figure']} {value}, "
                       f"at {bound['side']} {limit:g}")


def check_all():
    rows = read_scores()
    scored = {row["set"] for row in rows}
    problems = [f"{SCORES.relative_to(ROOT)}: {name} is missing: tools/validation_scores.py --write {name}"
                for name in names_of_sets() if name not in scored | FETCHED]
    problems += [f"{SCORES.relative_to(ROOT)}: no set is called {name}" for name in sorted(scored - set(names_of_sets()))]
    problems += [f"{page}: a table is not that of the file: tools/validation_scores.py --tables"
                 for page in TABLES if (ROOT / page).read_text() != with_tables(page, rows)]
    problems += passed_bounds(rows)
    quotes = stale_quotes(rows)
    problems += quotes
    if quotes:
        problems.append("pages are renewed by tools/update_validation_pages.py")
    print("\n".join(problems))
    return 1 if problems else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("--write", nargs="+", metavar="SET", help="predict these sets, or all, and renew their lines")
    arguments.add_argument("--tables", action="store_true", help="renew the tables of README.md and docs/")
    arguments.add_argument("--check", metavar="SET", help="predict a set and compare")
    arguments.add_argument("--data", help="folder of the measured tables, as `lockstep validate` has it")
    arguments.add_argument("--lockstep", default=str(ROOT / "build" / "lockstep"))
    asked = arguments.parse_args()
    if asked.check:
        return check_set(asked.check, asked)
    for name in (names_of_sets() if asked.write == ["all"] else asked.write or []):
        kept = [row for row in read_scores() if row["set"] != name]
        try:
            rows = rows_of(name, asked)
        except NotHere as absent:
            print(f"left as it is: {absent}")
            continue
        write_scores(kept + rows)
        print(f"{name}: mean {rows[-1]['mean']} %, default host {rows[-1]['default_host_mean'] or '-'}", flush=True)
    if asked.write or asked.tables:
        rows = read_scores()
        for page in TABLES:
            (ROOT / page).write_text(with_tables(page, rows))
        return 0
    return check_all()


if __name__ == "__main__":
    sys.exit(main())
