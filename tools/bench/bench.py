# SPDX-License-Identifier: Apache-2.0
"""bench.py [SECTION...]: the measurements, as Markdown on stdout. Started by run, which builds
what they need."""
import sys

import capture
import guest
import lib
import native
import parse
import recorder
import runs
import refused
import signals
import storms

SECTIONS = {
    "guest-peers": guest.peers,
    "start": native.start,
    "latency": native.latency,
    "storm": native.storm,
    "left-on": native.left_on,
    "memory": native.memory,
    "faults": storms.faults,
    "cow": storms.cow,
    "forks": storms.forks,
    "tmpfs": storms.tmpfs,
    "signals": signals.storm,
    "run": runs.run,
    "refused": refused.refused,
    "census": recorder.census,
    "rest": recorder.rest,
    "recorder-memory": recorder.memory,
    "store-rest": capture.store_at_rest,
    "store-read": capture.store_read,
    "store-page": capture.store_page,
    "parse": parse.logs,
    "guest-faults": guest.faults,
}


def main():
    wanted = sys.argv[1:] or list(SECTIONS)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        print("usage: run [" + "|".join(SECTIONS) + "]...", file=sys.stderr)
        return 64
    lib.head()
    for name in wanted:
        SECTIONS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
