# SPDX-License-Identifier: Apache-2.0
"""How far two readings of one number may be apart, and why. A bound is used only where the kernel
itself is inexact, or where something ran between the two readings."""

# Up to 64 counted events per thread are still with the thread (5.10, 6.1), up to 32 pages per CPU
# and counter with the CPUs (6.2 to 6.19, 2 CPUs), and a process that runs on can take what its CPU
# has charged ahead (64 pages): for one that runs, both.
BOUND_PAGES = 64
# Of a file, one fault may map this many pages at once, and threads of 5.10 and 6.1 hold back faults.
FAULT_AROUND = 16
CPUS = 2
# A task's kernel memory that is charged, too.
STACK = 16 << 10
# The log's stamps are of the scheduler's clock, the records' of CLOCK_BOOTTIME. They begin at
# different moments, so each run has a distance of its own, in seconds; it may be so far at most...
CLOCKS_APART = 0.5
# ...and move by so much within a run, since the scheduler's clock is not steered. Where one thread
# emulates all CPUs of a guest on a busy machine, the two were seen 0.48 s apart for the length of
# one report, and together again after it.
CLOCKS_DRIFT = 1
