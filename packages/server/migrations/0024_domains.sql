-- Sending domains: what is published for them, what was seen of it, and whose they are.

create table domains_domain (
  tenant_id        text collate "C" not null,
  -- In wire form.
  domain           text collate "C" not null,
  -- Its mailer, until it is being deleted.
  mailer_id        text collate "C" not null,
  relay            text collate "C" not null,
  -- `creating`: the provider has not confirmed it. `deleting`: only the provider still has it.
  stage            text not null check (stage in ('creating', 'ready', 'deleting')),
  provider_id      text,
  -- The account at the provider had it before it was added here: it is not ours to delete.
  was_there        boolean not null default false,
  custom_args      json,
  -- As given to addDomain.
  options          json not null,
  -- Stands in the record that proves ownership.
  ownership_token  text not null,
  -- DKIM keys, the private ones sealed by the key ring and bound to row and selector; empty where
  -- the provider has its own.
  dkim_keys        json not null,
  -- The provider's part of what is to be published.
  provider_records json not null default '[]',
  -- What was seen of each record, by its type, name and value.
  record_states    json not null default '{}',
  -- What the provider said last.
  provider_state   json not null,
  -- Null: it is not verified.
  verified_at      timestamptz,
  was_verified     boolean not null default false,
  checked_at       timestamptz,
  -- When it is to be checked, or its creation or deletion gone on with; null: not by itself.
  due_at           timestamptz,
  -- How often that was done since somebody asked for something.
  tries            integer not null default 0,
  -- Until then somebody is at its creation or deletion; what they find counts under their fence.
  busy_until       timestamptz,
  fence            bigint not null default 0,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  primary key (tenant_id, domain)
);
create unique index domains_domain_listed on domains_domain (tenant_id, mailer_id);
create index domains_domain_due on domains_domain (due_at) include (tenant_id, domain)
  where due_at is not null;

-- Whose a domain is, over all tenants: the first to verify it.
create table domains_claim (
  domain     text collate "C" primary key,
  tenant_id  text collate "C" not null,
  claimed_at timestamptz not null default now()
);
