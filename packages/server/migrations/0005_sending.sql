-- Accepted emails, their recipients, the queue of what is still to be sent, and the attempts.
--
-- sending_email, sending_recipient and sending_attempt are partitioned by the day in which the
-- email was accepted (the time within its ref_id), so that an email leaves as a whole.
-- sending_queue holds one row per recipient that is not finished: inserted at acceptance, deleted
-- with the terminal status.

create table sending_email (
  tenant_id    text collate "C" not null,
  ref_id       text collate "C" not null,
  day          date not null,
  mailer_id    text collate "C" not null,
  from_email   text not null,
  subject      text not null,
  campaign_id  text,
  custom_args  json,
  -- Everything else that is needed to build the message, as accepted.
  content      json not null,
  max_attempts smallint not null,
  expires_at   timestamptz not null,
  traceparent  text not null,
  created_at   timestamptz not null,
  primary key (tenant_id, ref_id, day)
) partition by range (day);

create table sending_recipient (
  tenant_id     text collate "C" not null,
  ref_id        text collate "C" not null,
  n             smallint not null,
  day           date not null,
  email         text not null,
  type          text not null check (type in ('to', 'cc', 'bcc')),
  status        text not null,
  attempts      smallint not null default 0,
  failed_reason text not null default '',
  message_id    text not null,
  created_at    timestamptz not null,
  delivered_at  timestamptz,
  primary key (tenant_id, ref_id, n, day)
) partition by range (day);

create table sending_queue (
  tenant_id    text collate "C" not null,
  ref_id       text collate "C" not null,
  n            smallint not null,
  mailer_id    text collate "C" not null,
  -- hash(mailer_id) % 64: the sender process that holds this bucket's lease serves it.
  bucket       smallint not null,
  -- waiting: not before due_at. sending, dot: claimed until due_at, after which the claim is over.
  phase        text not null default 'waiting' check (phase in ('waiting', 'sending', 'dot')),
  due_at       timestamptz not null,
  -- The attempt under way or to come, from 1.
  attempt      smallint not null default 1,
  max_attempts smallint not null,
  -- Grows with every claim: whoever holds an older one has lost the row.
  fence        bigint not null default 0,
  -- How often this attempt was cut off before the dot by the end of its process.
  interrupted  smallint not null default 0,
  expires_at   timestamptz not null,
  -- About how much memory the email's content takes, known before it is loaded.
  content_bytes integer not null,
  -- When the attempt under way began.
  started_at   timestamptz,
  primary key (tenant_id, ref_id, n)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
create index sending_queue_due on sending_queue (bucket, tenant_id, mailer_id, due_at);
create index sending_queue_interrupted on sending_queue (bucket, due_at) where interrupted > 0;

create table sending_attempt (
  tenant_id       text collate "C" not null,
  ref_id          text collate "C" not null,
  n               smallint not null,
  attempt         integer not null,
  day             date not null,
  mailer_id       text collate "C" not null,
  max_attempts    smallint not null,
  started_at      timestamptz not null,
  finished_at     timestamptz not null,
  outcome         text not null check (outcome in ('accepted', 'deferred', 'failed', 'uncertain')),
  category        text,
  failed_reason   text not null default '',
  provider_error  text not null default '',
  retry_scheduled boolean not null,
  next_attempt_at timestamptz,
  primary key (tenant_id, ref_id, n, attempt, day)
) partition by range (day);

create table sending_idempotency (
  tenant_id  text collate "C" not null,
  key        text collate "C" not null,
  body_hash  bytea not null,
  ref_id     text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, key)
);
create index sending_idempotency_created on sending_idempotency (created_at);
