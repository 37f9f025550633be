"""Running the demonstration as its users do."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Answer", "environment", "run_demo", "start_demo"]


@dataclass(frozen=True)
class Answer:
    """What it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


def environment(folder: Path) -> Mapping[str, str]:
    """A process environment in which temporary files go to `folder`."""
    return {**os.environ, "TMPDIR": str(folder)}


def start_demo(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start it without a terminal; temporary files go to `folder`, which is its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "bridge", "demo", *arguments],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_demo(folder: Path, *arguments: str) -> Answer:
    """Run it to its end."""
    process = start_demo(folder, *arguments)
    try:
        out, err = process.communicate(timeout=90)
    finally:
        process.kill()
    return Answer(process.returncode, out, err)
