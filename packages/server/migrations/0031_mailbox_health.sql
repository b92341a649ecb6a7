-- What a tenant sees of a mailbox: when it was read last, and what stands in the way.

alter table mailboxes_mailbox
  -- Of the episode of failure: how often it has failed. 0: it can be read.
  add column tries integer not null default 0,
  -- When all of its folders were looked at last, with nothing left to take.
  add column read_at timestamptz,
  -- The last failure, also of an episode that is over.
  add column failed_at timestamptz,
  add column failed_reason text,
  add column provider_error text;
