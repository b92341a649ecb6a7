-- Recipients of emails that are to be sent later. They stand beside the queue: what is far from due
-- is in the way of no claim and no sweep. A row moves to sending_queue just before it is due.

create table sending_scheduled (
  tenant_id     text collate "C" not null,
  ref_id        text collate "C" not null,
  n             smallint not null,
  mailer_id     text collate "C" not null,
  bucket        smallint not null,
  due_at        timestamptz not null,
  max_attempts  smallint not null,
  expires_at    timestamptz not null,
  content_bytes integer not null,
  primary key (tenant_id, ref_id, n)
);
create index sending_scheduled_due on sending_scheduled (bucket, due_at);
