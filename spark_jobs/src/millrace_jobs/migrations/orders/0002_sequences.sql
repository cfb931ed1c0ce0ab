-- Which event of its order each value comes from, by the events' own count: offsets say it within one partition alone.
-- Null in rows of before, whose next event is taken for a later one. Readers' view stays as it is.
ALTER TABLE orders_v1
  ADD COLUMN status_sequence integer,
  ADD COLUMN customer_sequence integer,
  ADD COLUMN amount_cents_sequence integer;
