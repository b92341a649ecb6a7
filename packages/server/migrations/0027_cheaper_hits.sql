-- Hits and events in fewer steps.

-- Whoever inserts pointers holds the stream's row already, by a lock that it takes once for all of
-- them (`for key share`); the constraint took it again for each, which was a fourteenth of an event.
-- A stream is deleted under its own lock, when no pointer is left.
alter table webhooks_pending drop constraint webhooks_pending_stream;

-- What a recipient does adds to its row, mostly several times. With room in the page an update stays
-- there and writes to no index.
insert into platform_partition_option values ('tracking_recipient', 'fillfactor = 70');
do $$
declare
  part regclass;
begin
  for part in select inhrelid::regclass from pg_inherits
               where inhparent = 'tracking_recipient'::regclass loop
    execute format('alter table %s set (fillfactor = 70)', part);
  end loop;
end
$$;
