"""The C++ files that are ours: what git tracks or would track, or all of them where there is no git."""
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["base", "topology", "ops", "sim", "traces", "synth", "calibration", "scenario", "schedule", "generate", "search", "import",
           "app", "python", "tests", "bench"]


def tracked_files(root: Path):
    """None where git is not installed, or root is no checkout."""
    if shutil.which("git") is None:
        return None
    listing = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS],
                             capture_output=True, text=True, check=False)
    return listing.stdout.splitlines() if listing.returncode == 0 else None


def project_sources(*suffixes: str, root: Path = ROOT):
    """Paths relative to root, sorted, of the existing files with one of the suffixes."""
    tracked = tracked_files(root)
    if tracked is not None:
        candidates = map(Path, tracked)
    else:
        candidates = (path.relative_to(root) for folder in FOLDERS for path in (root / folder).rglob("*"))
    return sorted({path for path in candidates if path.suffix in suffixes and (root / path).is_file()})
