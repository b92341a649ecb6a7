-- Mailboxes that are watched: what of each has been reported, and since when it cannot be read.

alter table mailers_mailer
  -- { folders: [{ path, start, since, baseline? }] } of one that fetches; null: its inbox, since it was made.
  add column mailbox json;
create index mailers_mailer_fetching on mailers_mailer (tenant_id, mailer_id)
  where state = 'active' and config_type in ('imap', 'oauth_imap', 'smtp_imap');

create table mailboxes_mailbox (
  tenant_id     text collate "C" not null,
  mailer_id     text collate "C" not null,
  -- Grows whenever somebody begins to watch it; who has an older one writes nothing more.
  fence         bigint not null default 0,
  -- An episode of failure: since when, and when it is to be told of again. Null: it can be read.
  failing_since timestamptz,
  report_due_at timestamptz,
  primary key (tenant_id, mailer_id),
  foreign key (tenant_id, mailer_id) references mailers_mailer on delete cascade
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);

create table mailboxes_folder (
  tenant_id    text collate "C" not null,
  mailer_id    text collate "C" not null,
  path         text collate "C" not null,
  -- Of the configuration by which it was begun, and the host then: of another one nothing here holds.
  start        text collate "C" not null,
  host         text collate "C" not null,
  -- RFC 3501 §2.3.1.1. All messages up to this UID have been dealt with.
  uid_validity numeric not null,
  last_uid     bigint not null,
  -- The last UID when it was begun, or renumbered: what arrived before `old_before` and is not above it was
  -- there already.
  first_uid    bigint not null,
  old_before   timestamptz,
  -- From when on each of its messages is known; null: all that were ever there are.
  known_since  timestamptz,
  primary key (tenant_id, mailer_id, path),
  foreign key (tenant_id, mailer_id) references mailboxes_mailbox on delete cascade
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);

-- Messages of mailboxes that have been dealt with, by what they are recognised by in another folder, or
-- under another UID: two digests of each.
create table mailboxes_fetched (
  tenant_id  text collate "C" not null,
  mailer_id  text collate "C" not null,
  digest     bytea not null,
  fetched_at timestamptz not null default now(),
  primary key (tenant_id, mailer_id, digest),
  foreign key (tenant_id, mailer_id) references mailboxes_mailbox on delete cascade
);
create index mailboxes_fetched_at on mailboxes_fetched (fetched_at);
