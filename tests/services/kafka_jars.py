"""The jars of the Kafka server, fetched once per machine and version."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

__all__ = ["KAFKA_VERSION", "kafka_jars", "kafka_tools_missing"]

_POM = Path(__file__).with_name("kafka-pom.xml")
_FETCH_LIMIT_S = 600


def _version() -> str:
    found = re.search(r"<kafka\.version>(.+)</kafka\.version>", _POM.read_text())
    if found is None:
        raise RuntimeError(f"no kafka.version in {_POM}")
    return found[1]


KAFKA_VERSION = _version()


def _cache() -> Path:
    given = os.environ.get("BRIDGE_CACHE")
    root = Path(given) if given else Path.home() / ".cache" / "journal-bridge"
    return root / "kafka" / KAFKA_VERSION


def kafka_tools_missing() -> list[str]:
    """Names of the Debian packages without which no local Kafka can be started."""
    missing = [] if shutil.which("java") else ["default-jre-headless"]
    if not (_cache() / "libs").exists() and not shutil.which("mvn"):
        missing.append("maven")
    return missing


def kafka_jars() -> Path:
    """Folder of the jars; fetched with Maven at first use, by one run while others wait."""
    libs = _cache() / "libs"
    libs.parent.mkdir(parents=True, exist_ok=True)
    with (libs.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not libs.exists():
            _fetch(libs)
    return libs


def _fetch(libs: Path) -> None:
    partial = libs.with_name("libs.partial")  # renamed when complete: a half-filled folder is none
    shutil.rmtree(partial, ignore_errors=True)
    command = ["mvn", "-q", "-B", "-f", str(_POM), "dependency:copy-dependencies"]
    options = [f"-DoutputDirectory={partial}", "-DincludeScope=runtime"]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, timeout=_FETCH_LIMIT_S
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"Maven could not fetch Kafka {KAFKA_VERSION}:\n{done.stdout}{done.stderr}"
        )
    partial.rename(libs)
