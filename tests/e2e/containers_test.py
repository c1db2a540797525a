#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""containers_test.py [-q] [-r RUNTIME] [-t TEST] [--driver cgroupfs|systemd] [BINARY [STATIC]]:
kills in containers that containerd, Docker and Podman made, on this machine. What the record says
of the container, its pod and the limit is held against the runtime's own account and against the
kernel's report; then the tracer itself runs in a container of each and must name who is killed.
--driver systemd is for a machine of its own: no filter keeps others' kills out. Needs root. Prints
"ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import argparse
import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import traceback
import uuid
from pathlib import Path

import oracle
from cli_test import differ
from results import Results
from runtimes import MEMORY, PATIENCE, V1, Containerd, Docker, Place, Podman, until

TOP = Path(__file__).resolve().parents[2]
MIB = 1 << 20
LIMIT = 32 * MIB
EATER = ('/bin/eat', 'anon', '64')
# A shell whose child is killed: it lives on, and says whom it lost.
PARENT = '/bin/eat anon 64 & echo $! >/out/%s.pid; wait $!; echo $? >/out/%s.end; exec sleep 1000'
HOSTILE = 'n"a\\m\n\x1b[31me\u202e\t'
# Names and ids; what the runtime does not have must not be in the record.
IDENTITY = (
    'container_id',
    'container_name',
    'pod_name',
    'pod_namespace',
    'pod_uid',
    'pod_qos',
    'node_container_id',
    'runtime',
)


RUNTIMES = {'containerd': Containerd, 'docker': Docker, 'podman-runc': Podman}
if not V1:
    # crun makes no cgroups where the old hierarchies are beside the new one.
    RUNTIMES['podman-crun'] = lambda place: Podman(place, 'crun')


class Watch:
    """A tracer that runs, here or in a container, and what it has told so far."""

    def __init__(self, process):
        self.process = process
        self.records = []
        self.errors = b''
        self.threads = [threading.Thread(target=work) for work in (self.read, self.read_errors)]
        for thread in self.threads:
            thread.start()
        self.wait(lambda record: record['type'] == 'start')

    def read(self):
        for line in self.process.stdout:
            self.records.append(json.loads(line))

    def read_errors(self):
        self.errors = self.process.stderr.read()

    def wait(self, wanted):
        def find():
            ended = self.process.poll() is not None
            found = next(filter(wanted, list(self.records)), None)
            if ended and not found:
                raise AssertionError(f'the tracer ended: {self.errors[-300:]!r}')
            return found

        return until(find, 'a record that was waited for')

    def kill_in(self, cgroup):
        """The record of a kill below a cgroup."""
        return self.wait(
            lambda record: record['type'] == 'oom'
            and record.get('victim_cgroup', '').startswith(cgroup)
        )

    def told_in(self, cgroup):
        """The record of a SIGKILL to somebody below a cgroup that was not the OOM killer's."""
        return self.wait(
            lambda record: record['type'] == 'kill'
            and record.get('target_cgroup', '').startswith(cgroup)
        )

    def close(self):
        """Once it was told to end."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for thread in self.threads:
            thread.join()


class KernelLog:
    """What the kernel prints from here on, read as it comes: a test that takes long would find it
    overwritten at its end."""

    def __init__(self):
        self.fd = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)
        self.data, self.overwritten, self.ended = [], 0, False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while True:
            try:
                self.data.append(os.read(self.fd, 8192))
            except BrokenPipeError:
                self.overwritten += 1
            except BlockingIOError:
                if self.ended:
                    return
                select.select([self.fd], [], [], 0.2)

    def incidents(self):
        """By the victim's pid, of all that was printed until now."""
        self.close()
        found = oracle.parse(b''.join(self.data)).incidents
        return {one.victim.pid: one for one in found if one.victim}

    def close(self):
        if not self.ended:
            self.ended = True
            self.thread.join()
            os.close(self.fd)


