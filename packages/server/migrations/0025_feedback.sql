-- What relay providers report of the mail that they were given.

-- Callbacks as they came, until what they report is applied.
create table feedback_inbox (
  tenant_id   text collate "C" not null,
  -- A ULID: the order in which they came.
  inbox_id    text collate "C" not null,
  kind        text collate "C" not null,
  received_at timestamptz not null,
  body        bytea not null,
  bytes       integer not null,
  -- Not looked at before.
  due_at      timestamptz not null default now(),
  -- Kept aside: something in it cannot be applied.
  refused_at  timestamptz,
  problem     text,
  primary key (tenant_id, inbox_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
-- Half of the time that storing takes would go into compression.
alter table feedback_inbox alter column body set storage external;
create index feedback_inbox_waiting on feedback_inbox (tenant_id, inbox_id) include (due_at, bytes)
  where refused_at is null;
create index feedback_inbox_refused on feedback_inbox (tenant_id, inbox_id)
  where refused_at is not null;

-- The tables below but the last are partitioned by the day in which the email was accepted (the time
-- within its ref_id), and leave with it.

-- What was reported of a recipient, each report once however often it came.
create table feedback_fact (
  tenant_id   text collate "C" not null,
  ref_id      text collate "C" not null,
  n           smallint not null,
  -- The provider's id of the report, else a digest of it.
  fact_id     text collate "C" not null,
  day         date not null,
  -- Null: what a mail server has reported by mail.
  relay       text,
  kind        text not null,
  -- The provider's own word for it.
  type        text not null,
  -- The provider's id of the message: some reports have nothing else.
  message_key text,
  reported_at timestamptz not null,
  received_at timestamptz not null,
  reason      text not null,
  is_hard     boolean,
  error_code  text,
  num_retries text,
  primary key (tenant_id, ref_id, n, fact_id, day)
) partition by range (day);
-- By hash, as those of sending_recipient: whoever reads by it compares the texts as well.
create index feedback_fact_message on feedback_fact
  (hashtextextended(tenant_id || ' ' || message_key, 0)) where message_key is not null;

-- What is true of a recipient beside its status; of whom nothing is, there is no row.
create table feedback_recipient (
  tenant_id       text collate "C" not null,
  ref_id          text collate "C" not null,
  n               smallint not null,
  day             date not null,
  complained_at   timestamptz,
  unsubscribed_at timestamptz,
  primary key (tenant_id, ref_id, n, day)
) partition by range (day);

-- Reports of which it is not known yet, or no longer expected to become known, whom they are about.
create table feedback_parked (
  tenant_id   text collate "C" not null,
  relay       text collate "C" not null,
  fact_id     text collate "C" not null,
  kind        text not null,
  -- By which it may be joined later.
  message_key text collate "C",
  -- The report as it was read.
  fact        text not null,
  received_at timestamptz not null,
  tries       smallint not null default 0,
  -- Null: nobody looks any more.
  due_at      timestamptz,
  primary key (tenant_id, relay, fact_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);
create index feedback_parked_due on feedback_parked (due_at) where due_at is not null;
create index feedback_parked_message on feedback_parked (tenant_id, message_key)
  where due_at is not null and message_key is not null;
create index feedback_parked_received on feedback_parked (received_at);

-- Of emails that are there already something may be reported, too: by mail, which names any of them.
do $$
declare
  behind integer := (select current_date - min(right(inhrelid::regclass::text, 8)::date)
                       from pg_inherits where inhparent = 'sending_recipient'::regclass);
begin
  if behind is not null then
    perform platform_ensure_day_partitions('feedback_fact', behind);
    perform platform_ensure_day_partitions('feedback_recipient', behind);
  end if;
end
$$;
