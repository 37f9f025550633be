"""Values as people read them on a terminal, which foreign text must not be able to command."""

__all__ = ["age", "at_least", "printable"]

_STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def printable(text: str) -> str:
    """`text` with everything escaped that is no visible character: controls, bidi marks, breaks."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def age(seconds: float) -> str:
    """A duration in its greatest fitting unit."""
    for length, unit in _STEPS:
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def at_least(count: int, limit_reached: bool) -> str:
    """A count that may have ended at a limit."""
    return f"at least {count}" if limit_reached else str(count)
