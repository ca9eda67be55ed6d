# SPDX-License-Identifier: MIT
"""solve.py - uses a package that lies below the project but is not the user's."""
from kernels import scan


def solve(size):
    return scan.inclusive(size)


class Solver:
    def warm_up(self):
        self.plan = scan.Plan(4096)


KEPT = [solve(2048), Solver()]
KEPT[1].warm_up()
