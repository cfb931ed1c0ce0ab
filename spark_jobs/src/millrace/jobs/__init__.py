"""One module per job; its `run(spark, config)` starts the query. `millrace.config.JOBS` lists them."""
