-- Sending configurations. The password is sealed by the key ring and bound to its row.

create table mailers_mailer (
  tenant_id        text collate "C" not null,
  mailer_id        text collate "C" not null,
  name             text not null,
  -- The address that the mailer sends for, and the same in lower case, by which it is found.
  email            text not null,
  email_key        text collate "C" not null,
  config_type      text not null,
  connection_type  text not null check (connection_type in ('basic', 'oauth')),
  host             text not null,
  port             integer not null check (port between 1 and 65535),
  -- Null: the server is used without a login.
  username         text,
  secure           text not null check (secure in ('Auto', 'Tls', 'SSL', 'None')),
  tls_verify       boolean not null,
  -- Sealed JSON; null when there is no username.
  secret           text check ((secret is null) = (username is null)),
  uncertain        text not null check (uncertain in ('at_least_once', 'at_most_once')),
  limits           json not null,
  state            text not null default 'active' check (state in ('active', 'deactivated', 'disabled')),
  state_reason     text,
  state_evidence   text,
  state_changed_at timestamptz not null default now(),
  -- When this host first answered: a name that never resolved is a typo, one that did is an outage.
  worked_at        timestamptz,
  -- Grows with every update; connections of an older version are not used again.
  config_version   bigint not null default 1,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  primary key (tenant_id, mailer_id)
);
create index mailers_mailer_email on mailers_mailer (tenant_id, email_key, created_at);
