-- The read model of topic orders: the last state of each order. Readers take the view, so that a model built anew
-- beside this one can be put in its place.
CREATE TABLE orders_v1 (
  order_id text PRIMARY KEY,
  status text NOT NULL,
  customer text,
  amount_cents bigint,
  events bigint NOT NULL,
  created_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL
);
CREATE VIEW orders AS SELECT * FROM orders_v1;
