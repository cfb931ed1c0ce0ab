#!/usr/bin/python
"""Unpacks archives on a host; the action install_archives has sent them from the control node."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Mapping

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import umask
from ansible_collections.millrace.kafka.plugins.module_utils.host.probe import installed

DOCUMENTATION = """
module: install_archives
short_description: Install verified archives in versioned directories
version_added: "1.0.0"
description:
  - Unpacks archives, each in a directory of its own. An archive is a file on the control node, or a URL that the
    control node downloads once. Its SHA-512 is checked there before it is sent, and on the host before it is unpacked.
  - A tar file has one top directory, whose content becomes the content of C(dest), completely or not at all. Any other
    file is copied into C(dest) under its own name. An unchanged host costs one module call.
  - A directory is created beside its final path and then renamed, so nothing that runs is touched. All users can read
    it, whatever the umask of the host. A directory that services cannot enter is installed again.
  - Fails if an archive does not exist, does not match its checksum, or contains a path outside C(dest). Then nothing of
    that archive is installed.
options:
  archives:
    description: The archives and their directories.
    type: list
    elements: dict
    required: true
    suboptions:
      src: {type: str, required: true, description: Path on the control node or a URL.}
      checksum:
        description: "C(sha512:HEX), or C(sha512:FILE-or-URL) in the format of sha512sum."
        type: str
        required: true
      dest: {type: str, required: true, description: "Directory on the host, used for this archive only."}
      uploaded: {type: str, description: Set by the action plugin.}
  installed:
    description: >-
      Directories and SHA-512 that a probe of this run found. If all match, the module is not called on the host.
    type: dict
    default: {}
attributes:
  check_mode: {description: Reports what is missing; nothing is sent., support: full}
  diff_mode: {description: Shows the directories that are created., support: full}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Install Kafka from a file of the control node
  millrace.kafka.install_archives:
    archives:
      - {src: /srv/kafka_2.13-3.9.2.tgz, checksum: "sha512:/srv/kafka_2.13-3.9.2.tgz.sha512", dest: /opt/kafka/3.9.2}

- name: Install Kafka from Apache's archive
  millrace.kafka.install_archives:
    archives:
      - src: https://archive.apache.org/dist/kafka/3.9.2/kafka_2.13-3.9.2.tgz
        checksum: sha512:https://archive.apache.org/dist/kafka/3.9.2/kafka_2.13-3.9.2.tgz.sha512
        dest: /opt/kafka/3.9.2
    installed: "{{ preflight_probe.probe.archives }}"
"""

RETURN = """
missing:
  description: The C(dest) of each archive that was not installed.
  type: list
  elements: str
  returned: success
  sample: [/opt/kafka/3.9.2]
"""

MARKER = ".sha512"  # host/probe.py reads it


def digest(path: str) -> str:
    """Return the SHA-512 of a file in hexadecimal."""
    with open(path, "rb") as stream:
        return (
            hashlib.file_digest(stream, "sha512").hexdigest()
            if hasattr(hashlib, "file_digest")
            else hashlib.sha512(stream.read()).hexdigest()
        )


def unpack(uploaded: str, name: str, dest: str) -> None:
    """Unpack an uploaded archive to `DEST.new`, without its top directory; a file that is no tar archive is copied.

    `uploaded` is its path here, `name` its file name on the control node. Raises ValueError if a member of the archive
    is a device, or would be outside of `dest`.
    """
    new = f"{dest}.new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new, mode=0o755)
    if name.endswith((".tgz", ".tar.gz", ".tar")):
        with tarfile.open(uploaded) as tar:
            members = []
            for member in tar.getmembers():
                parts = member.name.strip("/").split("/")
                if member.name.startswith("/") or ".." in parts or member.isdev():
                    raise ValueError(
                        f"{name}: contains {member.name}, which is a device or outside of {dest}; use another archive"
                    )
                if member.issym() or member.islnk():
                    target = member.linkname if member.islnk() else "/".join([*parts[:-1], member.linkname])
                    if member.linkname.startswith("/") or os.path.normpath(target).split("/")[0] != parts[0]:
                        raise ValueError(f"{name}: its link {member.name} leaves {dest}; use another archive")
                    if member.islnk():
                        member.linkname = target.partition("/")[2]
                if len(parts) > 1:
                    member.name = "/".join(parts[1:])
                    member.uid = member.gid = 0
                    member.uname = member.gname = "root"
                    members.append(member)
            tar.extractall(new, members)
    else:
        shutil.copyfile(uploaded, os.path.join(new, name))


def put(unpacked: Mapping[str, str]) -> None:
    """Replace each directory `dest` by its unpacked directory `DEST.new`; `unpacked` is {dest: SHA-512 of the archive}.

    The replacement is a rename, so a `dest` is either complete or absent, even after a power cut.
    """
    if unpacked:
        os.sync()  # otherwise, after a power cut, the marker could be on the disk while files are empty
    for dest, checksum in unpacked.items():
        _put(dest, checksum)


def _put(dest: str, checksum: str) -> None:
    """Write the checksum into `DEST.new`, and rename it to `dest`, in place of the present directory."""
    new = f"{dest}.new"
    with open(os.path.join(new, MARKER), "w", encoding="ascii") as stream:
        stream.write(checksum + "\n")
    if os.path.exists(dest):
        shutil.rmtree(f"{dest}.old", ignore_errors=True)
        os.rename(dest, f"{dest}.old")
    os.rename(new, dest)
    shutil.rmtree(f"{dest}.old", ignore_errors=True)


def main() -> None:
    """Run as an Ansible module."""
    options = {key: {"type": "str", "required": key != "uploaded"} for key in ("src", "checksum", "dest", "uploaded")}
    module = AnsibleModule(
        argument_spec={"archives": {"type": "list", "elements": "dict", "required": True, "options": options}},
        supports_check_mode=True,
    )
    missing, unpacked = [], dict[str, str]()
    for archive in module.params["archives"]:
        checksum, dest = archive["checksum"].partition(":")[2], archive["dest"]
        if installed(dest) == checksum:
            continue
        missing.append(dest)
        if archive["uploaded"] and not module.check_mode:
            uploaded = digest(archive["uploaded"])
            if uploaded != checksum:
                module.fail_json(
                    msg=f"{archive['uploaded']}: SHA-512 {uploaded} after the transfer, {checksum} declared; run again"
                )
            try:
                with umask(0o022):  # services read what is unpacked
                    unpack(archive["uploaded"], os.path.basename(archive["src"]), dest)
                unpacked[dest] = checksum
            except (EOFError, OSError, ValueError, tarfile.TarError, zlib.error) as error:
                module.fail_json(msg=f"{dest}: the archive cannot be unpacked: {error}")
    try:
        with umask(0o022):
            put(unpacked)
    except OSError as error:
        module.fail_json(msg=f"{', '.join(unpacked)}: cannot be created: {error}")
    module.exit_json(
        changed=bool(missing),
        missing=missing,
        diff=[{"before": "", "after": f"{dest}\n", "after_header": dest} for dest in missing],
    )


if __name__ == "__main__":
    main()
