"""One module per job, which ends in its `JOB`; the module has the name of the job."""
