#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py NAME DIR KUBELET OUT: the node, oomsnoop on it in each variant, and the kills; `run` calls
it in namespaces of its own. The sums go to OUT/sums, since `run` has something to add."""
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / 'tests' / 'e2e'))

# pylint: disable=wrong-import-position
import image
import jsonschema
import manifests
import oracle
import pods
from accounts import Kill, kubelet_errors, log_errors, pod_errors, rights_errors, text_errors
from node import PATIENCE, Node, run, wait_until
from results import Results

BUILD = TOP / 'build'
IMAGE = BUILD / 'oomsnoop-image.tar'
VARIANTS = ('privileged', 'least-rights')
CONTAINER = 'oomsnoop'


def parsed(text):
    """The records in a pod's log, which holds stderr as well. The last line may be cut."""
    for line in text.split('\n')[:-1]:
        if line.startswith('{'):
            yield json.loads(line)


def schema_errors(ndjson):
    schema = json.loads((TOP / 'docs/record-schema.json').read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for record in parsed(ndjson):
        for error in validator.iter_errors(record):
            yield f'{record.get("type")}: {"/".join(map(str, error.path))}: {error.message[:200]}'


class Check:
    def __init__(self, name, directory, kubelet, out):
        self.directory, self.out, self.results = Path(directory), Path(out), Results()
        self.node = Node(name, directory, kubelet, self.out)
        self.mark = f'oomsnoop-test: over {name}'
        self.go = self.directory / 'go'
        self.kills = []

    def make_images(self):
        box = '/usr/bin/busybox' if Path('/usr/bin/busybox').exists() else '/bin/busybox'
        work = {'/bin/sh': box, '/bin/sleep': box, '/bin/eat': BUILD / 'tests/workloads/eat'}
        pause, others = self.directory / 'pause.tar', self.directory / 'work.tar'
        image.write(pause, 'localhost/pause:test', {'/bin/sleep': box}, ['/bin/sleep', 'inf'])
        image.write(others, pods.IMAGE, work, ['/bin/sh'])
        for path in (pause, others, IMAGE):
            self.node.ctr('images', 'import', '--snapshotter', 'native', str(path))

    def follow_log(self):
        """The kernel's own account, from here on."""
        words = [BUILD / 'tests/workloads/kmsgcat', '-f', self.mark]
        with open(self.out / 'kernel.log', 'wb') as log:
            follower = subprocess.Popen(
                words, stdout=log, stderr=subprocess.PIPE, preexec_fn=self.node.join
            )
        follower.stderr.readline()
        return follower

    def let_go(self, case):
        """The eater that waits at the case's FIFO goes on, once there is one."""

        def opened():
            try:
                os.close(os.open(self.go / case.fifo, os.O_WRONLY | os.O_NONBLOCK))
                return True
            except OSError:
                return False

        wait_until(f'an eater of {case.name} waits', opened)

    def records(self, pod):
        return list(parsed(self.node.logs(pod, CONTAINER)))

    def new_record(self, pod, seen, comm):
        for record in self.records(pod):
            if record.get('type') == 'oom' and record['incident'] not in seen:
                if record.get('victim_comm') == comm:
                    return record
        return None

    def kill(self, variant, snoop, case):
        """One kill, with what everybody says of it."""
        target = case.target
        before = self.node.status(case.pod, target)
        seen = {one['incident'] for one in self.records(snoop) if one.get('type') == 'oom'}
        account = self.node.pod(case.pod)
        self.let_go(case)
        record = wait_until(
            f'a record of {case.name}', lambda: self.new_record(snoop, seen, case.comm)
        )
        if case.first:
            wait_until(
                f'{case.name} is started again',
                lambda: self.node.status(case.pod, target).get('restartCount')
                == before['restartCount'] + 1
                and self.node.ready(case.pod),
            )
        self.kills.append(Kill(variant, snoop, case, account, before, record))

    def settle(self, variant):
        """What the kubelet says when it has had the time to say anything."""
        for kill in self.kills:
            if kill.variant == variant:
                kill.after = self.node.status(kill.case.pod, kill.case.target)

    def start_snoop(self, variant):
        """oomsnoop as the project ships it, and beside it one that writes text."""
        snoop, text = manifests.static_pod(variant), manifests.static_pod(variant, text=True)
        for pod in (snoop, text):
            self.node.apply(pod)
            wait_until(f'{variant} is ready', lambda one=pod: self.node.ready(one))
        wait_until(
            f'{variant} traces',
            lambda: [one for one in self.records(snoop) if one.get('type') == 'start'],
        )
        return snoop, text

    def variant(self, name, cases):
        snoop, text = self.start_snoop(name)
        status = self.node.status(snoop, CONTAINER)
        for case in cases:
            self.kill(name, snoop, case)
        self.settle(name)
        self.rights(name, snoop)
        doctor = self.node.execute(snoop, CONTAINER, 'oomsnoop', 'doctor')
        (self.out / f'{name}.doctor').write_text(doctor)
        ndjson, written = self.keep(name, snoop, text, len(cases))
        self.results.add(f'{name}: its lines keep to the schema', schema_errors(ndjson))
        self.results.add(f'{name}: the text names them', text_errors(cases, written))
        again = self.node.status(snoop, CONTAINER)
        self.results.add(
            f'{name}: it ran all the time',
            [] if again.get('containerID') == status['containerID'] else [f'now: {again}'],
        )
        for pod in (snoop, text):
            self.node.delete(pod)

    def rights(self, name, snoop):
        given = self.node.given(snoop, CONTAINER)
        status, peak = self.node.process(snoop, CONTAINER)
        context = snoop['spec']['containers'][0]['securityContext']
        self.results.add(f'{name}: its rights', rights_errors(context, given, status))
        self.results.note(
            f'{name}: uid {status["Uid"][0]}, kept capabilities {status["CapEff"][0]}, no new '
            f'privileges {status["NoNewPrivs"][0]}, seccomp {status["Seccomp"][0]}, its cgroup held '
            f'{peak >> 20} MiB at most'
        )

    def keep(self, name, snoop, text, count):
        """What `kubectl logs` gives of both."""
        written = wait_until(
            f'{name}: text of {count} kills',
            lambda: (said := self.node.logs(text, CONTAINER)).count(' KILLED ') >= count and said,
        )
        ndjson = self.node.logs(snoop, CONTAINER)
        (self.out / f'{name}.ndjson').write_text(ndjson)
        (self.out / f'{name}.text').write_text(written)
        return ndjson, written

    def tell(self):
        log = oracle.parse_file(self.out / 'kernel.log')
        for kill in self.kills:
            what = f'{kill.variant}, {kill.case.name}'
            self.results.add(f'{what}: pod and container', pod_errors(kill))
            self.results.add(f'{what}: the kernel log', log_errors(kill, log))
            self.results.add(f'{what}: what the kubelet says', kubelet_errors(kill))
        self.keep_events()
        said = [kill.told() for kill in self.kills]
        (self.out / 'kills.json').write_text(json.dumps(said, indent=1))

    def keep_events(self):
        """What the kubelet wrote of the victims anywhere."""
        pids = [f'pid: {kill.record["victim_pid"]}"' for kill in self.kills]
        lines = (self.out / 'kubelet.log').read_text(encoding='utf-8', errors='replace')
        told = [one for one in lines.splitlines() if any(pid in one for pid in pids)]
        (self.out / 'kubelet.events').write_text('\n'.join(told) + '\n')

    def everything(self):
        self.go.mkdir()
        cases = pods.cases(self.go)
        for case in cases:
            os.mkfifo(self.go / case.fifo)
        with self.node as node:
            self.make_images()
            node.start_kubelet()
            follower = self.follow_log()
            for case in cases:
                node.apply(case.pod)
            for case in cases:
                wait_until(f'{case.name} is ready', lambda one=case: node.ready(one.pod))
            try:
                for variant in VARIANTS:
                    self.variant(variant, cases)
            except BaseException:
                shutil.copytree('/var/log/pods', self.out / 'pod-logs')
                raise
            (self.out / 'pods.json').write_text(json.dumps(node.pods(), indent=1))
            Path('/dev/kmsg').write_text(f'<5>{self.mark}\n', encoding='ascii')
            follower.wait(PATIENCE)
        self.tell()


def main():
    check = Check(*sys.argv[1:5])
    begun = time.monotonic()
    try:
        check.everything()
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        check.results.add('the node', [str(error)])
    check.results.note(f'{time.monotonic() - begun:.0f} s; what was said is in {check.out}')
    versions = [
        check.node.version(),
        run('containerd', '--version').strip(),
        run('runc', '--version').splitlines()[0],
        'Linux ' + os.uname().release,
    ]
    (check.out / 'versions').write_text('\n'.join(versions) + '\n')
    (check.out / 'sums').write_text(f'{check.results.passed} {check.results.failed}\n')


main()
