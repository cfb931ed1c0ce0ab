"""One module per job; its `run(spark, config)` starts the query. `millrace_jobs.config.JOBS` lists them."""
