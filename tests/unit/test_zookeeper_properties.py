"""packaging/zookeeper_properties.py: how ZooKeeper reads a property says its name, type and default."""

from __future__ import annotations

from typing import Any

import pytest
from tarballs import BuildError
from zookeeper_properties import config_keys, methods, system_properties

LISTING = """Compiled from "Server.java"
public class org.example.Server extends org.example.Base {
  private int ticks;

  public org.example.Server(int);
    Code:
       0: aload_0
       1: ldc           #2                  // String
       3: ldc_w         #3                  // String zookeeper.snapCount
       6: sipush        -7
       9: iconst_m1
      10: ldc2_w        #5                  // long 5l
      13: ldc           #6                  // float 0.15f
      15: lmul
      16: putfield      #7                  // Field ticks:I
      19: invokestatic  #8                  // Method java/lang/Integer.getInteger:(Ljava/lang/String;)V
      22: tableswitch   { // 1 to 2
                     1: 44
               default: 51
          }
  static int count() throws java.io.IOException;
    Code:
       0: getstatic     #9                  // Field org/example/Base.all:I
       3: invokevirtual #10                 // Method size:()I
}
"""


def test_a_listing_is_read_as_steps() -> None:
    assert methods(LISTING) == {
        "org.example.Server.Server": "text \ntext zookeeper.snapCount\nnumber -7\nnumber m1\nnumber 5\nnumber 0.15\n"
        "arithmetic mul\nput ticks\ncall java/lang/Integer.getInteger\n",
        "org.example.Server.count": "get all\ncall size\n",
    }
    with pytest.raises(BuildError, match=r"ZooKeeper has no org\.example\.Gone any more"):
        methods(LISTING)["org.example.Gone"]


@pytest.mark.parametrize(
    ("steps", "spec"),
    [
        ("number m1,call java/lang/Integer.getInteger", {"type": "int", "default": -1}),
        ("number 5,number 2,arithmetic mul,call java/lang/Integer.getInteger", {"type": "int"}),
        ("call java/lang/System.getProperty", {"type": "string"}),
        ("text yes,call java/lang/System.getProperty", {"type": "string", "default": "yes", "choices": ["no", "yes"]}),
        ("text true,call java/lang/System.getProperty", {"type": "boolean", "default": True}),
        ("text 0.5,call x/Y.getProperty,call java/lang/Double.parseDouble", {"type": "double", "default": 0.5}),
        ("call java/lang/String.equals,call java/lang/System.getProperty", None),
        ("text zookeeper.b,call java/lang/Long.getLong", None),
        ("call targetProperty", None),
    ],
)
def test_what_reads_a_name_says_its_type_and_default(steps: str, spec: dict[str, Any] | None) -> None:
    method = "text zookeeper.a\n" + steps.replace(",", "\n") + "\n"
    found = dict(system_properties({"method": method}, {"holder": []}))
    assert found.get("a") == spec


def test_zookeepers_names_come_from_texts_beginnings_and_fields() -> None:
    steps = {
        "text": "text true\ntext zookeeper.skipACL\ncall java/lang/System.getProperty\ncall java/lang/String.equals\n",
        "beginning": "text zookeeper.provider\ncall java/lang/String.startsWith\n",
        "field": "get trustStore\ncall org/apache/zookeeper/common/ZKConfig.getProperty\n",
        "jvm": "text jute.maxbuffer\nnumber 1048575\ncall java/lang/Integer.getInteger\n",
        "other": "text os.name\ncall java/lang/System.getProperty\ntext a.b\ncall other/Reader.getInt\n",
    }
    names = dict(system_properties(steps, {"trustStore": ["zookeeper.ssl.store", "zookeeper.ssl.quorum.store"]}))
    text = {"type": "string"}
    assert names == {
        **dict.fromkeys(("provider", "provider.", "ssl.store", "ssl.quorum.store"), text),
        "skipACL": {"type": "boolean"},
        "jute.maxbuffer": {"type": "int", "default": 1048575, "jvm": True},
    }


def test_keys_of_the_file_have_the_types_that_their_branches_parse() -> None:
    steps = (
        "text clientPort\ncall java/lang/String.equals\ncall java/lang/Integer.parseInt\n"
        "text peerType\ncall java/lang/String.equals\n"
        "call java/lang/String.toLowerCase\ntext observer\ncall java/lang/String.equals\n"
        "text server.\ncall java/lang/String.startsWith\n"
    )
    with pytest.raises(BuildError, match="sets no system property any more"):
        config_keys(steps)
    assert config_keys(steps + "call java/lang/System.setProperty\n") == {
        "clientPort": {"type": "int"},
        "peerType": {"type": "string", "choices": ["observer"], "ignorecase": True},
        "server.": {"type": "string"},
    }
