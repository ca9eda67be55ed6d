# SPDX-License-Identifier: MIT
"""checks.py - what the Python scripts of this folder say of each check, and remember."""
failed = []


def check(what, is_right, found=""):
    """Says whether it is right, and what was found if it is not."""
    print(("ok   " if is_right else "FAIL ") + what + (f": {found}" if found and not is_right else ""), flush=True)
    if not is_right:
        failed.append(what)
