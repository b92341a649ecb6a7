-- Mail that was received, by the SMTP listener or from mailboxes, until it is reported; and the
-- domains that are routed here.

create table inbound_domain (
  tenant_id       text collate "C" not null,
  -- In wire form.
  domain          text collate "C" not null,
  -- A ULID, made when it was configured: the order of lists.
  id              text collate "C" not null,
  -- Stands in the record that proves ownership.
  ownership_token text not null,
  -- What was seen of each record, by its type, name and value.
  record_states   json not null default '{}',
  -- Null: no mail is accepted for it.
  verified_at     timestamptz,
  checked_at      timestamptz,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  primary key (tenant_id, domain)
);
create unique index inbound_domain_listed on inbound_domain (tenant_id, id);
-- Over all tenants: whose the MX proves it is, the oldest first.
create index inbound_domain_unproven on inbound_domain (domain, created_at, tenant_id)
  where verified_at is null;

-- Whose a domain is, over all tenants: the first to prove it.
create table inbound_claim (
  domain     text collate "C" primary key,
  tenant_id  text collate "C" not null,
  claimed_at timestamptz not null default now(),
  foreign key (tenant_id, domain) references inbound_domain on delete cascade
);

-- A route of its own for one local part.
create table inbound_username (
  tenant_id  text collate "C" not null,
  domain     text collate "C" not null,
  -- Without case, and without a tag.
  username   text collate "C" not null,
  -- A ULID, made when it was created: the order of lists.
  id         text collate "C" not null,
  -- Its webhook's address; null: the domain's.
  url        text,
  -- Whether it has a webhook of its own, which has headers of its own.
  has_webhook boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, domain, username),
  foreign key (tenant_id, domain) references inbound_domain on delete cascade
);
create unique index inbound_username_listed on inbound_username (tenant_id, domain, id);

-- The tables below are partitioned by the day within their id, and leave with it.

-- A message as it was received: once for a tenant, however many of its routes it came by.
create table inbound_raw (
  tenant_id text collate "C" not null,
  raw_id    text collate "C" not null,
  day       date not null,
  raw       bytea not null,
  primary key (tenant_id, raw_id, day)
) partition by range (day);
-- Most of what is large in mail does not get smaller.
alter table inbound_raw alter column raw set storage external;

-- A message as it goes to one webhook.
create table inbound_message (
  tenant_id     text collate "C" not null,
  inbound_id    text collate "C" not null,
  day           date not null,
  raw_id        text collate "C" not null,
  source        text not null check (source in ('smtp', 'imap')),
  -- Whose webhook takes it: a mailer's id, or `<domain>/<username>`, of a domain `<domain>/`.
  owner         text collate "C" not null,
  -- By SMTP: the route, as `details` names it; username '' is the domain's.
  domain        text,
  username      text,
  -- By IMAP.
  mailer_id     text collate "C",
  folder        text,
  -- The server's own name of the conversation, where it has one.
  server_thread text,
  -- By SMTP: { from, to, remote_ip, helo, tls }.
  envelope      json,
  -- Microseconds count: when the last byte was there.
  received_at   timestamptz not null,
  bytes         integer not null,
  -- When it was reported, and what was wrong with it then.
  reported_at   timestamptz,
  problem       text,
  primary key (tenant_id, inbound_id, day)
) partition by range (day);

-- What is yet to be reported.
create table inbound_queue (
  tenant_id  text collate "C" not null,
  inbound_id text collate "C" not null,
  bytes      integer not null,
  due_at     timestamptz not null default now(),
  tries      smallint not null default 0,
  -- Who has taken it, until when.
  fence      bigint not null default 0,
  busy_until timestamptz,
  primary key (tenant_id, inbound_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
create index inbound_queue_id on inbound_queue (inbound_id);

-- What was received lately, by recipient, Message-ID and content: a server that never heard our `250`
-- sends its message again. Kept for 24 h.
create table inbound_seen (
  tenant_id text collate "C" not null,
  digest    bytea not null,
  seen_at   timestamptz not null default now(),
  primary key (tenant_id, digest)
);
create index inbound_seen_at on inbound_seen (seen_at);
