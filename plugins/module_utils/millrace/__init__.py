"""What playbooks and modules share: pure logic first, thin edges to hosts and clusters."""
