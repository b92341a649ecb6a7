-- Addresses that a tenant must not send to, and which of its recipients were refused for it.

create table suppressions_address (
  tenant_id text collate "C" not null,
  -- The address in wire form and in lower case: what two spellings of one address share.
  email_key text collate "C" not null,
  -- As it was given first.
  email     text not null,
  reason    text not null check (reason in ('unsubscribed', 'bounced', 'complained', 'manual')),
  -- A ULID: the order of the list, and when the address was suppressed.
  id        text collate "C" not null,
  primary key (tenant_id, email_key)
);
create index suppressions_address_listed on suppressions_address (tenant_id, id);
create index suppressions_address_by_reason on suppressions_address (tenant_id, reason, id);

-- The recipients whom the first answer named as suppressed, so that its repetition says the same;
-- null when there were none.
alter table sending_idempotency add column suppressed smallint[];