class World:
    """All runtimes, and a tracer beside them."""

    def __init__(self, options, stack):
        self.place = Place(options.driver == 'systemd')
        stack.callback(self.place.close)
        self.place.add_tracer(options.static)
        self.runtimes = {}
        for label in options.runtime or RUNTIMES:
            self.runtimes[label] = RUNTIMES[label](self.place)
            stack.callback(self.runtimes[label].close)
            # One by one: Docker gives its own containerd a few seconds to start, and no more.
            self.runtimes[label].wait()
        self.log = KernelLog()
        stack.callback(self.log.close)
        process = subprocess.Popen(
            [options.binary, *self.options(self.place.root)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        stack.callback(self.end, process)
        self.watch = Watch(process)

    def options(self, host_root):
        ours = [] if self.place.systemd else ['--cgroup', self.place.cgroup]
        return ['--json', '--host-root', str(host_root), *ours]

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.watch.close()

    def new(self, runtime, name, **more):
        """A container in a place of its own: in a pod, where the runtime has them."""
        if runtime.name != 'containerd':
            return runtime.container(f'{name}-{runtime.label}', **more)
        pod = self.pod('burstable')
        return runtime.container(pod.pop('path'), pod=pod, **more)

    def pod(self, qos, above='', name='web-0', namespace='shop'):
        uid = str(uuid.uuid4())
        return {
            'path': self.pod_path(qos, uid, above),
            'pod_name': name,
            'pod_namespace': namespace,
            'pod_uid': uid,
            'pod_qos': qos,
        }


    def pod_path(self, qos, uid, above):
        below = '' if qos == 'guaranteed' else qos
        if not self.place.systemd:
            return f'{self.place.cgroup}{above}/kubepods/{below}/pod{uid}'.replace('//', '/')
        path, name = '/kubepods.slice', 'kubepods'
        if below:
            name += f'-{below}'
            path += f'/{name}.slice'
        return f'{path}/{name}-pod{uid.replace("-", "_")}.slice'


def wanted_of(container):
    return {
        'container_id': container.id,
        'container_name': container.name,
        'runtime': container.runtime,
        'node_container_id': container.node,
        **container.pod,
    }


def names_errors(record, container):
    wanted = wanted_of(container)
    for name in IDENTITY:
        yield from differ(name, record.get(name), wanted.get(name))


def identity_errors(record, container):
    yield from names_errors(record, container)
    yield from differ('victim_cgroup', record.get('victim_cgroup'), container.own)


def limit_errors(record, kind, cgroup, limit):
    yield from differ('scope', record.get('scope'), 'memcg')
    yield from differ('limit_kind', record.get('limit_kind'), kind)
    yield from differ('limit_cgroup', record.get('limit_cgroup'), cgroup)
    yield from differ('limit_bytes', record.get('limit_bytes'), limit)
    hit = [level for level in record.get('limits', []) if level.get('hit')]
    yield from differ('the levels that were hit', [one.get('cgroup') for one in hit], [cgroup])
    if hit:
        yield from differ('its kind', hit[0].get('kind'), kind)
        yield from differ('its max_bytes', hit[0].get('max_bytes'), limit)


def account_errors(runtime, container, remember=None):
    """That what we expect is what the runtime says itself."""
    account = remember or runtime.inspect(container)
    for name in ('id', 'name', 'limit', 'cgroup'):
        yield from differ(f'the runtime\'s {name}', account[name], getattr(container, name))
    for name in ('pod_name', 'pod_namespace', 'pod_uid'):
        if name in account:
            yield from differ(f'the runtime\'s {name}', account[name], container.pod.get(name))


# --- the tests: each yields (name, errors) and leaves the record for the log's comparison ---


def first_process(world, runtime):
    """Process 1 of the container is killed, and the container is over."""
    container = world.new(runtime, 'first', limit=LIMIT)
    runtime.run(container, *EATER)
    if not container.id:
        runtime.learn(container)
    record = world.watch.kill_in(container.cgroup)
    yield from account_errors(runtime, container)
    yield from identity_errors(record, container)
    yield from limit_errors(record, 'container', container.own, LIMIT)
    yield from differ('victim_container_pid', record.get('victim_container_pid'), 1)


def child(world, runtime):
    """A child is killed, and the container lives on: nobody but the record tells of it."""
    container = world.new(runtime, 'child', limit=LIMIT)
    said = world.place.out / f'child-{runtime.label}'
    script = PARENT % (said.name, said.name)
    runtime.start(container, '/bin/sh', '-c', script, mounts=[(said.parent, '/out', 'rw')])
    if not container.id:
        runtime.learn(container)
    record = world.watch.kill_in(container.cgroup)
    end = until(lambda: said.with_suffix('.end').exists() and said.with_suffix('.end').read_text(),
                'the shell\'s word of its child\'s end')
    yield from account_errors(runtime, container)
    yield from differ('the child\'s status', end.strip(), str(128 + signal.SIGKILL))
    yield from differ('running', runtime.running(container), True)
    yield from identity_errors(record, container)
    yield from limit_errors(record, 'container', container.own, LIMIT)
    pid = int(said.with_suffix('.pid').read_text())
    yield from differ('victim_container_pid', record.get('victim_container_pid'), pid)


def removed_at_once(world, runtime):
    """Nothing is left of the container when the record is made."""
    container = world.new(runtime, 'removed', limit=LIMIT)
    runtime.run(container, *EATER, remove=True)
    if not container.id:
        runtime.learn(container)
    record = world.watch.kill_in(container.cgroup)
    yield from identity_errors(record, container)
    yield from limit_errors(record, 'container', container.own, LIMIT)


def tracer_in_container(world, runtime):
    """The tracer's image in a container, privileged: it sees another container's process killed."""
    if runtime.name == 'containerd':
        above = '/system.slice' if runtime.systemd else f'{world.place.cgroup}/tracer'
        inside = runtime.container(above)
    else:
        inside = runtime.container(f'tracer-{runtime.label}')
    process = runtime.follow(
        inside,
        '/oomsnoop',
        *world.options('/host'),
        mounts=[(world.place.root, '/host', 'ro')],
        tracer=True,
    )
    watch = Watch(process)
    try:
        container = world.new(runtime, 'seen', limit=LIMIT)
        runtime.run(container, *EATER)
        if not container.id:
            runtime.learn(container)
        record = watch.kill_in(container.cgroup)
        yield from identity_errors(record, container)
        yield from limit_errors(record, 'container', container.own, LIMIT)
        beside = world.watch.kill_in(container.cgroup)
        yield from differ('victim_pid', record['victim_pid'], beside['victim_pid'])
    finally:
        runtime.stop(inside, 'TERM')
        watch.close()
    yield from differ('the last record', watch.records[-1]['type'], 'stop')


def pod_limit(world, runtime):
    """Two containers in a pod whose limit is below the sum of theirs: the pod's is hit."""
    pod = world.pod('burstable')
    path = pod.pop('path')
    limit = 40 * MIB
    small = runtime.container(path, limit=64 * MIB, pod=pod)
    large = runtime.container(path, limit=64 * MIB, pod=pod)
    said = world.place.out / 'small'
    runtime.start(
        small,
        '/bin/sh',
        '-c',
        '/bin/eat anon 12 >/out/small',
        mounts=[(said.parent, '/out', 'rw')],
    )
    until(lambda: said.exists() and 'event=done' in said.read_text(), 'the small one\'s word')
    world.place.set_limit(path, limit)
    runtime.run(large, '/bin/eat', 'anon', '60')
    record = world.watch.kill_in(path)
    yield from account_errors(runtime, large)
    yield from differ('running', runtime.running(small), True)
    yield from identity_errors(record, large)
    yield from limit_errors(record, 'pod', path, limit)
    kinds = [level.get('kind') for level in record['limits']]
    yield from differ('kinds', kinds[:4], ['container', 'pod', 'qos-class', 'kubepods'])
    yield from differ('the container\'s own', record['limits'][0].get('max_bytes'), 64 * MIB)
    events = [level.get('events', {}) for level in record['limits'][:2]]
    yield from differ('the container\'s oom', events[0].get('oom'), 0)
    yield from differ('the container\'s oom_kill', events[0].get('oom_kill'), 1)
    yield from differ('the pod\'s oom', events[1].get('oom'), 1)


def nested(world, runtime):
    """A node that is itself a container: the last id of the path is the container."""
    node = secrets.token_hex(32)
    pod = world.pod('besteffort', above=f'/docker/{node}/kubelet')
    container = runtime.container(pod.pop('path'), LIMIT, pod, node)
    runtime.run(container, *EATER)
    record = world.watch.kill_in(container.cgroup)
    yield from account_errors(runtime, container)
    yield from identity_errors(record, container)
    yield from limit_errors(record, 'container', container.own, LIMIT)


def hostile_names(world, runtime):
    """Names are whatever their owners chose."""
    pod = world.pod('guaranteed', name=f'{HOSTILE}-0', namespace=HOSTILE)
    container = runtime.container(pod.pop('path'), LIMIT, pod, container_name=f'c-{HOSTILE}')
    runtime.run(container, *EATER)
    record = world.watch.kill_in(container.cgroup)
    yield from account_errors(runtime, container)
    yield from identity_errors(record, container)


def compose(world, runtime):
    """A service of docker compose, and a label that is no more than a label."""
    labels = {
        'com.docker.compose.project': 'shop',
        'com.docker.compose.service': 'web',
        'com.docker.compose.container-number': '1',
        'io.kubernetes.container': HOSTILE,
    }
    container = runtime.container('shop-web-1', limit=LIMIT, labels=labels)
    runtime.run(container, *EATER)
    runtime.learn(container)
    record = world.watch.kill_in(container.cgroup)
    yield from account_errors(runtime, container)
    yield from identity_errors(record, container)


def group(world, runtime):
    """memory.oom.group is set on the container: all of it dies, as one kill."""
    container = world.new(runtime, 'group', limit=LIMIT)
    go = world.place.out / f'go-{runtime.label}'
    os.mkfifo(go)
    script = f'cat /out/{go.name} >/out/{go.name}.gone; exec /bin/forkeat 0 10 8'
    runtime.start(container, '/bin/sh', '-c', script, mounts=[(go.parent, '/out', 'rw')])
    if not container.id:
        runtime.learn(container)
    (MEMORY / container.own[1:] / 'memory.oom.group').write_text('1')
    go.write_text('go')
    record = world.watch.kill_in(container.cgroup)
    until(lambda: not runtime.running(container), 'the container\'s end')
    yield from identity_errors(record, container)
    yield from limit_errors(record, 'container', container.own, LIMIT)
    yield from differ('limit_oom_group', record.get('limit_oom_group'), True)
    victims = record.get('victims', [])
    if len(victims) < 2 or {one['why'] for one in victims} != {'chosen', 'group'}:
        yield f'the victims are {[(one["pid"], one["why"]) for one in victims]}'


def deaf(world, runtime, name):
    """A container that runs, and whose first process takes no SIGTERM."""
    container = world.new(runtime, name)
    said = world.place.out / f'{name}-{runtime.label}'
    script = f'trap "" TERM; echo >/out/{said.name}; while :; do sleep 1000; done'
    runtime.start(container, '/bin/sh', '-c', script, mounts=[(said.parent, '/out', 'rw')])
    if not container.id:
        runtime.learn(container)
    until(said.exists, 'the container\'s word')
    return container


def killed_errors(world, container):
    """It was the runtime and nobody else, and no OOM kill."""
    record = world.watch.told_in(container.cgroup)
    yield from names_errors(record, container)
    yield from differ('target_cgroup', record.get('target_cgroup'), container.own)
    yield from differ('target_container_pid', record.get('target_container_pid'), 1)
    yield from differ('sender_kind', record.get('sender_kind'), 'container-runtime')
    yield from differ('verdicts', [one['id'] for one in record['verdicts']], ['cgroup-killed'])
    of_it = [one for one in world.watch.records
             if one.get('victim_cgroup', '').startswith(container.cgroup)]
    yield from differ('OOM kills in it', of_it, [])


def stopped(world, runtime):
    """SIGTERM, the time that it was given, SIGKILL."""
    container = deaf(world, runtime, 'stopped')
    runtime.stop_within(container, 1)
    yield from killed_errors(world, container)
    record = world.watch.told_in(container.cgroup)
    yield from differ('sigterm_count', record.get('sigterm_count'), 1)
    # The runtimes' own timer is not to the millisecond.
    if not 900 <= record.get('sigterm_ms_before', 0) < 1000 * PATIENCE:
        yield f'SIGTERM {record.get("sigterm_ms_before")} ms before'
    if ' after SIGTERM' not in record['verdicts'][0]['claim']:
        yield f'the claim is {record["verdicts"][0]["claim"]}'


def killed(world, runtime):
    container = deaf(world, runtime, 'killed')
    runtime.stop(container, 'KILL')
    yield from killed_errors(world, container)
    record = world.watch.told_in(container.cgroup)
    yield from differ('sigterm_ms_before', record.get('sigterm_ms_before'), None)


EACH = (first_process, child, removed_at_once, stopped, killed, tracer_in_container)
EACH_V2 = (group,)
ONCE = {
    pod_limit: 'containerd',
    nested: 'containerd',
    hostile_names: 'containerd',
    compose: 'docker',
}
# A slice of systemd's cannot be below a scope: nobody but a nested systemd makes such a path.
NOT_BY_SYSTEMD = (nested,)


def log_errors(world):
    """Every kill as the kernel itself printed it."""
    incidents = world.log.incidents()
    records = [record for record in world.watch.records if record['type'] == 'oom']
    if not records:
        yield 'no record at all'
    yield from differ('log records overwritten', world.log.overwritten, 0)
    for record in records:
        incident = incidents.get(record['victim_pid'])
        if not incident or not incident.report:
            yield f'no report of {record["victim_pid"]} in the kernel log'
            continue
        report = incident.report
        for name, want in (
            ('victim_comm', oracle.as_text(incident.victim.comm)),
            ('limit_cgroup', oracle.as_text(report.oom_memcg)),
            ('victim_cgroup', oracle.as_text(report.task_memcg)),
            ('limit_bytes', report.counters['memory'].limit),
            ('victim_oom_score_adj', incident.victim.adj),
        ):
            yield from differ(f'{record["victim_pid"]} {name}', record.get(name), want)


def check(test, *arguments):
    """The errors of one test; one that breaks has failed."""
    try:
        return list(test(*arguments))
    except (AssertionError, ValueError, LookupError, OSError, subprocess.SubprocessError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return [f'{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})']


def run_all(world, results, wanted):
    def add(name, test, *arguments):
        if not wanted or any(word in name for word in wanted):
            results.add(f'containers/{name}', check(test, world, *arguments))

    for test in EACH if V1 else EACH + EACH_V2:
        for label, runtime in world.runtimes.items():
            add(f'{label}/{test.__name__}', test, runtime)
    for test, label in ONCE.items():
        if label in world.runtimes and not (world.place.systemd and test in NOT_BY_SYSTEMD):
            add(f'{label}/{test.__name__}', test, world.runtimes[label])
    add('log', log_errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('binary', nargs='?', default=TOP / 'build' / 'oomsnoop', type=Path)
    parser.add_argument('static', nargs='?', default=TOP / 'build' / 'oomsnoop-static', type=Path)
    parser.add_argument('-q', '--quiet', action='store_true')
    parser.add_argument('-t', '--test', action='append', help='only tests with this in their name')
    parser.add_argument('-r', '--runtime', action='append', choices=RUNTIMES, help='only these')
    parser.add_argument('--driver', choices=('cgroupfs', 'systemd'), default='cgroupfs')
    options = parser.parse_args()
    if os.geteuid() != 0 or not options.binary.exists() or not options.static.exists():
        needs = f'{options.binary} and {options.static}'
        print(f'containers_test: needs root, {needs}', file=sys.stderr)
        return 69
    results = Results(options.quiet)
    # Whoever ends the test ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        world = World(options, stack)
        run_all(world, results, options.test)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
