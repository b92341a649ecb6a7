-- Copies that belong in the Sent folder of mailboxes that are sent by and fetched from: one for each
-- email, of the first recipient whose copy the mailer's server accepted. A row leaves when the copy is
-- in the folder.

create table sending_sent_copy (
  tenant_id     text collate "C" not null,
  ref_id        text collate "C" not null,
  mailer_id     text collate "C" not null,
  -- hash(mailer_id) % 64: the process with the role mailbox that holds this bucket's lease serves it.
  bucket        smallint not null,
  -- Of the accepted copy: what the folder is searched for.
  message_id    text not null,
  -- About how much memory the email's content takes, known before it is loaded.
  content_bytes integer not null,
  sent_at       timestamptz not null default now(),
  -- Not before; while somebody is at it, when that is over.
  due_at        timestamptz not null,
  -- How often it was tried and failed.
  tries         smallint not null default 0,
  -- Grows with every claim: whoever holds an older one has lost the row.
  fence         bigint not null default 0,
  primary key (tenant_id, ref_id, mailer_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
create index sending_sent_copy_due on sending_sent_copy (bucket, tenant_id, mailer_id, due_at);
create index sending_sent_copy_sent on sending_sent_copy (sent_at);
