# SPDX-License-Identifier: Apache-2.0
"""Images out of files, in the form of `docker save`: no tool and no download are needed."""
import hashlib
import io
import json
import tarfile


def add(archive, name, data, mode=0o644):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def write(path, tag, files, entrypoint):
    """files: {path in the image: path here}, all executable."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode='w') as archive:
        for inside, outside in files.items():
            with open(outside, 'rb') as file:
                add(archive, inside.lstrip('/'), file.read(), 0o755)
    layer = layer.getvalue()
    config = json.dumps(
        {
            'architecture': 'amd64',
            'os': 'linux',
            'config': {'Entrypoint': entrypoint, 'Env': ['PATH=/bin']},
            'rootfs': {
                'type': 'layers',
                'diff_ids': ['sha256:' + hashlib.sha256(layer).hexdigest()],
            },
        }
    ).encode()
    name = hashlib.sha256(config).hexdigest() + '.json'
    with tarfile.open(path, 'w') as archive:
        add(archive, 'layer.tar', layer)
        add(archive, name, config)
        manifest = [{'Config': name, 'RepoTags': [tag], 'Layers': ['layer.tar']}]
        add(archive, 'manifest.json', json.dumps(manifest).encode())
