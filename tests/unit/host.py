"""A Host for tests, with the primitives of a real AnsibleModule."""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.millrace.kafka.plugins.module_utils.host.state import Host
from ansible_collections.millrace.kafka.plugins.modules.host_state import refuse


def host(check_mode: bool = False) -> Host:
    """Return what the module host_state hands the work to."""
    with patch_module_args({"_ansible_check_mode": check_mode}):
        module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    module.fail_json = refuse
    return Host(module)
