# SPDX-License-Identifier: Apache-2.0
"""One line per check, and a last line of sums."""


class Results:
    def __init__(self, quiet=False):
        self.passed = self.failed = 0
        self.quiet = quiet

    def add(self, name, errors):
        """A check by name; it failed if there are errors."""
        errors = list(errors)
        if errors:
            self.failed += 1
            print(
                f'FAIL {name}: '
                + '; '.join(errors[:8])
                + (f'; and {len(errors) - 8} more' if len(errors) > 8 else '')
            )
        else:
            self.passed += 1
            if not self.quiet:
                print(f'ok {name}')

    @staticmethod
    def note(text):
        print(f'note {text}')

    def finish(self):
        """Print the sums; the exit status."""
        print(f'{self.passed} passed, {self.failed} failed')
        return 1 if self.failed else 0
