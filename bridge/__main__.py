"""``python -m bridge``: the same as the command ``bridge``."""

from bridge.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
