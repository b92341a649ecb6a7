-- What the operator changed in a tenant, acting for it (contract §7.1).
--
-- An entry is written before the change is begun: none is without its entry, whatever ends the
-- process. `status` is that of the answer; null where none was given.

create table tenants_audit_entry (
  tenant_id    text collate "C" not null,
  entry_id     text collate "C" not null,
  at           timestamptz not null default now(),
  actor        text not null,
  -- By its name in the OpenAPI description.
  operation    text not null,
  -- The ids in the path, else the first id in the answer.
  target       text,
  -- The address of the caller.
  from_address text not null,
  request_id   text not null,
  status       smallint,
  primary key (tenant_id, entry_id)
);
-- Over all tenants, newest first.
create index tenants_audit_entry_newest on tenants_audit_entry (entry_id);
