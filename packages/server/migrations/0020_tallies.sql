-- How often something happened, by hour and by what it concerns: exact, and in nobody's way.
--
-- Whoever counts inserts a change in the transaction of the fact. The janitor folds changes into
-- sums, each once: it deletes what it adds up. A sum alone would be a row that all senders of a
-- mailer wait for. What is read is sums and changes together.

create table platform_tally (
  tenant_id text collate "C" not null,
  -- What it concerns, such as a mailer.
  subject   text collate "C" not null,
  hour      timestamptz not null,
  name      text collate "C" not null,
  n         bigint not null,
  primary key (tenant_id, hour, subject, name)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000
);
create index platform_tally_hour on platform_tally (hour);

create table platform_tally_change (
  tenant_id text collate "C" not null,
  change_id bigint generated always as identity,
  subject   text collate "C" not null,
  hour      timestamptz not null,
  name      text collate "C" not null,
  n         integer not null,
  primary key (tenant_id, change_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
