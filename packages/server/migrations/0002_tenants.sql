-- Tenants and their API keys. A key is known by its SHA-256 alone: what the operator was shown
-- once cannot be read back. Revoked and expired keys stay, so that a log line's key_id has a name.

create table tenants_tenant (
  tenant_id  text collate "C" primary key,
  name       text not null,
  created_at timestamptz not null default now()
);

create table tenants_api_key (
  key_id     text collate "C" primary key,
  tenant_id  text collate "C" not null references tenants_tenant,
  key_hash   bytea not null,
  name       text,
  -- Empty: everything.
  scopes     text[] collate "C" not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- A request names nothing but its key, so this is looked up without a tenant.
  constraint tenants_api_key_hash_key unique (key_hash)
);
create index tenants_api_key_tenant on tenants_api_key (tenant_id, key_id);
