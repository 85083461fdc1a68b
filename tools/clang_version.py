"""Which clang-format and clang-tidy judge the style: another version writes other lines and has other checks."""
import re
import subprocess

VERSION = 14  # Debian 12's
NOT_CHECKED = 77  # exit code: CTest counts the test as skipped


def other_version(tool: str):
    """None where the tool is of VERSION, else what to say instead of a verdict."""
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    found = int(re.search(r"version (\d+)", said).group(1))
    return None if found == VERSION else f"not checked: this is {tool} {found}, and {VERSION} (Debian 12) judges the style"
