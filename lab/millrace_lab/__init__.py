"""What a lab needs to know of the machine that it shares with the labs of other checkouts."""
