# SPDX-License-Identifier: Apache-2.0
"""What oomsnoop says of a kill, held against the kubelet, the kernel log and the manifests."""

# Bits of a capability set: all that oomsnoop may ever want.
BITS = {
    'DAC_READ_SEARCH': 2,
    'IPC_LOCK': 14,
    'SYS_PTRACE': 19,
    'SYS_NICE': 23,
    'SYS_RESOURCE': 24,
    'SYSLOG': 34,
    'PERFMON': 38,
    'BPF': 39,
}


class Kill:
    def __init__(self, variant, snoop, case, account, before, record):
        self.variant, self.case, self.record = variant, case, record
        self.snoop = snoop
        self.account, self.before, self.after = account, before, {}

    @property
    def container_id(self):
        return self.before['containerID'].partition('://')[2]

    def told(self):
        """What is kept for a reader."""
        return {
            'variant': self.variant,
            'case': self.case.name,
            'kubelet_before': self.before,
            'kubelet_after': self.after,
            'record': self.record,
        }


def differences(record, wanted):
    for name, value in wanted.items():
        if record.get(name) != value:
            reason = [one['why'] for one in record.get('missing', ()) if one['field'] == name]
            yield f'{name} is {record.get(name)!r}, not {value!r} {reason or ""}'


def runtime_seen(pod):
    """Does its manifest show it where the runtime keeps its containers? Nothing else there names the
    runtime."""
    mounts = pod['spec']['containers'][0]['volumeMounts']
    return any('/run/containerd' in one['mountPath'] for one in mounts)


def pod_errors(kill):
    """The names, against the kubelet's own account of its pods and the manifest."""
    metadata, status = kill.account['metadata'], kill.account['status']
    runtime, _, container_id = kill.before['containerID'].partition('://')
    yield from differences(
        kill.record,
        {
            'pod_name': metadata['name'],
            'pod_namespace': metadata['namespace'],
            'pod_uid': metadata['uid'],
            'pod_qos': status['qosClass'].lower(),
            'container_name': kill.case.target,
            'container_id': container_id,
            'runtime': runtime if runtime_seen(kill.snoop) else None,
            'limit_kind': kill.case.limit_kind,
            'limit_bytes': kill.case.mib << 20,
        },
    )
    missing = {one['field'] for one in kill.record.get('missing', ())}
    if ('runtime' in missing) == ('runtime' in kill.record):
        yield f'missing: {sorted(missing)}'
    if kill.case.first:
        yield from differences(kill.record, {'victim_container_pid': 1})


def log_errors(kill, log):
    """Whose limit and who died, against the kernel's own report; and that the case is the one that
    it was made to be."""
    pid = kill.record['victim_pid']
    found = [one for one in log.incidents if one.victim and one.victim.pid == pid and one.report]
    if len(found) != 1:
        yield f'{len(found)} reports of pid {pid} in the kernel log'
        return
    report = found[0].report
    yield from differences(
        kill.record,
        {
            'limit_cgroup': report.oom_memcg,
            'victim_cgroup': report.task_memcg,
            'victim_comm': report.victim_comm,
        },
    )
    if not report.task_memcg.endswith('/' + kill.container_id):
        yield f'the kernel killed in {report.task_memcg}'
    pod_uid = kill.account['metadata']['uid']
    last = {'pod': 'pod' + pod_uid, 'container': kill.container_id}[kill.case.limit_kind]
    if report.oom_memcg.rpartition('/')[2] != last:
        yield f'the kernel hit the limit of {report.oom_memcg}'


def kubelet_errors(kill):
    """A child's death is not told at all; that of pid 1 is, as an exit of the container."""
    before, after = kill.before, kill.after
    terminated = after.get('lastState', {}).get('terminated', {})
    if kill.case.first:
        if after.get('restartCount') != before['restartCount'] + 1:
            yield f'restarts {after.get("restartCount")} after {before["restartCount"]}'
        if (terminated.get('reason'), terminated.get('exitCode')) != ('OOMKilled', 137):
            yield f'it says {terminated}'
        if terminated.get('containerID') != before['containerID']:
            yield f'it tells of {terminated.get("containerID")}'
    elif after != before:
        yield f'it says {after}, before {before}'


def rights_errors(context, given, status):
    """What the manifest says is what the runtime gave; of that, oomsnoop kept what it may ever want."""
    bounding = {name.removeprefix('CAP_') for name in given['capabilities'].get('bounding', ())}
    if context.get('privileged'):
        if 'SYS_ADMIN' not in bounding:
            yield f'privileged, but given {sorted(bounding)}'
    else:
        if context['capabilities']['drop'] != ['ALL']:
            yield f'the manifest drops {context["capabilities"]["drop"]}'
        if bounding != set(context['capabilities']['add']):
            yield f'given {sorted(bounding)}, the manifest adds {context["capabilities"]["add"]}'
    kept = int(status['CapEff'][0], 16)
    wanted = sum(1 << bit for name, bit in BITS.items() if name in bounding)
    if kept & ~wanted:
        yield f'it keeps {kept:#x}'
    if status['Uid'] != [str(context['runAsUser'])] * 4:
        yield f'it runs as {status["Uid"]}, not {context["runAsUser"]}'


def text_errors(cases, text):
    for case in cases:
        metadata = case.pod['metadata']
        for word in (metadata['name'], metadata['namespace'], case.target):
            if word not in text:
                yield f'no {word}'
