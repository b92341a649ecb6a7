-- Where the tracked links of emails lead to, and from when on an email that was sent later is kept.

-- One row for each email with tracked links. Partitioned by the day of acceptance as its email is,
-- and kept as long. Which link stands where in the HTML is with the email's content.
create table sending_link (
  tenant_id text collate "C" not null,
  ref_id    text collate "C" not null,
  day       date not null,
  -- Each URL once; link n of a token is urls[n + 1].
  urls      text[] not null,
  primary key (tenant_id, ref_id, day)
) partition by range (day);

-- When it was queued, where that was after its acceptance: at its send_at, or by a rescue. What is
-- known of it, its links among it, has to last from then on.
alter table sending_email add column queued_at timestamptz;
create index sending_email_queued on sending_email (day, queued_at) where queued_at is not null;
