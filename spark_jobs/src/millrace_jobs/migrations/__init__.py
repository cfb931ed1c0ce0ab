"""The SQL files that create and change tables: a folder for each read model, a file NNNN_what.sql per version."""
