"""Attacks the program `lariat` with a scripted model, and reports for each attack whether the program withstood it.

  python3 crates/lariat-cli/attacks --program PATH [NAME...]     exits 0 if every attack failed and every control worked

An attack tries a hole that the program once had, from outside. Many have a control: a harmless variant that must still work, so
that a program that refuses everything does not pass. Linux, Python 3.9 or later, git.
"""
import argparse
import shutil
import subprocess
import sys
import tempfile

import files, hooks, sandbox, settings, shell, user  # noqa: E401, F401 (each registers its attacks)
from kit import ATTACKS, Broken, Kit

# Errors that mean a control could not be judged: the program hangs, or omits expected output.
FAULTS = (Broken, subprocess.TimeoutExpired, OSError, ValueError, KeyError, IndexError)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory")
    parser.add_argument("names", nargs="*", help="run only attacks with these name prefixes")
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix="lariat-attack-")
    kit, counts = Kit(options.program, root), {"held": 0, "HOLE": 0, "BROKEN": 0}
    for name, function in ATTACKS.items():
        if options.names and not any(name.startswith(begin) for begin in options.names):
            continue
        why = ""
        try:
            word = "held" if function(kit) else "HOLE"
        except FAULTS as error:
            word, why = "BROKEN", f" [{error}]"
        counts[word] += 1
        print(f"{name:44} {word:7} {function.__doc__}{why}", flush=True)
    if not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{counts['held']} held, {counts['HOLE']} holes, {counts['BROKEN']} could not be judged")
    return 0 if counts["held"] and not counts["HOLE"] + counts["BROKEN"] else 1


if __name__ == "__main__":
    sys.exit(main())
