-- Who is alive, per role; all times are the database's.
create table platform_member (
  role text collate "C" not null,
  member_id text collate "C" not null,
  expires_at timestamptz not null,
  primary key (role, member_id)
);

-- Which member works on which bucket. The epoch grows with each change of owner (fencing).
create table platform_lease (
  role text collate "C" not null,
  bucket smallint not null,
  member_id text collate "C",
  epoch bigint not null default 0,
  expires_at timestamptz not null default '-infinity',
  primary key (role, bucket)
);

-- The keys that have sealed values in this database: each one's id, sealed by itself.
create table platform_secret_key (
  key_id text collate "C" primary key,
  sealed text not null
);

-- Makes the daily partitions of a table that is partitioned by range over a date or timestamptz, for the
-- days from days_behind ago to days_ahead from now, UTC. Answers the names of the new ones.
-- A new table is made first and then attached: "create table ... partition of" would lock the parent against
-- reads and writes, attaching an empty table does not.
create function platform_ensure_day_partitions(
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
begin
  perform pg_advisory_xact_lock(hashtextextended('platform_ensure_day_partitions', 0));
  for offset_days in -days_behind..days_ahead loop
    day := today + offset_days;
    partition := parent || '_' || to_char(day, 'YYYYMMDD');
    if to_regclass(quote_ident(partition)) is null then
      execute format(
        'create table %I (like %I including defaults including constraints including generated including storage including compression)',
        partition, parent
      );
      execute format(
        'alter table %I attach partition %I for values from (%L) to (%L)',
        parent, partition, day, day + 1
      );
      return next partition;
    end if;
  end loop;
end
$$;
