"""Plain SQL: a folder for each read model, a file NNNN_what.sql for each version."""
