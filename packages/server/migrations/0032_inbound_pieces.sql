-- breaking: older programs take the first piece of a large message for all of it
-- A received message is kept in pieces of 512 KiB: one of 25 MB in a single value held up whoever wrote
-- or read it, and with it everybody else in the process.

alter table inbound_raw add column piece integer not null default 0;
alter table inbound_raw drop constraint inbound_raw_pkey;
alter table inbound_raw add primary key (tenant_id, raw_id, day, piece);

insert into inbound_raw (tenant_id, raw_id, day, piece, raw)
select tenant_id, raw_id, day, n, substring(raw from n * 524288 + 1 for 524288)
  from inbound_raw
 cross join lateral generate_series(1, (octet_length(raw) - 1) / 524288) n;
update inbound_raw set raw = substring(raw for 524288) where octet_length(raw) > 524288;
