-- Subscriptions, the event log, and the streams through which events leave.
--
-- webhooks_event is the log: append-only, by day of event_at, the payload kept once as the JSON
-- text that is sent. webhooks_pending is the only queue: a pointer is inserted once and deleted
-- once. webhooks_stream has one row per destination; its delivery_id names the request whose
-- content is frozen and not yet settled, which makes two dispatchers on one stream harmless.

create table webhooks_subscription (
  tenant_id      text collate "C" not null,
  webhook_id     text collate "C" not null,
  event          text not null check (event in ('EMAIL_EVENT', 'DOMAIN_VERIFICATION')),
  url            text not null,
  method         text not null check (method = 'POST'),
  active         boolean not null default true,
  -- The twelve toggles; null for DOMAIN_VERIFICATION.
  options        json,
  -- Ordered [name, value] pairs, sealed by the key ring; the names beside it are not secret.
  headers_sealed text not null,
  header_names   text[] not null,
  created_at     timestamptz not null default now(),
  updated_at     timestamptz not null default now(),
  primary key (tenant_id, webhook_id),
  constraint webhooks_subscription_event_key unique (tenant_id, event)
);

create table webhooks_stream (
  tenant_id        text collate "C" not null,
  webhook_id       text collate "C" not null,
  bucket           smallint not null,
  mode             text not null check (mode in ('array', 'single')),
  state            text not null default 'idle' check (state in ('idle', 'active')),
  not_before       timestamptz not null default '-infinity',
  fail_count       integer not null default 0,
  first_failure_at timestamptz,
  last_ok_at       timestamptz,
  delivery_id      text collate "C",
  delivery_day     date,
  primary key (tenant_id, webhook_id)
) with (fillfactor = 50);
create index webhooks_stream_active on webhooks_stream (bucket) where state = 'active';

create table webhooks_event (
  tenant_id   text collate "C" not null,
  event_id    text collate "C" not null,
  day         date not null,
  -- '' for events of no email.
  ref_id      text collate "C" not null,
  event       text collate "C" not null,
  event_at    timestamptz not null,
  -- 0 for events without an attempt number.
  attempt     integer not null,
  body        text not null,
  traceparent text not null,
  primary key (tenant_id, event_id, day),
  -- The receiver's deduplication key (interface 6.2.7). day follows from event_at, so this is
  -- unique over all partitions.
  constraint webhooks_event_dedup_key unique (tenant_id, ref_id, event, event_at, attempt, day)
) partition by range (day);

create table webhooks_pending (
  tenant_id  text collate "C" not null,
  webhook_id text collate "C" not null,
  event_id   text collate "C" not null,
  day        date not null,
  bytes      integer not null,
  primary key (tenant_id, webhook_id, event_id),
  -- Writers hold a share lock on their stream through this key: a stream that goes idle under
  -- its own lock cannot miss them, and one that is deleted takes its pointers with it.
  constraint webhooks_pending_stream foreign key (tenant_id, webhook_id)
    references webhooks_stream (tenant_id, webhook_id) on delete cascade
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);

create table webhooks_delivery (
  tenant_id       text collate "C" not null,
  delivery_id     text collate "C" not null,
  day             date not null,
  webhook_id      text collate "C" not null,
  status          text not null check (status in
                    ('pending', 'retrying', 'delivered', 'parked', 'exhausted', 'discarded')),
  -- The frozen members in the order in which they are sent, with the day that holds each.
  event_ids       text[] not null,
  event_days      date[] not null,
  traceparent     text not null,
  attempts        integer not null default 0,
  created_at      timestamptz not null default now(),
  next_attempt_at timestamptz,
  finished_at     timestamptz,
  primary key (tenant_id, delivery_id, day)
) partition by range (day);

create table webhooks_attempt (
  tenant_id   text collate "C" not null,
  delivery_id text collate "C" not null,
  -- The day of the delivery, so that both leave together.
  day         date not null,
  attempt     integer not null,
  at          timestamptz not null,
  duration_ms integer not null,
  status      smallint,
  error       text,
  response    text,
  timings     json,
  primary key (tenant_id, delivery_id, attempt, day)
) partition by range (day);
