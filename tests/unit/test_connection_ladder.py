"""Nobody answers: the rung that fails is named, within 10 s."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from certificate_maker import Ca, key_pem, new_key, pem

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.quotas import Quotas
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers
