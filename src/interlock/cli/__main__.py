"""``python -m interlock.cli``: the command line without its script."""

from interlock.cli import main

main()
