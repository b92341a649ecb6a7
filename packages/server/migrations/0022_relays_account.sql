-- Accounts at relay providers, one of a kind for a tenant.

create table relays_account (
  tenant_id           text collate "C" not null,
  kind                text collate "C" not null,
  -- The key and the secrets are sealed by the key ring, and bound to row and column. Null: of the
  -- simulator, which has no key.
  api_key             text,
  -- Without a slash at its end; empty for the simulator.
  api_base            text not null,
  -- What the provider calls back by: sealed, to be shown again, and as SHA-256, to be found by.
  callback_token      text not null,
  callback_token_hash bytea not null unique,
  callback_secret     text,
  -- Base64 of an SPKI; public.
  verification_key    text,
  -- Grows with each key or address.
  config_version      bigint not null default 1,
  created_at          timestamptz not null default now(),
  updated_at          timestamptz not null default now(),
  primary key (tenant_id, kind)
);
