-- What the logs of emails are found by: a page of them reads few rows whatever it is filtered by.
--
-- Only what is known at acceptance is indexed in sending_recipient. An index over its status or its
-- times would make each finish write to every index of the row: as it is, an update stays within the
-- row's page, where there is room.

-- Storage parameters of day partitions, which a partitioned table cannot have itself.
create table platform_partition_option (
  parent  text collate "C" primary key,
  options text not null
);
insert into platform_partition_option values ('sending_recipient', 'fillfactor = 60');

create or replace function platform_ensure_day_partitions(
  parent text,
  days_behind integer default 1,
  days_ahead integer default 14
) returns setof text
language plpgsql
set timezone = 'UTC'
as $$
declare
  today date := clock_timestamp()::date;
  day date;
  partition text;
  options text := (select ' with (' || o.options || ')' from platform_partition_option o
                    where o.parent = platform_ensure_day_partitions.parent);
begin
  perform pg_advisory_xact_lock(hashtextextended('platform_ensure_day_partitions', 0));
  for offset_days in -days_behind..days_ahead loop
    day := today + offset_days;
    partition := parent || '_' || to_char(day, 'YYYYMMDD');
    if to_regclass(quote_ident(partition)) is null then
      execute format(
        'create table %I (like %I including defaults including constraints including generated including storage including compression)',
        partition, parent
      ) || coalesce(options, '');
      execute format(
        'alter table %I attach partition %I for values from (%L) to (%L)',
        parent, partition, day, day + 1
      );
      return next partition;
    end if;
  end loop;
end
$$;

-- The recipient's address in wire form and in lower case, its domain first: example.com@ada.
alter table sending_recipient add column address_key text collate "C";
update sending_recipient
   set address_key = lower(substring(email from '[^@]*$') || '@' || regexp_replace(email, '@[^@]*$', ''));

-- By hash: half as large as by tenant and text, of which every entry would hold the whole. Whoever
-- reads by them compares tenant and text as well.
create index sending_recipient_address on sending_recipient
  (hashtextextended(tenant_id || ' ' || address_key, 0), ref_id, n);
create index sending_recipient_domain on sending_recipient
  (hashtextextended(tenant_id || ' ' || split_part(address_key, '@', 1), 0), ref_id, n);
create index sending_recipient_copied on sending_recipient (tenant_id, type, ref_id, n)
  where type <> 'to';

create index sending_email_campaign on sending_email (tenant_id, campaign_id, ref_id)
  where campaign_id is not null;

-- Deliveries on another day than that of the acceptance, by which all others are found.
create index sending_attempt_late on sending_attempt (tenant_id, ref_id, n)
  where outcome = 'accepted' and (finished_at at time zone 'UTC')::date > day;

-- Recipients whose series of attempts ended otherwise than by an attempt, or never began: few, and
-- found by nothing else.
create table sending_stopped (
  tenant_id text collate "C" not null,
  status    text collate "C" not null,
  ref_id    text collate "C" not null,
  n         smallint not null,
  -- Of the email.
  day       date not null,
  primary key (tenant_id, status, ref_id, n, day)
) partition by range (day);

-- Whose mail is held.
create index mailers_mailer_inactive on mailers_mailer (tenant_id) where state <> 'active';
