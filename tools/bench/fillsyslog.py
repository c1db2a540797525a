#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fillsyslog.py KIND BYTES: a syslog of so many bytes on stdout, for measuring those who read it.

mixed    what a server's programs and its kernel say, and every 10 MB a report of the OOM killer
reports  nothing but such reports, each of 200 processes, one after the other

Every report is another one: its time and its pids are not those of the report before it."""
import random
import sys

PART = 10 * 1000 * 1000
PROCESSES = 200
PROGRAMS = (
    ("systemd[1]", "Started Session {n} of user deploy."),
    ("sshd[{n}]", "Accepted publickey for deploy from 192.0.2.{b} port {n} ssh2: ED25519 SHA256:4yd0mDbYiIy"),
    ("kubelet[911]", 'I0102 03:04:05.{n:06d}     911 kubelet.go:{b}] "SyncLoop (PLEG): event for pod" pod="web/frontend-{n}" event={{}}'),
    ("nginx[{b}]", '192.0.2.{b} - - "GET /items/{n}?page={b} HTTP/1.1" 200 {n} "-" "Mozilla/5.0 (X11; Linux x86_64)"'),
    ("kernel", "[{s}.{n:06d}] IPv4: martian source 192.0.2.{b} from 198.51.100.{b}, on dev eth0"),
    ("kernel", "[{s}.{n:06d}] audit: type=1400 audit(1704164645.{b}:{n}): apparmor=\"DENIED\" operation=\"open\" pid={n} comm=\"cat\""),
    ("CRON[{n}]", "(root) CMD (   cd / && run-parts --report /etc/cron.hourly)"),
    ("dockerd[712]", 'time="2024-01-02T03:04:05.{n:06d}Z" level=info msg="ignoring event" container={n:064x} module=libcontainerd'),
)
HEAD = "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name"


def report(rows):
    """Lines of one report; PID is that of its victim, SECOND when it was."""
    lines = ["worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
             "CPU: 1 PID: @PID Comm: worker Not tainted 6.12.0 #1",
             "Hardware name: QEMU Standard PC (i440FX + PIIX, 1996), BIOS 1.16.2-debian-1.16.2-1 04/01/2014",
             "Call Trace:", " <TASK>", " dump_stack_lvl+0x5d/0x80", " dump_header+0x43/0x1aa", " oom_kill_process.cold+0xa/0xaf",
             " out_of_memory+0x1f5/0x510", " mem_cgroup_out_of_memory+0x12e/0x140", " try_charge_memcg+0x7d4/0x960", " </TASK>",
             "memory: usage 524288kB, limit 524288kB, failcnt 84", "swap: usage 0kB, limit 0kB, failcnt 0",
             "Memory cgroup stats for /kubepods.slice/pod1:", "anon 531628032", "file 0", "kernel 4337664", "shmem 0",
             "Tasks state (memory values in pages):", HEAD]
    lines += [f"[{pid:7d}]  1000 {pid:5d} {6000 + pid:8d} {500 + pid:8d} {400 + pid:8d}      100         0    90112        0             0 worker"
              for pid in range(100, 100 + rows - 1)]
    lines += ["[  @PID]  1000 @PID   140000   130000   129900      100         0   120000        0             0 worker",
              "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/kubepods.slice/pod1,"
              "task_memcg=/kubepods.slice/pod1,task=worker,pid=@PID,uid=1000",
              "Memory cgroup out of memory: Killed process @PID (worker) total-vm:560000kB, anon-rss:519600kB, file-rss:400kB, "
              "shmem-rss:0kB, UID:1000 pgtables:117kB oom_score_adj:0"]
    return "".join(f"@STAMP node kernel: [@SECOND.{i:06d}] {line}\n" for i, line in enumerate(lines))


def chatter(size):
    """Lines of a day that goes by every hour, so that all parts look alike but for the stamps."""
    rand = random.Random(1)
    out, length = [], 0
    while length < size:
        name, text = rand.choice(PROGRAMS)
        values = {"n": rand.randrange(1, 100000), "b": rand.randrange(1, 250), "s": "@SECOND"}
        line = f"@STAMP node {name.format(**values)}: {text.format(**values)}\n"
        out.append(line)
        length += len(line)
    return "".join(out)


def filled(template, number):
    day, second = number // 24 % 28 + 1, number % 3600
    stamp = f"Jan {day:2d} {number % 24:02d}:{second // 60:02d}:{second % 60:02d}"
    return (template.replace(b"@STAMP", stamp.encode()).replace(b"@SECOND", b"%d" % (1000 + number))
            .replace(b"@PID", b"%d" % (10000 + number % 90000)))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("mixed", "reports") or not sys.argv[2].isdigit():
        print("usage: fillsyslog.py mixed|reports BYTES", file=sys.stderr)
        return 64
    size, number = int(sys.argv[2]), 0
    one = report(PROCESSES).encode()
    if sys.argv[1] == "mixed":
        one += chatter(PART - len(one)).encode()
    while size > 0:
        number += 1
        part = filled(one, number)
        size -= sys.stdout.buffer.write(part)
    return 0


if __name__ == "__main__":
    sys.exit(main())
