-- Limits of mailers, and two classes of mail within one.

-- A campaign, or an email to many: it waits where there is other mail of its mailer, but for a share.
alter table sending_queue add column is_bulk boolean not null default false;
alter table sending_scheduled add column is_bulk boolean not null default false;

drop index sending_queue_due;
create index sending_queue_due on sending_queue (bucket, tenant_id, mailer_id, is_bulk, due_at);
-- What expires is found whatever its mailer waits for.
create index sending_queue_expires on sending_queue (bucket, expires_at);

-- What a mailer with limits was permitted in their windows. A row is made by its first mail.
create table mailers_permission (
  tenant_id text collate "C" not null,
  mailer_id text collate "C" not null,
  -- { second?, minute?, day? }: [[first_ms, last_ms, count], ...], by the database's clock.
  used      json not null,
  primary key (tenant_id, mailer_id),
  foreign key (tenant_id, mailer_id) references mailers_mailer on delete cascade
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);
