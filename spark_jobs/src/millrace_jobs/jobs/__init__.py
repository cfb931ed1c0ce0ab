"""One module per job, which ends in its `JOB`; the names of the modules are those of the jobs."""
