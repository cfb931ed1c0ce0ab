"""The jobs: each module defines one job, under the name JOB, and has the name of this job."""
