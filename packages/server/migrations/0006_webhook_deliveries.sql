-- breaking
-- Deliveries at full strength: frozen content lives in webhooks_open until it is settled, the
-- record of what came of it is append-only.
--
-- An event that a webhook wants is in exactly one place: webhooks_pending (not yet in a request), or
-- one row of webhooks_open (frozen, not settled). Both changes of place are one transaction.
-- Deliveries made before this migration leave; their events are still pending and are sent again.

-- The incoming webhook of a mailbox or of an inbound route is a subscription too, named by its owner.
alter table webhooks_subscription
  drop constraint webhooks_subscription_event_check,
  drop constraint webhooks_subscription_event_key,
  add column owner text collate "C" not null default '',
  -- Grows when the webhook is switched off: what was queued before is not sent any more.
  add column generation integer not null default 0,
  add constraint webhooks_subscription_event_check
    check (event in ('EMAIL_EVENT', 'DOMAIN_VERIFICATION', 'INCOMING')),
  add constraint webhooks_subscription_owner_check check ((event = 'INCOMING') = (owner <> '')),
  add constraint webhooks_subscription_event_key unique (tenant_id, event, owner);

alter table webhooks_event
  -- The mailbox or inbound route whose webhook takes it; '': one of the tenant's.
  add column owner text collate "C" not null default '';

-- The day under which an event is kept: its own, or today where the log has no such day.
create function webhooks_event_day(own date) returns date
language sql stable
as $$
  select case when exists (
      select 1 from pg_inherits
       where inhrelid = to_regclass('webhooks_event_' || to_char(own, 'YYYYMMDD'))
         and not inhdetachpending)
    then own else current_date end
$$;

alter table webhooks_event
  -- False only where the time within event_id is at most 10 minutes away from event_at: those are
  -- found by event_at through the primary key, the others through the index below. An index over
  -- all of them would take 5 % more time and 9 % more WAL for each event.
  add column is_late boolean not null default true;
create index webhooks_event_late on webhooks_event (tenant_id, event_at) where is_late;

alter table webhooks_stream
  drop column delivery_day,
  -- After a back-off the first new request is a small one.
  add column is_probing boolean not null default false,
  -- Events parked since the last request that was accepted.
  add column parked_in_row integer not null default 0,
  -- Learned from 413; null: the configuration's.
  add column batch_bytes_max integer,
  add column batch_shrunk_at timestamptz,
  -- Grows with each restart: a request from before tells nothing of the receiver that it has now.
  add column epoch integer not null default 0,
  -- Set by the operator: nothing is sent, everything is kept.
  add column paused_at timestamptz;
update webhooks_stream set delivery_id = null;
-- Walked by the dispatcher of a bucket: those that back off are passed over in the index.
drop index webhooks_stream_active;
create index webhooks_stream_active on webhooks_stream (bucket, webhook_id, not_before)
  where state = 'active' and paused_at is null;

alter table webhooks_pending
  drop constraint webhooks_pending_pkey,
  -- 0: live. 1: replayed, which goes after what is live.
  add column lane smallint not null default 0,
  add column generation integer not null default 0,
  -- Travels in a request of its own.
  add column solo boolean not null default false,
  add column queued_at timestamptz not null default clock_timestamp(),
  add constraint webhooks_pending_pkey primary key (tenant_id, webhook_id, lane, event_id);

drop table webhooks_attempt;
drop table webhooks_delivery;

-- Deliveries that are not settled: small, and rewritten often. No foreign key to the stream, which
-- would be checked for every request: a stream's row is deleted last, under its lock, by the
-- dispatcher that finds nothing left of it.
create table webhooks_open (
  tenant_id       text collate "C" not null,
  delivery_id     text collate "C" not null,
  -- Of the delivery id: the day of its record.
  day             date not null,
  webhook_id      text collate "C" not null,
  bucket          smallint not null,
  generation      integer not null,
  status          text not null default 'pending'
                    check (status in ('pending', 'retrying', 'parked')),
  -- The frozen members in the order in which they are sent, with the day that holds each.
  event_ids       text[] not null,
  event_days      date[] not null,
  traceparent     text not null,
  attempts        integer not null default 0,
  created_at      timestamptz not null default now(),
  next_attempt_at timestamptz,
  -- When it is its turn again; null while it is the current one of its stream
  -- (webhooks_stream.delivery_id). What was divided is due for ever: before anything parked.
  due_at          timestamptz,
  -- Among those that are due, the lower first: the halves of a divided delivery keep their order.
  turn            text collate "C" not null default '',
  primary key (tenant_id, delivery_id)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
create index webhooks_open_stream on webhooks_open (tenant_id, webhook_id, due_at)
  where due_at is not null;
-- Walked from webhook to webhook by the dispatcher of a bucket.
create index webhooks_open_due on webhooks_open (bucket, webhook_id, due_at)
  where due_at is not null;

-- The record of a settled delivery.
create table webhooks_delivery (
  tenant_id    text collate "C" not null,
  delivery_id  text collate "C" not null,
  day          date not null,
  webhook_id   text collate "C" not null,
  status       text not null check (status in ('delivered', 'exhausted', 'discarded')),
  -- How the members are written into a body.
  mode         text not null check (mode in ('array', 'single')),
  event_ids    text[] not null,
  event_days   date[] not null,
  traceparent  text not null,
  attempts     integer not null,
  created_at   timestamptz not null default now(),
  finished_at  timestamptz not null default now(),
  -- Of a delivery that was refused as a whole: the two that took its events over.
  divided_into text[],
  -- The attempt that ended it, as a row of webhooks_attempt would hold it; null when none did.
  last_attempt json,
  primary key (tenant_id, delivery_id, day)
) partition by range (day);
create index webhooks_delivery_status on webhooks_delivery (tenant_id, status, delivery_id)
  where status <> 'delivered';

-- Attempts that another may follow; the one that ended a delivery is in its row.
create table webhooks_attempt (
  tenant_id    text collate "C" not null,
  delivery_id  text collate "C" not null,
  -- The day of the delivery, so that both leave together.
  day          date not null,
  attempt      integer not null,
  at           timestamptz not null,
  duration_ms  integer not null,
  status       smallint,
  error        text,
  response     text,
  timings      json,
  header_names text[] not null default '{}',
  primary key (tenant_id, delivery_id, attempt, day)
) partition by range (day);

-- Which settled deliveries carried an event.
create table webhooks_item (
  tenant_id   text collate "C" not null,
  event_id    text collate "C" not null,
  delivery_id text collate "C" not null,
  -- Of the delivery.
  day         date not null,
  status      text not null,
  primary key (tenant_id, event_id, delivery_id, day)
) partition by range (day);
