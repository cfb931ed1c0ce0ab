-- What each query has applied: a row for each partition, written in the transaction of the rows that it speaks of.
CREATE TABLE job_positions (
  query text NOT NULL,
  topic text NOT NULL,
  topic_id text NOT NULL, -- a topic that is made anew under its name has another
  partition integer NOT NULL,
  from_offset bigint NOT NULL,
  until_offset bigint NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (query, topic, partition),
  CHECK (from_offset < until_offset)
);
-- How many of those records were dead letters, by reason.
CREATE TABLE job_dead_letters (
  query text NOT NULL,
  reason text NOT NULL,
  records bigint NOT NULL,
  PRIMARY KEY (query, reason)
);
