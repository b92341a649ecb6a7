-- What an address was suppressed by: { event, ref_id, relay } or { key_id }. Null: from before.
alter table suppressions_address add column source jsonb;
