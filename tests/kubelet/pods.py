# SPDX-License-Identifier: Apache-2.0
"""The pods of others, whose processes are killed. An eater waits at a FIFO until a test lets it go,
and there is a new one after each kill."""

EATER = 'eat -c {comm} -w /go/{fifo} anon {mib}'
# The shell stays: what is killed is its child, and the container goes on.
CHILD = f'while :; do {EATER}; done'
# The eater takes the shell's place as pid 1.
FIRST = f'exec {EATER}'
IMAGE = 'localhost/work:test'


def resources(mib, cpu=None):
    limits = {'memory': f'{mib}Mi', **({'cpu': cpu} if cpu else {})}
    return {'limits': limits, 'requests': dict(limits)}


def container(name, script, mib, cpu=None):
    return {
        'name': name,
        'image': IMAGE,
        'imagePullPolicy': 'Never',
        'command': ['/bin/sh', '-c', script],
        'resources': resources(mib, cpu),
        'volumeMounts': [{'name': 'go', 'mountPath': '/go'}],
    }


def pod(name, namespace, containers, go):
    return {
        'apiVersion': 'v1',
        'kind': 'Pod',
        'metadata': {'name': name, 'namespace': namespace},
        'spec': {
            # There is no network plugin, and none is needed.
            'hostNetwork': True,
            'terminationGracePeriodSeconds': 0,
            'containers': containers,
            'volumes': [{'name': 'go', 'hostPath': {'path': str(go), 'type': 'Directory'}}],
        },
    }


class Case:
    """One kill: in which container, what of it dies, and whose limit is hit."""

    def __init__(self, name, target, comm, limit_kind, mib, form=CHILD):
        self.name, self.target, self.comm = name, target, comm
        self.limit_kind, self.mib = limit_kind, mib
        self.fifo = name
        self.first = form == FIRST
        self.script = form.format(comm=comm, fifo=name, mib=4 * mib)
        self.pod = None


def cases(go):
    """The pods, and what is to happen in each. `go` holds their FIFOs."""
    # All that a pod is charged beside its container's processes counts against the pod's limit, which
    # is the sum of its containers': with one container, the pod's is always hit first.
    lone = Case('lone-child', 'train', 'trainer', 'pod', 64)
    two = Case('two-containers', 'worker', 'loader', 'container', 32)
    first = Case('first-process', 'main', 'server', 'pod', 64, FIRST)
    lone.pod = pod('notebook-0', 'team-a', [container('train', lone.script, 64)], go)
    workers = [container('worker', two.script, 32), container('side-car', 'exec sleep inf', 32)]
    two.pod = pod('bert.v2', 'team-b', workers, go)
    first.pod = pod('api', 'default', [container('main', first.script, 64, cpu='1')], go)
    return [lone, two, first]
