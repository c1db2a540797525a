# SPDX-License-Identifier: Apache-2.0
"""What it costs system calls that somebody looks at those that are refused.

As in storms.py each run with a tracer stands between two without one."""
import os
import subprocess

from lib import BENCH, QUICK, Tracer, median, progress, quartiles, section, table, wait_quiet

COUNT = int(os.environ.get("OOMSNOOP_BENCH_CALLS", "1000000"))
ROUNDS = int(os.environ.get("OOMSNOOP_BENCH_ROUNDS", "5" if QUICK else "11"))
CALLS = ("getpid", "read", "given", "refused")
VARIANTS = {"defaults": [], "--refused on": ["--refused", "on"]}


def once(call):
    """Nanoseconds of CPU time a call."""
    done = subprocess.run(["taskset", "-c", "0", os.path.join(BENCH, "calls"), str(COUNT), call],
                          capture_output=True, text=True, check=True)
    made, _, cpu = map(int, done.stdout.split())
    return cpu / made


def refused():
    wait_quiet()
    rows = []
    for call in CALLS:
        more = {variant: [] for variant in VARIANTS}
        alone = [once(call)]
        for round_number in range(ROUNDS):
            for variant, options in VARIANTS.items():
                tracer = Tracer(args=options)
                with_it = once(call)
                tracer.stop()
                alone.append(once(call))
                more[variant].append(2 * with_it / (alone[-2] + alone[-1]))
            progress(f"refused: {call}, round {round_number + 1} of {ROUNDS}")
        for variant, ratios in more.items():
            low, middle, high = quartiles(ratios)
            rows.append((call, variant, f"{median(alone):.0f}", f"{middle:.3f}", f"{low:.3f} to {high:.3f}"))
    section("Refused calls", "tools/bench/run refused",
            f"{COUNT:,} system calls of a kind in a loop: CPU time with the tracer over without; {ROUNDS} pairs, each with the mean "
            "of the runs right before and after it. given: mmap of a page and munmap; refused: mmap beyond ulimit -v.")
    table(["call", "tracer", "ns each, without", "with over without", "quartiles"], rows)
