-- Addresses that a tenant must not send to, which of its recipients were refused for it, and what is
-- needed to find failed recipients again.

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

-- What a rescue walks through: the last attempts of series that failed. Successful attempts, nearly
-- all of them, do not touch it. With the day, so that the primary key, which has them all, is not
-- taken for the better one.
create index sending_attempt_failed on sending_attempt (tenant_id, ref_id, n, attempt, day)
  where not retry_scheduled and outcome <> 'accepted';
-- About how much memory the content takes, for the queue of those who are rescued. Emails from
-- before are taken for large ones, which are loaded when they are needed.
alter table sending_email add column content_bytes integer not null default 1048576;
