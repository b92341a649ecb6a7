-- Whom the unsubscribe links of an email are about, for longer than the email itself is kept: a
-- link in a mailbox has to work when the email is long gone here.

-- One row for each email with unsubscribe links. Partitioned by the day of acceptance.
create table sending_unsubscribable (
  tenant_id text collate "C" not null,
  ref_id    text collate "C" not null,
  day       date not null,
  -- Of all recipients, as the caller wrote them; recipient n of a token is emails[n + 1].
  emails    text[] not null,
  primary key (tenant_id, ref_id, day)
) partition by range (day);
