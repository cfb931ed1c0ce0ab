"""A module of Ansible that warns, changes its process, and answers; or ends as it should not."""

import os
import sys

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Run as an Ansible module."""
    spec = {"end": {"type": "str", "default": ""}, "secret": {"type": "str", "no_log": True}}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    os.chdir("/")
    os.umask(0)
    os.environ["OF_A_MODULE"] = "1"
    module.warn("of the module")
    if module.params["end"] == "raise":
        raise ValueError("as it should not")
    if module.params["end"] == "exit":
        sys.exit(3)
    module.exit_json(changed=module.check_mode, said=f"it is {module.params['secret']}", read=sys.stdin.read())


if __name__ == "__main__":
    main()
