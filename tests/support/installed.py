#!/usr/bin/env python3
"""An installed tree, moved elsewhere, runs from its own files; its manual page and completions know every command; the
Debian package holds the same tree and names the packages of its libraries.

    installed.py BUILD
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def said(*words, **options) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options).stdout


def commands_of(program: Path) -> list[str]:
    """The commands that `lockstep --help` lists."""
    listed = said(program, "--help").split("\nSubcommands:\n", 1)[1]
    return re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE)


def expect(holds: bool, problem: str) -> None:
    if not holds:
        raise SystemExit(problem)


def check_tree(root: Path, elsewhere: Path) -> None:
    program = root / "bin/lockstep"
    version = json.loads(said(program, "--version", "--json", cwd=elsewhere))
    expect(version["configurations"][0] == str(root / "share/lockstep"), f"its files are not its own: {version}")
    answer = said(program, "run", "dlrm_default_8xv100", "--no-timeline", "-o", elsewhere / "out", cwd=elsewhere)
    expect("step time" in answer, answer)
    commands = commands_of(program)
    page = (root / "share/man/man1/lockstep.1").read_text()
    missing = [name for name in commands if f".SS lockstep {name}\n" not in page]
    expect(not missing, f"the manual page lacks {missing}")
    script = root / "share/bash-completion/completions/lockstep"
    bash = f"source '{script}'; COMP_WORDS=(lockstep cal); COMP_CWORD=1; _lockstep; echo \"${{COMPREPLY[@]}}\""
    expect(said("bash", "-c", bash, cwd=elsewhere).split() == ["calibrate"], "bash completes 'cal' wrongly")
    bash = f"source '{script}'; COMP_WORDS=(lockstep run --no-time); COMP_CWORD=2; _lockstep; echo \"${{COMPREPLY[@]}}\""
    expect(said("bash", "-c", bash, cwd=elsewhere).split() == ["--no-timeline"], "bash completes '--no-time' wrongly")


def check_schemas(root: Path) -> None:
    """The first line of a shipped file names a schema that is there, and is one."""
    share = root / "share/lockstep"
    for file in [*share.glob("scenarios/*/scenario.yaml"), *share.glob("configs/*/*.yaml")]:
        named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", file.read_text())
        expect(named is not None, f"{file}: its first line names no schema")
        schema = file.parent / named.group(1)
        expect(schema.exists(), f"{file}: there is no {named.group(1)}")
    for schema in (share / "schemas").glob("*.json"):
        expect("definitions" in json.loads(schema.read_text()), f"{schema} is no schema")


def check_missing_files(root: Path, elsewhere: Path) -> None:
    """Without its files the program says where it looked."""
    empty = elsewhere / "empty"
    empty.mkdir()
    done = subprocess.run([root / "bin/lockstep", "run", "gpt2_8xa100"], capture_output=True, text=True,
                          env={"LOCKSTEP_HOME": str(empty)}, cwd=elsewhere, check=False)
    expect(done.returncode == 2 and str(empty) in done.stderr, f"{done.returncode}: {done.stderr}")


def check_package(build: Path, folder: Path) -> None:
    subprocess.run(["cpack", "--config", build / "CPackConfig.cmake", "-B", folder], check=True, capture_output=True)
    [package] = folder.glob("*.deb")
    depends = said("dpkg-deb", "--field", package, "Depends")
    expect("libsimgrid" in depends and "libc6" in depends, f"the package depends on {depends}")
    files = said("dpkg-deb", "--contents", package)
    for file in ("./usr/bin/lockstep", "./usr/share/lockstep/configs/gpus/a100_40gb.yaml", "./usr/share/man/man1/lockstep.1"):
        expect(file in files, f"the package lacks {file}")


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        said("cmake", "--install", build, "--prefix", folder / "first")
        moved = folder / "moved"
        shutil.move(folder / "first", moved)
        check_tree(moved, elsewhere)
        check_schemas(moved)
        check_missing_files(moved, elsewhere)
        if shutil.which("dpkg-shlibdeps") is None:
            print("no dpkg-shlibdeps (dpkg-dev): the package is not made")
            return SKIPPED
        check_package(build, folder / "package")
    return 0


if __name__ == "__main__":
    sys.exit(main())
