-- What operators look at.

-- The dispatcher's figures name paused streams, which may be idle; there are few.
create index webhooks_stream_paused on webhooks_stream (bucket) where paused_at is not null;
