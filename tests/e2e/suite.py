# SPDX-License-Identifier: Apache-2.0
"""The command line of a suite of tests that run the program as root: which tests, how they are told.

A test is a function test_NAME(binary) that yields what is wrong; one that breaks has failed. Where tests share what it costs
time to begin, they are given that instead."""
import argparse
import fnmatch
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

from results import Results

TOP = Path(__file__).resolve().parents[2]
EX_USAGE, EX_UNAVAILABLE = 64, 69
# What a test that breaks ends with; anything else is a mistake in the suite itself.
BROKEN = (
    AssertionError,
    ValueError,
    LookupError,
    TypeError,
    RuntimeError,
    OSError,
    sqlite3.Error,
    subprocess.SubprocessError,
)


def tests_of(*modules):
    """The tests in these namespaces (vars(module), vars(class), globals()), by name."""
    return {
        name.removeprefix('test_').replace('_', '-'): test
        for names in modules
        for name, test in names.items()
        if name.startswith('test_')
    }


def check(test, *args):
    try:
        return list(test(*args))
    except BROKEN as error:
        return [f'{type(error).__name__}: {error}']


@contextmanager
def readable(binary):
    """A copy that nobody (the user) can execute too, wherever the sources lie."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        copy = shutil.copy(binary, Path(directory) / 'oomsnoop')
        os.chmod(copy, 0o755)
        yield str(copy)


def arguments(doc):
    """A parser that knows what all suites do."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument('-q', '--quiet', action='store_true')
    parser.add_argument('-k', '--pattern', action='append', help='only tests that match (*, ?)')
    parser.add_argument('-v', '--verbose', action='store_true', help='tell how long each took')
    return parser


def chosen(name, tests, options):
    """Those of the tests that are wanted; where there is none, it is said."""
    wanted = options.pattern or ['*']
    found = {one: test for one, test in tests.items() if any(fnmatch.fnmatch(one, p) for p in wanted)}
    if not found:
        print(f'{name}: no test matches {wanted}', file=sys.stderr)
    return found


def run(name, tests, options, given):
    """One after the other; the exit status."""
    results = Results(options.quiet)
    for one, test in tests.items():
        begun = time.monotonic()
        results.add(f'{name}/{one}', check(test, given))
        if options.verbose:
            results.note(f'{one} took {time.monotonic() - begun:.1f} s')
    return results.finish()


def main(name, doc, tests, shared=nullcontext):
    """Runs them; the exit status. shared(binary) is a context: the tests are given what it gives."""
    parser = arguments(doc)
    parser.add_argument('binary', nargs='?', default=TOP / 'build' / 'oomsnoop', type=Path)
    options = parser.parse_args()
    if os.geteuid() != 0 or not options.binary.exists():
        print(f'{name}: needs root and {options.binary}', file=sys.stderr)
        return EX_UNAVAILABLE
    wanted = chosen(name, tests, options)
    if not wanted:
        return EX_USAGE
    with readable(options.binary) as binary, shared(binary) as given:
        return run(name, wanted, options, given)
