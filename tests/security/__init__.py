"""Who is refused, and in which words."""
