-- The last errors of mailers, and their list.

-- The latest of each kind that concerns the mailer itself, not a recipient or a message.
create table mailers_error (
  tenant_id      text collate "C" not null,
  mailer_id      text collate "C" not null,
  category       text collate "C" not null,
  at             timestamptz not null,
  failed_reason  text not null,
  provider_error text not null,
  ref_id         text collate "C" not null,
  primary key (tenant_id, mailer_id, category)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);

-- Newest first, whatever the prefix of the id.
create index mailers_mailer_newest on mailers_mailer (tenant_id, right(mailer_id, 26));
