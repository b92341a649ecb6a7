-- The schema of Postrider, written to be read.
--
-- This file is edited in place until 1.0.0 is released: no database of a released version exists. From 1.0.0
-- on it is never edited again, and each change is a new file (see CONTRIBUTING.md).
--
-- The order is that of the capabilities in ARCHITECTURE.md. A table's name begins with its capability, and
-- only that capability's stores touch the table. The comment above a table says what one row is, who writes
-- the row, and when the row goes. A comment stands above the column, constraint or index that it explains.
--
-- What holds everywhere:
--
-- * Primary keys begin with the tenant, except where rows are looked up without one.
-- * Ids are ULIDs with a prefix, so their order is the order in which they were made. Ids and other text that
--   is compared or sorted has `collate "C"`: bytes, whatever the server's locale.
-- * Times that decide something are the database's: processes do not compare their clocks.
-- * A `bucket` is a hash of a mailer's or a webhook's id, modulo 64. The process that holds the bucket's lease
--   serves the row (platform_lease).
-- * A `fence` grows with every claim of a row. A process that finishes with an older fence changes nothing.
-- * "Sealed" means encrypted by the key ring and bound to the row and the column. A sealed value is
--   `v1.<key id>.<...>`.
-- * `traceparent` is the W3C trace context of the request that caused the row.
-- * A table with `partition by range (day)` has one partition for each day in UTC. Every process makes the
--   partitions of the next days ahead of time. The janitor drops a day that is older than POSTRIDER_RETENTION,
--   when nothing unfinished needs the day (retention-days.ts); a day of content may go earlier
--   (POSTRIDER_CONTENT_RETENTION). The day is part of the primary key because PostgreSQL asks for that; it follows
--   from the id or the time beside it.
-- * A queue's table is small and changes all the time. Its autovacuum settings let a vacuum begin after about
--   1,000 dead rows, in most of them without pauses: claims that step over dead rows are slow.
-- * A `fillfactor` below 100 leaves room in a page, so that an update stays in its page and writes to no index.

---------------------------------------------------------------------------------------------------------------
-- platform: leases, secret keys, day partitions, counters
--
-- The runner of migrations makes one more table itself, before it reads this file: platform_migration.
---------------------------------------------------------------------------------------------------------------

-- A process that lives, for each role that it has. The process writes and renews the row. The row goes when the
-- process stops, or in the next round of any member after expires_at.
create table platform_member (
  role       text collate "C" not null,
  member_id  text collate "C" not null,
  expires_at timestamptz not null,
  primary key (role, member_id)
);

-- A process that runs. The process writes the row at its start and every 15 s. The row goes when the process
-- stops, or when any process finds that it has told nothing for a minute.
create table platform_process (
  process_id text collate "C" primary key,
  host       text not null,
  roles      text[] not null,
  version    text not null,
  commit     text not null,
  node       text not null,
  started_at timestamptz not null default now(),
  seen_at    timestamptz not null default now()
);

-- One of the 64 buckets of a role, and the member that works on the bucket. Members take and give back buckets.
-- The row stays.
create table platform_lease (
  role       text collate "C" not null,
  bucket     smallint not null,
  -- Null: the bucket is free.
  member_id  text collate "C",
  -- Grows with each change of owner. A write that names an older epoch is refused (fencing).
  epoch      bigint not null default 0,
  expires_at timestamptz not null default '-infinity',
  primary key (role, bucket)
);

-- A secret key that has sealed something in this database. Written at the first start with the key, so that a
-- start with another key of the same id is refused. The row stays.
create table platform_secret_key (
  key_id  text collate "C" primary key,
  -- The key's id, sealed by the key itself.
  sealed  text not null,
  -- The key for links in sent mail that was derived from this key, sealed by a later key. Those links go on
  -- working after this key is gone. Null: the key itself is still needed.
  derived text
);

-- Storage settings of day partitions. A partitioned table cannot have settings itself, so
-- platform_ensure_day_partitions reads them here. This file writes the rows, beside the tables they are for.
create table platform_partition_option (
  parent  text collate "C" primary key,
  options text not null
);

-- Makes the day partitions of a table that is partitioned by range over a date or a timestamptz: from
-- `days_behind` ago to `days_ahead` from today, UTC. Answers the names of the new partitions. A name is the
-- parent's name, `_` and YYYYMMDD.
--
-- A partition is first made as a table of its own and then attached: `create table ... partition of` would lock
-- the parent against reads and writes. Attaching an empty table does not, and makes the parent's indexes.
-- Processes take turns by an advisory lock.
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

-- How often something happened within a span of time: a sum. The janitor adds changes to it. An hour's sum goes
-- after 400 days, a sum of ten minutes after two days.
--
-- The code that counts inserts a row into platform_counter_change, in the transaction of what it counts. Readers add
-- sums and changes. With sums alone, all senders of a mailer would wait for one row.
create table platform_counter (
  tenant_id text collate "C" not null,
  -- What was counted for, such as a mailer's id. '': the tenant.
  subject   text collate "C" not null,
  span      text collate "C" not null check (span in ('ten_minutes', 'hour')),
  -- When the span begins, UTC.
  at        timestamptz not null,
  -- What happened, such as a status.
  name      text collate "C" not null,
  n         bigint not null,
  primary key (tenant_id, span, at, subject, name)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000
);
-- For the janitor, who drops old sums of all tenants.
create index platform_counter_at on platform_counter (span, at);

-- The same, by something else than the subject: by the recipient's domain, the campaign, or the reason of a
-- failure. A tenant has at most 200 groups of a kind in a span; the others share one sum. An hour's sum goes after
-- 33 days, a day's after 400.
create table platform_counter_group (
  tenant_id  text collate "C" not null,
  -- What kind of group, such as recipient_domain.
  grouped_by text collate "C" not null,
  span       text collate "C" not null check (span in ('hour', 'day')),
  at         timestamptz not null,
  -- The group, such as example.com. Empty: all that have no sum of their own.
  key        text collate "C" not null,
  name       text collate "C" not null,
  n          bigint not null,
  primary key (tenant_id, grouped_by, span, at, key, name)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000
);
-- For the janitor.
create index platform_counter_group_at on platform_counter_group (span, at);

-- Changes of a tenant's sums that one transaction made and that are not added yet. The janitor deletes the row in
-- the statement that adds them, so each change counts once.
create table platform_counter_change (
  tenant_id text collate "C" not null,
  change_id bigint generated always as identity,
  -- Ten minutes, by their beginning.
  at        timestamptz not null,
  -- [{ subject, name, n, groups: { <grouped_by>: <key> } }, ...]
  counts    json not null,
  primary key (tenant_id, change_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);

---------------------------------------------------------------------------------------------------------------
-- tenants: tenants, their API keys, the audit log
---------------------------------------------------------------------------------------------------------------

-- A tenant. The operator makes it, changes it and deletes it (tenants_deletion).
create table tenants_tenant (
  tenant_id         text collate "C" primary key,
  name              text not null,
  created_at        timestamptz not null default now(),
  -- suspended: sends nothing. deleting: its keys are gone, and its rows are being removed.
  state             text collate "C" not null default 'active'
                      check (state in ('active', 'suspended', 'deleting')),
  state_changed_at  timestamptz not null default now(),
  -- Its quotas. Null: none.
  emails_per_second integer,
  emails_per_day    bigint,
  queued_max        bigint,
  storage_bytes_max bigint
);

-- What a tenant with quotas has used of them. Made when the operator sets the tenant's first quota. The transaction
-- that accepts an email adds to it. A tenant without quotas has no row, or one that nobody reads.
create table tenants_usage (
  tenant_id     text collate "C" primary key references tenants_tenant,
  -- The last second in which an email was accepted, since 1970, the recipients in it, and those in the second
  -- before it: transactions may end in another order than that of their beginnings.
  second        bigint not null default 0,
  in_second     bigint not null default 0,
  second_before bigint not null default 0,
  -- The last day (UTC), and the recipients accepted in it.
  day           date not null default '1970-01-01',
  in_day        bigint not null default 0,
  -- Recipients in the queue, and bytes of kept emails. Both only grow: they are counted anew when they reach a
  -- quota, but at most once a second in each process.
  queued        bigint not null default 0,
  storage_bytes bigint not null default 0,
  -- Grows with each count, so that of two at once one counts.
  counts        bigint not null default 0
) with (fillfactor = 50);

-- A tenant that is being deleted: a job. Made with the tenant's state. A process with the role janitor removes the
-- tenant's rows, piece by piece; the last piece is this row and the tenant's own.
create table tenants_deletion (
  tenant_id    text collate "C" primary key references tenants_tenant,
  requested_at timestamptz not null default now(),
  -- Not before this time. While a process works on it: when its claim is over.
  due_at       timestamptz not null default now(),
  tries        smallint not null default 0,
  fence        bigint not null default 0
);

-- An API key. The operator, or a key of the tenant, makes and revokes it. Revoked and expired keys stay, so that the key_id in an old
-- log line still has a name.
create table tenants_api_key (
  key_id     text collate "C" primary key,
  tenant_id  text collate "C" not null references tenants_tenant,
  -- SHA-256 of the key. The key itself is shown once and cannot be read back.
  key_hash   bytea not null,
  name       text,
  -- test: what the key sends goes to nobody, and the key changes nothing.
  mode       text collate "C" not null default 'live' check (mode in ('live', 'test')),
  -- Empty: the key may do everything.
  scopes     text[] collate "C" not null,
  -- Where the key may be used from. Empty: everywhere.
  networks   cidr[] not null default '{}',
  created_at timestamptz not null default now(),
  -- To the hour, so that a key in use writes one row version an hour.
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  -- A request names nothing but its key, so keys are looked up without a tenant.
  constraint tenants_api_key_hash_key unique (key_hash)
);
-- The list of a tenant's keys.
create index tenants_api_key_tenant on tenants_api_key (tenant_id, key_id);

-- A change by the operator or by a user, or a change of a tenant's keys. The row is written before the change
-- begins, so no change is without its row, whatever ends the process. The janitor deletes the row after
-- POSTRIDER_AUDIT_RETENTION.
create table tenants_audit_entry (
  -- Empty: a change under /admin/v1, or what a user did who has no tenant.
  tenant_id    text collate "C" not null,
  entry_id     text collate "C" not null,
  at           timestamptz not null default now(),
  -- 'operator', 'cli', 'oidc', 'nobody' (a login that failed), or the id of a user or of an API key.
  actor        text not null,
  -- The operation's name in the OpenAPI description, or what stands for it.
  operation    text not null,
  -- The ids in the path, else the first id in the answer.
  target       text,
  -- The caller's IP address. Of a command, the name of the host.
  from_address text not null,
  request_id   text not null,
  -- The answer's HTTP status. Null: the process ended before it answered.
  status       smallint,
  -- What updateTenant changed: [{ path, before, after }]. Null: of all other entries.
  changes      jsonb,
  primary key (tenant_id, entry_id)
);
-- The operator's list over all tenants, newest first.
create index tenants_audit_entry_newest on tenants_audit_entry (entry_id);

---------------------------------------------------------------------------------------------------------------
-- people: users, what they may do in which tenant, invitations, sessions
---------------------------------------------------------------------------------------------------------------

-- A person who logs in to the dashboard. The operator or an owner invites the person. The row goes when the user
-- is deleted, or loses the last tenant by an owner.
create table people_user (
  user_id        text collate "C" primary key,
  -- In lower case.
  email          text collate "C" not null,
  name           text not null,
  -- The role over all tenants. Null: the roles are in people_member.
  operator_role  text check (operator_role in ('operator', 'operator_viewer')),
  -- Whether an operator reads the content of mail.
  content        boolean not null default false,
  -- scrypt, with its parameters and salt. Null: no password was set, or the user logs in by OIDC.
  password_hash  text,
  -- Who the user is at the OIDC provider.
  oidc_issuer    text collate "C",
  oidc_subject   text collate "C",
  -- Networks of the last successful logins, the newest first. Failures of others do not lock these out.
  login_networks text[] not null default '{}',
  -- When a failed login was last put into the audit log: at most one an hour is.
  login_failure_noted_at timestamptz,
  -- What the inviter may give: the only tenant for its roles (null: all), and their scopes. The inviter has the link,
  -- and so may have set the password. Null: nobody else had the link.
  inviter        jsonb,
  created_at     timestamptz not null default now(),
  -- Null: the invitation was not accepted yet.
  activated_at   timestamptz,
  constraint people_user_email_key unique (email),
  constraint people_user_oidc_key unique (oidc_issuer, oidc_subject)
);

-- What a user may do in one tenant. The operator or an owner writes the row. The row goes with the tenant or the
-- user.
create table people_member (
  tenant_id text collate "C" not null references tenants_tenant on delete cascade,
  user_id   text collate "C" not null references people_user on delete cascade,
  role      text not null check (role in ('owner', 'developer', 'support', 'viewer')),
  content   boolean not null,
  primary key (tenant_id, user_id)
);
-- The tenants of a user.
create index people_member_user on people_member (user_id);

-- A link by which a person sets a password: once, and within its time. The row goes when the link is used, when
-- a newer one is made, or by the janitor after its time.
create table people_invitation (
  -- SHA-256 of the token. The token itself is shown once.
  token_hash bytea primary key,
  -- Null: the set-up link, which makes the first user.
  user_id    text collate "C" references people_user on delete cascade,
  expires_at timestamptz not null
);
create index people_invitation_user on people_invitation (user_id);

-- A login. The row goes at the logout, when the user changes the password or is deleted, or by the janitor 12
-- hours after its last use and 14 days after the login.
create table people_session (
  session_id   text collate "C" primary key,
  user_id      text collate "C" not null references people_user on delete cascade,
  -- SHA-256 of the cookie's value.
  token_hash   bytea not null,
  created_at   timestamptz not null default now(),
  -- To the minute, so that a session in use writes one row version a minute.
  last_used_at timestamptz not null default now(),
  ip           text not null,
  user_agent   text not null,
  -- A request names nothing but its cookie.
  constraint people_session_token_key unique (token_hash)
);
create index people_session_user on people_session (user_id, session_id);

---------------------------------------------------------------------------------------------------------------
-- webhooks: subscriptions, the log of events, and the queue by which events leave
--
-- webhooks_event is the log: rows are appended, and the JSON that is sent is stored once, in short. An event that a
-- webhook wants is in exactly one more place: webhooks_pending (not yet in a request), or one row of
-- webhooks_open (in a request that is not settled). Each change of place is one transaction.
---------------------------------------------------------------------------------------------------------------

-- A webhook. Tenants create and delete it; the incoming webhook of a mailbox or of an inbound route is created
-- and deleted with its owner.
create table webhooks_subscription (
  tenant_id      text collate "C" not null,
  webhook_id     text collate "C" not null,
  event          text not null,
  -- The mailbox or the inbound route whose incoming mail the webhook takes. '': the tenant's own webhook.
  owner          text collate "C" not null default '',
  url            text not null,
  method         text not null check (method = 'POST'),
  active         boolean not null default true,
  -- Grows when the webhook is switched off. Pointers of an older generation are not sent any more.
  generation     integer not null default 0,
  -- Which events the webhook wants, as twelve switches. Null for every other `event` than EMAIL_EVENT.
  options        json,
  -- Ordered [name, value] pairs, sealed. The names beside it are not secret.
  headers_sealed text not null,
  header_names   text[] not null,
  -- The secrets by which its requests are signed, sealed: the current one, and the former ones that sign beside
  -- it until their time. Null: requests are not signed.
  signing_sealed text,
  created_at     timestamptz not null default now(),
  updated_at     timestamptz not null default now(),
  primary key (tenant_id, webhook_id),
  constraint webhooks_subscription_event_check
    check (event in ('EMAIL_EVENT', 'DOMAIN_VERIFICATION', 'INCOMING')),
  constraint webhooks_subscription_owner_check check ((event = 'INCOMING') = (owner <> '')),
  -- One webhook of a kind for each owner.
  constraint webhooks_subscription_event_key unique (tenant_id, event, owner)
);
-- Which secret keys are in use. A start looks up each key, and refuses to run when one that is in use is not
-- configured. The same holds for all indexes that are named `..._sealed_by`.
create index webhooks_subscription_sealed_by
  on webhooks_subscription (split_part(headers_sealed, '.', 2));
create index webhooks_subscription_signing_sealed_by
  on webhooks_subscription (split_part(signing_sealed, '.', 2));

-- The state of a webhook's deliveries. Made with the webhook. The dispatcher deletes the row when the webhook
-- is gone and nothing is left to settle.
create table webhooks_stream (
  tenant_id        text collate "C" not null,
  webhook_id       text collate "C" not null,
  -- Of the webhook's id: which dispatcher serves the webhook.
  bucket           smallint not null,
  -- Whether a request's body is an array of events or one event.
  mode             text not null check (mode in ('array', 'single')),
  -- Active: there may be something to deliver.
  state            text not null default 'idle' check (state in ('idle', 'active')),
  -- The back-off: no request before this time.
  not_before       timestamptz not null default '-infinity',
  -- Failed requests in a row, and when the first of them failed.
  fail_count       integer not null default 0,
  first_failure_at timestamptz,
  last_ok_at       timestamptz,
  -- The request that is frozen and not settled (webhooks_open). It makes two dispatchers on one stream
  -- harmless.
  delivery_id      text collate "C",
  -- The first new request after a back-off is a small one.
  is_probing       boolean not null default false,
  -- Events that were parked since the last accepted request.
  parked_in_row    integer not null default 0,
  -- The limit of a body's size that the receiver's 413 taught. Null: the configured limit holds.
  batch_bytes_max  integer,
  batch_shrunk_at  timestamptz,
  -- Grows with each restart of the stream. A request of an older epoch says nothing about the present receiver.
  epoch            integer not null default 0,
  -- When the operator paused the stream: nothing is sent, everything is kept. Null: not paused.
  paused_at        timestamptz,
  primary key (tenant_id, webhook_id)
) with (fillfactor = 50);
-- The dispatcher of a bucket walks its active streams, and steps over those that back off within the index.
create index webhooks_stream_active on webhooks_stream (bucket, webhook_id, not_before)
  where state = 'active' and paused_at is null;
-- The figures about paused streams, of which there are few. A paused stream may be idle.
create index webhooks_stream_paused on webhooks_stream (bucket) where paused_at is not null;
-- A tenant's webhooks whose requests fail, as observe-store.ts says it.
create index webhooks_stream_failing on webhooks_stream (tenant_id, webhook_id)
  where first_failure_at is not null or parked_in_row >= 10;

-- An event. Written in the transaction of the change that the event reports, whether a webhook wants the event or
-- not: events can be replayed. Leaves with its day.
create table webhooks_event (
  tenant_id   text collate "C" not null,
  event_id    text collate "C" not null,
  -- The day of event_at, or the day of storing where the log has no such day (webhooks_event_day).
  day         date not null,
  -- '': the event is about no email.
  ref_id      text collate "C" not null,
  event       text collate "C" not null,
  -- As in webhooks_subscription.
  owner       text collate "C" not null default '',
  event_at    timestamptz not null,
  -- False only where the time within event_id is at most 10 minutes away from event_at. Such events are found
  -- by event_at through the primary key, all others through webhooks_event_late. One index over all events
  -- would cost 5 % more time and 9 % more WAL for each event.
  is_late     boolean not null default true,
  -- 0: the event has no attempt number.
  attempt     integer not null,
  -- Of the JSON that is sent. 0: the body is that JSON, as it is.
  octets      integer not null default 0,
  -- The JSON that is sent, with one character for each of its usual phrases (webhooks/events/short-body.ts).
  body        text not null,
  traceparent text not null,
  -- The transaction that stored the event: by it streams find what was committed between two marks.
  xact        xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, event_id, day),
  -- By these a receiver recognises an event that it has already had. The day follows from event_at, so the key
  -- is unique over all partitions; record-events.ts handles events whose own day the log does not have.
  constraint webhooks_event_dedup_key unique (tenant_id, ref_id, event, event_at, attempt, day)
) partition by range (day);
create index webhooks_event_late on webhooks_event (tenant_id, event_at) where is_late;
-- What streams read. A late event may lie under any day, so each look reads all days: there are few of them.
create index webhooks_event_xact on webhooks_event (tenant_id, xact) where not is_late;
create index webhooks_event_late_xact on webhooks_event (xact, tenant_id) where is_late;

-- A mark in the order of commits. The events between two marks are those that the later snapshot sees and the
-- earlier one does not, whenever they began. Any process with open streams writes one when it has something to
-- send, so all processes see one order. A mark goes after a day, when later ones are written.
create table webhooks_event_mark (
  seq      bigint not null primary key,
  snapshot pg_snapshot not null,
  made_at  timestamptz not null default clock_timestamp()
);
create index webhooks_event_mark_made on webhooks_event_mark (made_at);

-- The day under which an event is stored: its own, or today where the log does not have its own day.
create function webhooks_event_day(own date) returns date
language sql stable
as $$
  select case when exists (
      select 1 from pg_inherits
       where inhrelid = to_regclass('webhooks_event_' || to_char(own, 'YYYYMMDD'))
         and not inhdetachpending)
    then own else current_date end
$$;

-- A pointer to an event that a webhook wants and that is not in a request yet. Inserted with the event, or by a
-- replay; deleted once, when the dispatcher puts the event into a request.
--
-- There is no foreign key to webhooks_stream. A transaction that inserts pointers locks the stream's row once
-- for all of them (`for key share`), so the stream cannot go idle or leave meanwhile. The key would lock the
-- row again for each pointer.
create table webhooks_pending (
  tenant_id  text collate "C" not null,
  webhook_id text collate "C" not null,
  -- 0: live. 1: replayed, which is sent after what is live.
  lane       smallint not null default 0,
  event_id   text collate "C" not null,
  -- Of the event.
  day        date not null,
  -- The size of the event's body.
  bytes      integer not null,
  -- The webhook's generation when the pointer was made.
  generation integer not null default 0,
  -- The event travels in a request of its own.
  solo       boolean not null default false,
  queued_at  timestamptz not null default clock_timestamp(),
  primary key (tenant_id, webhook_id, lane, event_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);

-- A delivery that is not settled: one request with frozen content. The dispatcher inserts it and rewrites it
-- after each attempt. When the delivery is settled, the row leaves and webhooks_delivery gets one.
--
-- There is no foreign key to webhooks_stream, which would be checked for every request. A stream's row is
-- deleted last, under its lock, by the dispatcher that finds nothing left of the stream.
create table webhooks_open (
  tenant_id       text collate "C" not null,
  delivery_id     text collate "C" not null,
  -- Of the delivery id: the day of the record in webhooks_delivery.
  day             date not null,
  webhook_id      text collate "C" not null,
  bucket          smallint not null,
  generation      integer not null,
  status          text not null default 'pending'
                    check (status in ('pending', 'retrying', 'parked')),
  -- The events in the order in which they are sent, and the day under which each event is stored.
  event_ids       text[] not null,
  event_days      date[] not null,
  traceparent     text not null,
  attempts        integer not null default 0,
  created_at      timestamptz not null default now(),
  next_attempt_at timestamptz,
  -- When it is this delivery's turn again. Null: the delivery is its stream's current one
  -- (webhooks_stream.delivery_id). The halves of a divided delivery are due at '-infinity', before anything
  -- that is parked.
  due_at          timestamptz,
  -- Among deliveries that are due, the lower goes first: the halves of a divided delivery keep their order.
  turn            text collate "C" not null default '',
  primary key (tenant_id, delivery_id)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
-- What of one stream is due.
create index webhooks_open_stream on webhooks_open (tenant_id, webhook_id, due_at)
  where due_at is not null;
-- The dispatcher of a bucket walks from webhook to webhook.
create index webhooks_open_due on webhooks_open (bucket, webhook_id, due_at)
  where due_at is not null;

-- The record of a settled delivery. Written once, by the dispatcher or when waiting events are discarded.
-- Leaves with its day.
create table webhooks_delivery (
  tenant_id    text collate "C" not null,
  delivery_id  text collate "C" not null,
  day          date not null,
  webhook_id   text collate "C" not null,
  status       text not null check (status in ('delivered', 'exhausted', 'discarded')),
  -- How the events were written into the body, as in webhooks_stream.
  mode         text not null check (mode in ('array', 'single')),
  event_ids    text[] collate "C" not null,
  event_days   date[] not null,
  traceparent  text not null,
  attempts     integer not null,
  created_at   timestamptz not null default now(),
  finished_at  timestamptz not null default now(),
  -- The two deliveries that took the events over, where the delivery was refused as a whole.
  divided_into text[],
  -- The attempt that ended the delivery, as a row of webhooks_attempt would hold it. Null: none did.
  last_attempt json,
  primary key (tenant_id, delivery_id, day)
) partition by range (day);
-- Lists by status. Nearly all deliveries are delivered, and these lists do without the index.
create index webhooks_delivery_status on webhooks_delivery (tenant_id, status, delivery_id)
  where status <> 'delivered';
-- By which deliveries an event left. Without the list of entries that wait, which somebody has to sort into the
-- index at some time.
create index webhooks_delivery_events on webhooks_delivery using gin (event_ids) with (fastupdate = off);

-- An attempt at a delivery that another attempt may follow. The attempt that ended a delivery is in the
-- delivery's row. Written by the dispatcher. Leaves with its day.
create table webhooks_attempt (
  tenant_id    text collate "C" not null,
  delivery_id  text collate "C" not null,
  -- Of the delivery, so that both leave together.
  day          date not null,
  attempt      integer not null,
  at           timestamptz not null,
  duration_ms  integer not null,
  -- Of the answer. Null: there was no answer, and `error` says why.
  status       smallint,
  error        text,
  -- The beginning of the answer's body.
  response     text,
  timings      json,
  -- The names of the webhook's own headers that were sent.
  header_names text[] not null default '{}',
  primary key (tenant_id, delivery_id, attempt, day)
) partition by range (day);

---------------------------------------------------------------------------------------------------------------
-- suppressions: addresses that a tenant must not send to
---------------------------------------------------------------------------------------------------------------

-- An address that a tenant must not send to. Written by the tenant, by a recipient who unsubscribes or
-- complains, and by a bounce. The tenant deletes it; the operator's `suppressions review` may, too.
create table suppressions_address (
  tenant_id  text collate "C" not null,
  -- The address in wire form and in lower case: two spellings of one address share it.
  email_key  text collate "C" not null,
  -- The address as it was given first.
  email      text not null,
  reason     text not null check (reason in ('unsubscribed', 'bounced', 'complained', 'manual')),
  -- What suppressed the address: { event, ref_id, relay }, { key_id } or { user_id }, with `import` where it came
  -- with a file. Null: it is not known.
  source     jsonb,
  -- A ULID: the order of the list, and when the address was suppressed.
  id         text collate "C" not null,
  -- What the tenant wrote about it.
  note       text,
  -- When the suppression ends: every reader compares with the time, and a janitor removes the row later. Null:
  -- never.
  expires_at timestamptz,
  primary key (tenant_id, email_key)
);
-- The list, whole and by reason.
create index suppressions_address_listed on suppressions_address (tenant_id, id);
create index suppressions_address_by_reason on suppressions_address (tenant_id, reason, id);
-- The janitor's search. Few suppressions end by themselves.
create index suppressions_address_ending on suppressions_address (expires_at)
  where expires_at is not null;

---------------------------------------------------------------------------------------------------------------
-- relays: accounts at relay providers
---------------------------------------------------------------------------------------------------------------

-- A tenant's account at a relay provider, one of a kind. The tenant configures and deletes it.
create table relays_account (
  tenant_id           text collate "C" not null,
  -- The provider.
  kind                text collate "C" not null,
  -- Sealed. Null: the simulator has no key.
  api_key             text,
  -- The base URL without a slash at its end. Empty for the simulator.
  api_base            text not null,
  -- The token in the URL by which the provider calls back: sealed, to be shown again, and as SHA-256, to be
  -- looked up. A callback names no tenant.
  callback_token      text not null,
  callback_token_hash bytea not null unique,
  -- Sealed. What the provider proves itself by, where it uses a shared secret.
  callback_secret     text,
  -- The provider's public key for callbacks: an SPKI in Base64.
  verification_key    text,
  -- Grows with each new key or base URL.
  config_version      bigint not null default 1,
  created_at          timestamptz not null default now(),
  updated_at          timestamptz not null default now(),
  primary key (tenant_id, kind)
);
create index relays_account_key_sealed_by on relays_account (split_part(api_key, '.', 2));
create index relays_account_token_sealed_by on relays_account (split_part(callback_token, '.', 2));
create index relays_account_secret_sealed_by on relays_account (split_part(callback_secret, '.', 2));

---------------------------------------------------------------------------------------------------------------
-- mailers: how mail is sent and fetched, OAuth, limits, errors
---------------------------------------------------------------------------------------------------------------

-- An OAuth app of a tenant. The tenant configures and deletes it.
create table mailers_oauth_app (
  tenant_id     text collate "C" not null,
  app_id        text collate "C" not null,
  provider      text not null check (provider in ('google', 'microsoft', 'custom')),
  client_id     text not null,
  -- Sealed.
  client_secret text not null,
  -- Null: the provider's default scopes for what the mailbox is used for.
  scopes        text[],
  redirect_uris text[] not null,
  authorize_url text not null,
  token_url     text not null,
  userinfo_url  text,
  -- { host, port, secure } of the mail servers. Null: the app is not for that use.
  smtp          json,
  imap          json,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  primary key (tenant_id, app_id)
);
create index mailers_oauth_app_sealed_by on mailers_oauth_app (split_part(client_secret, '.', 2));

-- An OAuth login under way: one for each authorization URL that was given out. The browser brings the state
-- back, and the first request with it deletes the row. A row that nobody comes back for is deleted after
-- expires_at, by later logins.
create table mailers_oauth_login (
  -- SHA-256 of the state. The browser brings nothing else, so the key has no tenant.
  state_hash   bytea primary key,
  tenant_id    text collate "C" not null,
  app_id       text collate "C" not null,
  -- The mailer that logs in again. Null: a new mailer is created.
  mailer_id    text collate "C",
  type         text not null check (type in ('smtp', 'imap', 'smtp_imap')),
  -- Where the browser goes afterwards. Null: the browser is shown a page.
  redirect_uri text,
  -- Sealed JSON: the PKCE verifier and the nonce.
  secret       text not null,
  expires_at   timestamptz not null,
  foreign key (tenant_id, app_id) references mailers_oauth_app on delete cascade
);
-- What has expired, over all tenants.
create index mailers_oauth_login_expires on mailers_oauth_login (expires_at);
-- For the foreign key.
create index mailers_oauth_login_app on mailers_oauth_login (tenant_id, app_id);
create index mailers_oauth_login_sealed_by on mailers_oauth_login (split_part(secret, '.', 2));

-- A mailer: how mail of one address, or of one domain, is sent or fetched. There are three ways, by
-- connection_type: a login of its own (basic), an OAuth app (oauth), or the tenant's account at a relay
-- provider (relay), which sends for every address of a domain. The tenant configures and deletes it.
create table mailers_mailer (
  tenant_id        text collate "C" not null,
  mailer_id        text collate "C" not null,
  name             text not null,
  -- The address that the mailer sends for.
  email            text not null,
  -- What an address finds the mailer by: the address in lower case, or `@` and the domain.
  email_key        text collate "C" not null,
  -- What the mailer is for: sending, fetching, or both, and by what.
  config_type      text not null,
  connection_type  text not null check (connection_type in ('basic', 'oauth', 'relay')),
  -- The server that is sent by, or fetched from where nothing is sent. Null: a relay sends.
  host             text,
  port             integer check (port between 1 and 65535),
  -- Null: the server is used without a login.
  username         text,
  secure           text check (secure in ('Auto', 'Tls', 'SSL', 'None')),
  tls_verify       boolean,
  -- The password: sealed JSON. Null: there is no login, or it is in mailers_oauth_token.
  secret           text,
  -- The OAuth app by which the mailer logs in.
  app_id           text collate "C",
  -- { host, port, secure } of the mailbox, where a mailer sends and fetches.
  imap             json,
  -- What is fetched: { folders: [{ path, start, since, baseline? }] }. Null: the inbox, from when the mailer
  -- was made.
  mailbox          json,
  -- The relay provider, and the sending domain in wire form.
  relay            text collate "C",
  domain           text collate "C",
  domain_verified  boolean,
  -- Mail that the server accepts and later returns comes back to `bounces@` this inbound domain of the tenant.
  -- Null: it comes back to the mailer's address.
  return_path      text collate "C",
  -- What is done with a mail of which nobody knows whether the server took it.
  uncertain        text not null check (uncertain in ('at_least_once', 'at_most_once')),
  -- Rates and connections.
  limits           json not null,
  -- Deactivated: by the service, after a failure that only a person can repair. Disabled: by the tenant.
  state            text not null default 'active' check (state in ('active', 'deactivated', 'disabled')),
  state_reason     text,
  state_evidence   text,
  state_changed_at timestamptz not null default now(),
  -- When the host first answered. A name that never resolved is a typing error, one that did is an outage.
  worked_at        timestamptz,
  -- Since when the server rejects the login. Many mailers of one server at once are the server's fault.
  refused_at       timestamptz,
  -- Grows with every update. Connections of an older version are not used again.
  config_version   bigint not null default 1,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  primary key (tenant_id, mailer_id),
  constraint mailers_mailer_app check ((connection_type = 'oauth') = (app_id is not null)),
  constraint mailers_mailer_secret
    check ((secret is null) = (username is null or connection_type = 'oauth')),
  -- A relay has a domain and no server; every other mailer has a server and no domain.
  constraint mailers_mailer_way check (
    case when connection_type = 'relay'
      then num_nulls(relay, domain, domain_verified) = 0
        and num_nonnulls(host, port, username, secure, tls_verify, secret, imap) = 0
      else num_nonnulls(relay, domain, domain_verified) = 0
        and num_nulls(host, port, secure, tls_verify) = 0
    end),
  -- An app, or an account, that a mailer uses cannot be deleted.
  foreign key (tenant_id, app_id) references mailers_oauth_app,
  foreign key (tenant_id, relay) references relays_account
);
-- Which mailers an address has, the oldest first.
create index mailers_mailer_email on mailers_mailer (tenant_id, email_key, created_at);
-- The operator's search for a domain.
create index mailers_mailer_domain on mailers_mailer (tenant_id, split_part(email_key, '@', -1));
-- The list, newest first, whatever the prefix of the id.
create index mailers_mailer_newest on mailers_mailer (tenant_id, right(mailer_id, 26));
-- Mailers whose mail is held.
create index mailers_mailer_inactive on mailers_mailer (tenant_id) where state <> 'active';
-- Senders of every process look for mailers that became active lately. An entry moves only with the state.
create index mailers_mailer_activated on mailers_mailer (state_changed_at) where state = 'active';
-- Mailboxes that are to be watched.
create index mailers_mailer_fetching on mailers_mailer (tenant_id, mailer_id)
  where state = 'active' and config_type in ('imap', 'oauth_imap', 'smtp_imap');
-- For the foreign keys, and the lists of an app's and a provider's mailers.
create index mailers_mailer_by_app on mailers_mailer (tenant_id, app_id) where app_id is not null;
create index mailers_mailer_by_relay on mailers_mailer (tenant_id, relay) where relay is not null;
create index mailers_mailer_sealed_by on mailers_mailer (split_part(secret, '.', 2));

-- The tokens of a mailer that logs in by OAuth. A login writes them, and any process that needs an access token
-- refreshes them. The row goes with its mailer.
create table mailers_oauth_token (
  tenant_id         text collate "C" not null,
  mailer_id         text collate "C" not null,
  -- Sealed.
  refresh_token     text not null,
  -- Sealed. Kept until shortly before it expires, for all processes.
  access_token      text,
  access_expires_at timestamptz,
  -- Grows with every grant and every access token.
  version           bigint not null default 1,
  -- A refresh is under way until then. Its result is taken only under its fence.
  refreshing_until  timestamptz,
  fence             bigint not null default 0,
  -- After a failed refresh: no other one before this time, and what is answered meanwhile.
  blocked_until     timestamptz,
  failure           json,
  refreshed_at      timestamptz,
  -- When the provider last called the refresh token revoked.
  refused_at        timestamptz,
  primary key (tenant_id, mailer_id),
  foreign key (tenant_id, mailer_id) references mailers_mailer on delete cascade
);
create index mailers_oauth_token_refresh_sealed_by
  on mailers_oauth_token (split_part(refresh_token, '.', 2));
create index mailers_oauth_token_access_sealed_by
  on mailers_oauth_token (split_part(access_token, '.', 2));

-- What a mailer with rate limits was permitted within the windows of its limits. The first mail makes the row;
-- each claim in the send queue locks and rewrites it. The row goes with its mailer.
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

-- The last error of a kind that concerns a mailer itself, not a recipient or a message. Attempts write it. It
-- goes with its mailer, or when it is older than POSTRIDER_RETENTION.
create table mailers_error (
  tenant_id      text collate "C" not null,
  mailer_id      text collate "C" not null,
  category       text collate "C" not null,
  at             timestamptz not null,
  failed_reason  text not null,
  -- The server's own words.
  provider_error text not null,
  -- The email whose attempt failed.
  ref_id         text collate "C" not null,
  primary key (tenant_id, mailer_id, category)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);

---------------------------------------------------------------------------------------------------------------
-- alerts: who is told that something goes wrong, and of what
---------------------------------------------------------------------------------------------------------------

-- Where the alerts of a tenant go. tenant_id '': those of the whole service, to the operator.
create table alerts_receiver (
  tenant_id  text collate "C" primary key,
  url_sealed text not null,
  -- Which are told, in the order of the contract.
  kinds      text[] not null,
  -- What came of the last request. Null: it was accepted, or there was none.
  last_error text,
  last_ok_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index alerts_receiver_sealed_by on alerts_receiver (split_part(url_sealed, '.', 2));

-- Alerts that wait to be sent: jobs, of each receiver in the order of `turn`. An alert goes when its receiver has
-- accepted it, or is given up after a day.
create table alerts_delivery (
  -- Of the receiver.
  tenant_id   text collate "C" not null,
  delivery_id text collate "C" not null,
  turn        bigint generated always as identity,
  -- The alert, as it is sent. For Slack it is put into other words when it is sent.
  body        text not null,
  created_at  timestamptz not null default now(),
  -- Not before this time. While a process sends it: when its claim is over.
  due_at      timestamptz not null default now(),
  fence       bigint not null default 0,
  tries       integer not null default 0,
  primary key (tenant_id, delivery_id)
);
create index alerts_delivery_turn on alerts_delivery (tenant_id, turn);

-- What goes wrong now, or lately: one row of a kind for each subject, from the look that sees it first to the one
-- by which it is over.
create table alerts_episode (
  -- Whose it is. '': the service's own.
  tenant_id     text collate "C" not null,
  kind          text collate "C" not null,
  subject       text collate "C" not null,
  since         timestamptz not null,
  -- Since when it is not seen any more.
  gone_at       timestamptz,
  -- Its beginning was told to the tenant, to the operator: then its end is, too.
  told_tenant   boolean not null,
  told_operator boolean not null,
  details       json not null,
  primary key (tenant_id, kind, subject)
);

-- Whose turn it is to look: one row. A process that has lost its turn changes nothing.
create table alerts_watch (
  one    boolean primary key check (one),
  turn   bigint not null,
  -- The next turn, or the end of the present one.
  due_at timestamptz not null
);

---------------------------------------------------------------------------------------------------------------
-- domains: sending domains
---------------------------------------------------------------------------------------------------------------

-- The keys that seal the private DKIM keys of a domain, in order and with commas between.
create function domains_sealed_by(dkim_keys json) returns text
language sql immutable strict parallel safe
as $$
  select string_agg(distinct split_part(key ->> 'privateKey', '.', 2), ',')
    from json_array_elements(dkim_keys) as key
   where key ->> 'privateKey' is not null
$$;

-- A sending domain of a tenant: what is to be published for it, and what was seen of that. The tenant adds it;
-- its checks rewrite it. It goes when the tenant has deleted it and the provider has, too.
create table domains_domain (
  tenant_id        text collate "C" not null,
  -- In wire form.
  domain           text collate "C" not null,
  -- The mailer that sends for it. The mailer leaves when the deletion begins.
  mailer_id        text collate "C" not null,
  relay            text collate "C" not null,
  -- `creating`: the provider has not confirmed it. `deleting`: only the provider still has it.
  stage            text not null check (stage in ('creating', 'ready', 'deleting')),
  provider_id      text,
  -- The account at the provider had the domain before it was added here. The service does not delete it there.
  was_there        boolean not null default false,
  custom_args      json,
  -- As given to addDomain.
  options          json not null,
  -- Part of the record that proves who owns the domain.
  ownership_token  text not null,
  -- DKIM keys. The private ones are sealed, bound to the row and the selector. Empty: the provider has its own.
  dkim_keys        json not null,
  -- The provider's part of what is to be published.
  provider_records json not null default '[]',
  -- What was seen of each record, by its type, name and value.
  record_states    json not null default '{}',
  -- What the provider said last.
  provider_state   json not null,
  -- Null: the domain is not verified now.
  verified_at      timestamptz,
  -- Whether it was verified before.
  was_verified     boolean not null default false,
  checked_at       timestamptz,
  -- When it is checked next, or its creation or deletion goes on. Null: only when somebody asks.
  due_at           timestamptz,
  -- How often that was done since somebody last asked for something.
  tries            integer not null default 0,
  -- Until then a process works on its creation or deletion. What the process finds counts under its fence.
  busy_until       timestamptz,
  fence            bigint not null default 0,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  primary key (tenant_id, domain)
);
-- The list, in the order of the mailers' ids.
create unique index domains_domain_listed on domains_domain (tenant_id, mailer_id);
-- What is due, over all tenants.
create index domains_domain_due on domains_domain (due_at) include (tenant_id, domain)
  where due_at is not null;
create index domains_domain_sealed_by on domains_domain (domains_sealed_by(dkim_keys));

-- The tenant that has a domain, over all tenants: the first one to verify it. The row goes when the domain is
-- deleted or no longer verified.
create table domains_ownership (
  domain      text collate "C" primary key,
  tenant_id   text collate "C" not null,
  owned_since timestamptz not null default now()
);
-- For the deletion of a tenant.
create index domains_ownership_tenant on domains_ownership (tenant_id);

---------------------------------------------------------------------------------------------------------------
-- sending: accepted emails, the queue, attempts, and what is known of sent mail
--
-- Partitioned tables have the day in which the email was accepted (the time within its ref_id), so that all
-- rows of an email leave together.
---------------------------------------------------------------------------------------------------------------

-- An accepted email: one send request. Written when it is accepted. Leaves with its day.
create table sending_email (
  tenant_id     text collate "C" not null,
  ref_id        text collate "C" not null,
  day           date not null,
  -- test_…: mail of test mode, which goes to nobody. The rest is the id of the mailer that it would go by. All
  -- that is kept for a mailer is kept under this id, so test mail touches nothing of the real one.
  mailer_id     text collate "C" not null,
  from_email    text not null,
  subject       text not null,
  campaign_id   text,
  custom_args   json,
  -- The Message-ID that the email came with: all its recipients have this one.
  message_id    text,
  -- About how much memory the content takes. The default is that of a large email, which is loaded when it is
  -- needed.
  content_bytes integer not null default 1048576,
  max_attempts  smallint not null,
  -- No attempt begins after this time.
  expires_at    timestamptz not null,
  traceparent   text not null,
  created_at    timestamptz not null,
  -- When the email was queued, where that was after its acceptance: at its send_at, or by a rescue. The email,
  -- its content and its links are kept from then on.
  queued_at     timestamptz,
  -- The stored template that subject and content were rendered from. It may be gone by now.
  template_id      text collate "C",
  template_version integer,
  -- True: sending_own has recipients of this email. Else null, and nobody looks there.
  has_own          boolean,
  -- The email of the same tenant and day in whose row of sending_content the content stands. Null: this one.
  content_of       text collate "C",
  primary key (tenant_id, ref_id, day)
) partition by range (day);
-- Whether a day has emails that were queued lately, before the day leaves.
create index sending_email_queued on sending_email (day, queued_at) where queued_at is not null;
-- Test mail.
create index sending_email_test on sending_email (tenant_id, ref_id) where starts_with(mailer_id, 'test_');
-- The emails of a campaign.
create index sending_email_campaign on sending_email (tenant_id, campaign_id, ref_id)
  where campaign_id is not null;

-- What is needed to build the message of an email, apart from what the record shows of it: its content may leave
-- earlier (POSTRIDER_CONTENT_RETENTION). Short contents of a tenant that were accepted together share a row: their
-- emails name it (content_of). Written when the email is accepted, and never changed. Leaves with its day.
create table sending_content (
  tenant_id   text collate "C" not null,
  -- Of the first email in it.
  ref_id      text collate "C" not null,
  -- 0: the email itself. From 1: sending_rendering, which has these fields in place of the email's.
  rendering   smallint not null default 0,
  -- Of the email.
  day         date not null,
  -- Of an email: a line for each that is in it, with its ref_id and JSON. Of a rendering: JSON. Compressed.
  content     bytea storage external not null,
  -- The bytes of the email's attachments, one after the other; the content says how many each has. Of a message
  -- that a program handed in over SMTP: all of the message.
  attachments bytea storage external,
  primary key (tenant_id, ref_id, rendering, day)
) partition by range (day);

-- A recipient of an email. Written when the email is accepted; each end of an attempt, and reports that come
-- later, update its status. Leaves with its day.
--
-- Only what is known at acceptance has an index here. An index over the status or the times would make each
-- update write to every index of the row.
create table sending_recipient (
  tenant_id     text collate "C" not null,
  ref_id        text collate "C" not null,
  -- The recipient's number within the email, from 0.
  n             smallint not null,
  day           date not null,
  email         text not null,
  -- The address in wire form and in lower case, its domain first: example.com@ada.
  address_key   text collate "C",
  type          text not null check (type in ('to', 'cc', 'bcc')),
  status        text not null,
  attempts      smallint not null default 0,
  failed_reason text not null default '',
  -- The Message-ID of the recipient's copy.
  message_id    text not null,
  created_at    timestamptz not null,
  delivered_at  timestamptz,
  -- When the first attempt began and ended, where its server accepted the mail, on the day of the email. Such an
  -- attempt, which is nearly every one, has no row in sending_attempt. Null: the first attempt was another one.
  first_started_at  timestamptz,
  first_accepted_at timestamptz,
  primary key (tenant_id, ref_id, n, day)
) partition by range (day);
insert into platform_partition_option (parent, options) values ('sending_recipient', 'fillfactor = 60');
-- By address and by domain. A hash is half as large as tenant and text. A query by it compares tenant and text
-- as well.
create index sending_recipient_address on sending_recipient
  (hashtextextended(tenant_id || ' ' || address_key, 0), ref_id, n);
create index sending_recipient_domain on sending_recipient
  (hashtextextended(tenant_id || ' ' || split_part(address_key, '@', 1), 0), ref_id, n);
-- Recipients of copies, who are few.
create index sending_recipient_copied on sending_recipient (tenant_id, type, ref_id, n)
  where type <> 'to';

-- What a recipient has of its own in an email, where the request gave it template_data or custom_args. Written
-- when the email is accepted, and never changed. Leaves with its day.
create table sending_own (
  tenant_id   text collate "C" not null,
  ref_id      text collate "C" not null,
  n           smallint not null,
  -- Of the email.
  day         date not null,
  -- As given for this recipient; those of the email lie below, by top-level key. Null: those of the email alone.
  custom_args json,
  -- Which sending_rendering the recipient gets. Null: the content of the email.
  rendering   smallint,
  primary key (tenant_id, ref_id, n, day)
) partition by range (day);

-- What the templates of an email render to with the data of some of its recipients: one row for all recipients
-- with the same data. Written when the email is accepted, so that each attempt sends the same. The content is in
-- sending_content. Leaves with its day.
create table sending_rendering (
  tenant_id text collate "C" not null,
  ref_id    text collate "C" not null,
  -- From 1.
  rendering smallint not null,
  -- Of the email.
  day       date not null,
  subject   text not null,
  primary key (tenant_id, ref_id, rendering, day)
) partition by range (day);

-- A recipient who is not finished and may be sent to now: the send queue. Inserted when the email is accepted,
-- when its time comes (sending_scheduled), or by a rescue. Deleted with the terminal status.
create table sending_queue (
  tenant_id     text collate "C" not null,
  ref_id        text collate "C" not null,
  n             smallint not null,
  mailer_id     text collate "C" not null,
  -- Of the mailer's id: which sender serves the row.
  bucket        smallint not null,
  -- waiting: not before due_at. sending and dot: claimed until due_at, when the claim is over. dot: the final
  -- dot of the message may have been sent, so the server may have taken the message.
  phase         text not null default 'waiting' check (phase in ('waiting', 'sending', 'dot')),
  due_at        timestamptz not null,
  -- The attempt that runs or comes next, from 1.
  attempt       smallint not null default 1,
  max_attempts  smallint not null,
  fence         bigint not null default 0,
  -- How often the end of a process cut off this attempt before the commit point.
  interrupted   smallint not null default 0,
  expires_at    timestamptz not null,
  -- About how much memory the email's content takes: known before the content is loaded.
  content_bytes integer not null,
  -- A campaign, or an email to many. It gets a share of its mailer, and waits while other mail is there.
  is_bulk       boolean not null default false,
  -- When the running attempt began.
  started_at    timestamptz,
  primary key (tenant_id, ref_id, n)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
-- What is due of each mailer of a bucket, bulk mail apart.
create index sending_queue_due on sending_queue (bucket, tenant_id, mailer_id, is_bulk, due_at);
-- What expires, whatever its mailer waits for.
create index sending_queue_expires on sending_queue (bucket, expires_at);
-- Rows whose attempts were cut off: one of them may be what ends the process.
create index sending_queue_interrupted on sending_queue (bucket, due_at) where interrupted > 0;

-- A recipient of an email that is to be sent later. It stands apart from the queue, where it would be in the
-- way of every claim. The row moves to sending_queue shortly before due_at, or leaves when the email is
-- canceled.
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
  is_bulk       boolean not null default false,
  primary key (tenant_id, ref_id, n)
);
-- What is due soon.
create index sending_scheduled_due on sending_scheduled (bucket, due_at);

-- An attempt to send to a recipient, unless it is told by the recipient's row (first_accepted_at). Written once, in
-- the transaction that ends the attempt. Leaves with its day.
create table sending_attempt (
  tenant_id       text collate "C" not null,
  ref_id          text collate "C" not null,
  n               smallint not null,
  attempt         integer not null,
  -- Of the email.
  day             date not null,
  mailer_id       text collate "C" not null,
  max_attempts    smallint not null,
  started_at      timestamptz not null,
  finished_at     timestamptz not null,
  outcome         text not null check (outcome in ('accepted', 'deferred', 'failed', 'uncertain')),
  category        text,
  failed_reason   text not null default '',
  -- The server's own words.
  provider_error  text not null default '',
  -- The decision that was made then, whatever came later.
  retry_scheduled boolean not null,
  next_attempt_at timestamptz,
  primary key (tenant_id, ref_id, n, attempt, day)
) partition by range (day);
-- The last attempts of series that failed, through which a rescue walks. Nearly all attempts succeed and do not
-- touch this index. It has the day, or the planner would take the primary key, which has all attempts.
create index sending_attempt_failed on sending_attempt (tenant_id, ref_id, n, attempt, day)
  where not retry_scheduled and outcome <> 'accepted';
-- Deliveries on another day than that of the acceptance, by which all others are found.
create index sending_attempt_late on sending_attempt (tenant_id, ref_id, n)
  where outcome = 'accepted' and (finished_at at time zone 'UTC')::date > day;

-- All attempts. The first one was made by the mailer of the email: a rescue comes after it.
create view sending_attempts as
  select tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts, started_at, finished_at, outcome,
         category, failed_reason, provider_error, retry_scheduled, next_attempt_at
    from sending_attempt
   union all
  select tenant_id, ref_id, r.n, 1, day, e.mailer_id, e.max_attempts, r.first_started_at,
         r.first_accepted_at, 'accepted', null, '', '', false, null
    from sending_recipient r join sending_email e using (tenant_id, ref_id, day)
   where r.first_accepted_at is not null;

-- A recipient whose status is not that of an attempt: blocked, suppressed, rejected or bounced. Such recipients
-- are few, and nothing else finds them. Written with the status. Leaves with its day.
create table sending_stopped (
  tenant_id text collate "C" not null,
  status    text collate "C" not null,
  ref_id    text collate "C" not null,
  n         smallint not null,
  -- Of the email.
  day       date not null,
  primary key (tenant_id, status, ref_id, n, day)
) partition by range (day);

-- A key by which a send request may be repeated. Written with the email. The janitor deletes it after 24 hours.
create table sending_idempotency (
  tenant_id  text collate "C" not null,
  -- As the caller gave it. Of test mail with U+0001 in front: its keys are apart.
  key        text collate "C" not null,
  -- SHA-256. Another body under the same key is refused.
  body_hash  bytea not null,
  -- The email that the first request made.
  ref_id     text collate "C" not null,
  -- The recipients that the first answer named as suppressed, so that its repetition says the same. Null: none.
  suppressed smallint[],
  created_at timestamptz not null default now(),
  primary key (tenant_id, key)
);
-- For the janitor.
create index sending_idempotency_created on sending_idempotency (created_at);

-- Where the tracked links of an email and its renderings lead to: one row for each email that has some. Which link
-- is where in the HTML is part of their content. Written when the email is accepted. Leaves with its day.
create table sending_link (
  tenant_id text collate "C" not null,
  ref_id    text collate "C" not null,
  day       date not null,
  -- Each URL once. Link n of a token is urls[n + 1].
  urls      text[] not null,
  primary key (tenant_id, ref_id, day)
) partition by range (day);

-- Whom the unsubscribe links of an email are about: one row for each email that has some. A link in a mailbox
-- has to work when the email itself is long gone, so a day of this table stays for 400 days at least. Written
-- when the email is accepted.
create table sending_unsubscribable (
  tenant_id text collate "C" not null,
  ref_id    text collate "C" not null,
  day       date not null,
  -- All recipients, as the caller wrote them. Recipient n of a token is emails[n + 1].
  emails    text[] not null,
  primary key (tenant_id, ref_id, day)
) partition by range (day);

-- A copy that is to be stored in the Sent folder of the mailbox that an email was sent by: one for each email,
-- of the first recipient whose copy the server accepted. Written with the result of that attempt. Leaves when
-- the copy is in the folder, when it is given up, or when it is older than POSTRIDER_RETENTION. The capability
-- mailboxes stores the copies.
create table sending_sent_copy (
  tenant_id     text collate "C" not null,
  ref_id        text collate "C" not null,
  mailer_id     text collate "C" not null,
  -- Of the mailer's id: which process with the role mailbox serves the row.
  bucket        smallint not null,
  -- Of the accepted copy. The folder is searched for it, so that no copy is stored twice.
  message_id    text not null,
  -- As in sending_queue.
  content_bytes integer not null,
  sent_at       timestamptz not null default now(),
  -- Not before this time. While a process works on the copy: when its claim is over.
  due_at        timestamptz not null,
  -- Failed tries.
  tries         smallint not null default 0,
  fence         bigint not null default 0,
  primary key (tenant_id, ref_id, mailer_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
-- What is due of each mailer of a bucket.
create index sending_sent_copy_due on sending_sent_copy (bucket, tenant_id, mailer_id, due_at);
-- For the janitor.
create index sending_sent_copy_sent on sending_sent_copy (sent_at);

-- A stored template: its name, and the number of its newest version. The tenant creates, changes and deletes it.
-- Emails do not refer to it: they hold what was rendered at their acceptance.
create table sending_template (
  tenant_id   text collate "C" not null,
  template_id text collate "C" not null,
  name        text collate "C" not null,
  version     integer not null,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, template_id),
  unique (tenant_id, name)
);

-- A version of a stored template: subject and content, both Liquid. Each change writes one, and none is changed.
-- The row goes with its template, or alone when the tenant deletes the version.
create table sending_template_version (
  tenant_id   text collate "C" not null,
  template_id text collate "C" not null,
  version     integer not null,
  subject     text not null,
  -- [{ type, value }], as it was given.
  content     json not null,
  -- Null: the version has none.
  sample_data json,
  -- Of subject, content and sample data, for the limit of a tenant.
  bytes       integer not null,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, template_id, version),
  foreign key (tenant_id, template_id) references sending_template on delete cascade
);

-- What a tenant has set for its phishing protection. A tenant without a row has the defaults. The row stays.
create table sending_phishing_settings (
  tenant_id       text collate "C" not null primary key,
  is_enabled      boolean not null,
  -- An email with this score or more is stopped.
  threshold       smallint not null check (threshold between 1 and 100),
  -- In A-labels and lower case. Each stands for everything below it, too.
  blocked_domains text[] collate "C" not null,
  updated_at      timestamptz not null default now()
);

---------------------------------------------------------------------------------------------------------------
-- feedback: what relay providers and mail servers report of sent mail
---------------------------------------------------------------------------------------------------------------

-- A callback of a relay provider, as it came. Written before the callback is answered. Leaves when everything
-- in it is applied. What cannot be applied is kept aside, until it is older than POSTRIDER_RETENTION.
create table feedback_inbox (
  tenant_id   text collate "C" not null,
  inbox_id    text collate "C" not null,
  -- The provider.
  kind        text collate "C" not null,
  received_at timestamptz not null,
  body        bytea not null,
  bytes       integer not null,
  -- Not looked at before.
  due_at      timestamptz not null default now(),
  -- When it was kept aside, and why. Null: it waits to be applied.
  refused_at  timestamptz,
  problem     text,
  primary key (tenant_id, inbox_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
-- Compression would take half of the time that storing takes.
alter table feedback_inbox alter column body set storage external;
-- What waits, in the order in which it came.
create index feedback_inbox_waiting on feedback_inbox (tenant_id, inbox_id) include (due_at, bytes)
  where refused_at is null;
-- What is kept aside.
create index feedback_inbox_refused on feedback_inbox (tenant_id, inbox_id)
  where refused_at is not null;

-- A report about a recipient, once however often it came. Written when the report is applied. Leaves with the
-- email's day.
create table feedback_fact (
  tenant_id   text collate "C" not null,
  ref_id      text collate "C" not null,
  n           smallint not null,
  -- The provider's id of the report, else a digest of the report.
  fact_id     text collate "C" not null,
  -- Of the email.
  day         date not null,
  -- The provider. Null: a mail server reported by mail.
  relay       text,
  kind        text not null,
  -- The provider's own word for the kind.
  type        text not null,
  -- The provider's id of the message. Some reports have nothing else to be joined by.
  message_key text,
  reported_at timestamptz not null,
  received_at timestamptz not null,
  reason      text not null,
  is_hard     boolean,
  error_code  text,
  -- The status code that was given beside the words (RFC 3463).
  status      text,
  num_retries text,
  -- Why it counts as this kind of bounce: { category, by, evidence }. Null: it is no bounce, or nothing is
  -- known.
  classified  jsonb,
  primary key (tenant_id, ref_id, n, fact_id, day)
) partition by range (day);
-- By hash, as in sending_recipient. A query by it compares the texts as well.
create index feedback_fact_message on feedback_fact
  (hashtextextended(tenant_id || ' ' || message_key, 0)) where message_key is not null;

-- What is true of a recipient beside its status. Most recipients have no row. Written when a report
-- is applied. Leaves with the email's day.
create table feedback_recipient (
  tenant_id       text collate "C" not null,
  ref_id          text collate "C" not null,
  n               smallint not null,
  -- Of the email.
  day             date not null,
  complained_at   timestamptz,
  unsubscribed_at timestamptz,
  primary key (tenant_id, ref_id, n, day)
) partition by range (day);

-- A report of which nobody knows yet whom it is about, or whose attempt is not over. It is tried again for a
-- while, and then kept for people to see. Leaves when it is applied, or when it is older than
-- POSTRIDER_RETENTION.
create table feedback_unmatched (
  tenant_id   text collate "C" not null,
  relay       text collate "C" not null,
  fact_id     text collate "C" not null,
  kind        text not null,
  -- By which the report may be joined later.
  message_key text collate "C",
  -- The report as it was read: JSON.
  fact        text not null,
  received_at timestamptz not null,
  tries       smallint not null default 0,
  -- When it is tried next. Null: it is not tried any more.
  due_at      timestamptz,
  primary key (tenant_id, relay, fact_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);
-- What is due, over all tenants.
create index feedback_unmatched_due on feedback_unmatched (due_at) where due_at is not null;
-- What waits for a message that has just become known.
create index feedback_unmatched_message on feedback_unmatched (tenant_id, message_key)
  where due_at is not null and message_key is not null;
-- For the janitor.
create index feedback_unmatched_received on feedback_unmatched (received_at);

---------------------------------------------------------------------------------------------------------------
-- tracking: what recipients do with an email
--
-- Both tables have the day in which the email was accepted, and leave with the email.
---------------------------------------------------------------------------------------------------------------

-- The sums of a recipient's hits. A recipient who did nothing has no row. Written with each hit.
create table tracking_recipient (
  tenant_id       text collate "C" not null,
  ref_id          text collate "C" not null,
  n               smallint not null,
  day             date not null,
  -- All hits: of people and of robots.
  opens           integer not null default 0,
  clicks          integer not null default 0,
  -- Hits of robots, as far as they are known.
  bot_opens       integer not null default 0,
  bot_clicks      integer not null default 0,
  -- The first of a person. Null: there was none.
  opened_at       timestamptz,
  clicked_at      timestamptz,
  unsubscribed_at timestamptz,
  -- The links of the last clicks that came together, and since when. Many at once tell a robot.
  burst_at        timestamptz,
  burst_links     integer[],
  -- The open that made this row, as tracking_hit has all other hits. Null: something else made the row.
  hit_id          text collate "C",
  hit_at          timestamptz,
  ip              text,
  user_agent      text,
  bot             boolean,
  rule            text,
  primary key (tenant_id, ref_id, n, day)
) partition by range (day);
-- Most rows are updated several times.
insert into platform_partition_option (parent, options) values ('tracking_recipient', 'fillfactor = 85');

-- A hit: an open, a click, or an unsubscription, unless it is an open that made the row of its recipient. Written
-- from the request, or from the file where the request was kept first.
create table tracking_hit (
  tenant_id  text collate "C" not null,
  ref_id     text collate "C" not null,
  n          smallint not null,
  -- Made when the request came. A hit that is recorded again meets itself here.
  hit_id     text collate "C" not null,
  day        date not null,
  kind       text not null check (kind in ('open', 'click', 'unsubscribe')),
  -- The link's number, of a click.
  link       integer,
  hit_at     timestamptz not null,
  ip         text not null,
  user_agent text not null,
  bot        boolean not null,
  -- The rule that decided whether it was a robot. Null: no rule did.
  rule       text,
  primary key (tenant_id, ref_id, n, hit_id, day)
) partition by range (day);

-- All hits.
create view tracking_hits as
  select tenant_id, ref_id, n, hit_id, day, kind, link, hit_at, ip, user_agent, bot, rule from tracking_hit
   union all
  select tenant_id, ref_id, n, hit_id, day, 'open', null, hit_at, ip, user_agent, bot, rule
    from tracking_recipient where hit_id is not null;

---------------------------------------------------------------------------------------------------------------
-- inbound: domains that receive mail here, and received mail until it is reported
---------------------------------------------------------------------------------------------------------------

-- A domain whose mail a tenant receives here. The tenant configures and deletes it.
create table inbound_domain (
  tenant_id       text collate "C" not null,
  -- In wire form.
  domain          text collate "C" not null,
  -- A ULID, made when the domain was configured: the order of lists.
  id              text collate "C" not null,
  -- Part of the record that proves who owns the domain.
  ownership_token text not null,
  -- What was seen of each record, by its type, name and value.
  record_states   json not null default '{}',
  -- Null: no mail is accepted for it.
  verified_at     timestamptz,
  checked_at      timestamptz,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  primary key (tenant_id, domain)
);
-- The list.
create unique index inbound_domain_listed on inbound_domain (tenant_id, id);
-- Over all tenants, the oldest first: the tenant to whom the MX record proves the domain.
create index inbound_domain_unproven on inbound_domain (domain, created_at, tenant_id)
  where verified_at is null;
-- How many unproven domains a tenant has, before one more is configured.
create index inbound_domain_unverified on inbound_domain (tenant_id) where verified_at is null;

-- The tenant that has a domain, over all tenants: the first one to prove it. The row goes with the domain, or
-- when its proof is gone.
create table inbound_ownership (
  domain      text collate "C" primary key,
  tenant_id   text collate "C" not null,
  owned_since timestamptz not null default now(),
  foreign key (tenant_id, domain) references inbound_domain on delete cascade
);
-- For the deletion of a tenant.
create index inbound_ownership_tenant on inbound_ownership (tenant_id);

-- A route of its own for one local part of a domain. The tenant creates and deletes it; it goes with its
-- domain.
create table inbound_username (
  tenant_id   text collate "C" not null,
  domain      text collate "C" not null,
  -- In lower case, and without a tag.
  username    text collate "C" not null,
  -- A ULID, made when the route was created: the order of lists.
  id          text collate "C" not null,
  -- Its webhook's URL. Null: the domain's.
  url         text,
  -- Whether it has a webhook of its own, which has headers of its own.
  has_webhook boolean not null,
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now(),
  primary key (tenant_id, domain, username),
  foreign key (tenant_id, domain) references inbound_domain on delete cascade
);
-- The list.
create unique index inbound_username_listed on inbound_username (tenant_id, domain, id);

-- A piece of a message as it was received: 512 KiB, the last one less, compressed. A large value in one piece would delay
-- everybody in the process that writes or reads it. A message is stored once for a tenant, however many of the
-- tenant's routes it came by, before it is answered. Leaves with its day, which is that of its id, when the mail of
-- the day was reported: after POSTRIDER_CONTENT_RETENTION.
create table inbound_raw (
  tenant_id text collate "C" not null,
  raw_id    text collate "C" not null,
  day       date not null,
  -- The piece's number, from 0.
  piece     integer not null default 0,
  raw       bytea storage external not null,
  primary key (tenant_id, raw_id, day, piece)
) partition by range (day);

-- A received message as it goes to one webhook. Written with the message. Leaves with its day, which is that of
-- its id.
create table inbound_message (
  tenant_id     text collate "C" not null,
  inbound_id    text collate "C" not null,
  day           date not null,
  -- Its content.
  raw_id        text collate "C" not null,
  source        text not null check (source in ('smtp', 'imap')),
  -- Whose webhook takes it: a mailer's id, or `<domain>/<username>`, or `<domain>/` for a domain.
  owner         text collate "C" not null,
  -- By SMTP: the route. username '' is the domain's.
  domain        text,
  username      text,
  -- By IMAP: the mailer, and the folder.
  mailer_id     text collate "C",
  folder        text,
  -- The server's own id of the conversation, where it has one.
  server_thread text,
  -- By SMTP: { from, to, remote_ip, helo, tls }.
  envelope      json,
  -- When the last byte was there. Microseconds count.
  received_at   timestamptz not null,
  bytes         integer not null,
  -- When it was reported, and what was wrong with it then.
  reported_at   timestamptz,
  problem       text,
  -- What a list shows of it, from then on: { from, subject, authentication }.
  summary       json,
  primary key (tenant_id, inbound_id, day)
) partition by range (day);

-- A message that is to be reported. Written with the message. Leaves in the transaction that reports it.
create table inbound_queue (
  tenant_id  text collate "C" not null,
  inbound_id text collate "C" not null,
  bytes      integer not null,
  due_at     timestamptz not null default now(),
  tries      smallint not null default 0,
  fence      bigint not null default 0,
  -- Until then a process works on it.
  busy_until timestamptz,
  primary key (tenant_id, inbound_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
-- Over all tenants, the oldest first.
create index inbound_queue_id on inbound_queue (inbound_id);

-- A message that was received lately, by a digest of its recipient, Message-ID and content. A server that never
-- heard our `250` sends its message again. Written with the message. The janitor deletes it after 24 hours.
create table inbound_seen (
  tenant_id text collate "C" not null,
  digest    bytea not null,
  seen_at   timestamptz not null default now(),
  primary key (tenant_id, digest)
);
-- For the janitor.
create index inbound_seen_at on inbound_seen (seen_at);

---------------------------------------------------------------------------------------------------------------
-- mailboxes: mailboxes that are watched, and what of each has been reported
--
-- What is fetched from a mailbox is configured in mailers_mailer.
---------------------------------------------------------------------------------------------------------------

-- A mailbox that was watched: its health. Made when a process first watches it. Goes with its mailer.
create table mailboxes_mailbox (
  tenant_id      text collate "C" not null,
  mailer_id      text collate "C" not null,
  -- Grows whenever a process begins to watch the mailbox. A process with an older fence writes nothing more.
  fence          bigint not null default 0,
  -- The present episode of failure: since when, how often it failed, and when it is reported again. Null and 0:
  -- the mailbox can be read.
  failing_since  timestamptz,
  tries          integer not null default 0,
  report_due_at  timestamptz,
  -- When all of its folders were last looked at with nothing left to take.
  read_at        timestamptz,
  -- The last failure, also of an episode that is over.
  failed_at      timestamptz,
  failed_reason  text,
  -- The server's own words.
  provider_error text,
  primary key (tenant_id, mailer_id),
  foreign key (tenant_id, mailer_id) references mailers_mailer on delete cascade
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);

-- A folder of a mailbox, and how far it has been read. The process that watches the mailbox writes it, in the
-- transaction that stores the messages. Goes with its mailbox.
create table mailboxes_folder (
  tenant_id    text collate "C" not null,
  mailer_id    text collate "C" not null,
  path         text collate "C" not null,
  -- The configuration by which the folder was begun, and the host then. Under another one nothing here holds.
  start        text collate "C" not null,
  host         text collate "C" not null,
  -- RFC 3501 section 2.3.1.1. The messages up to last_uid have been dealt with.
  uid_validity numeric not null,
  last_uid     bigint not null,
  -- The last UID when the folder was begun, or got new numbers. A message that arrived before old_before, and
  -- is not above first_uid, was there already.
  first_uid    bigint not null,
  old_before   timestamptz,
  -- Each message from this time on is known (mailboxes_fetched). Null: all that were ever there are.
  known_since  timestamptz,
  primary key (tenant_id, mailer_id, path),
  foreign key (tenant_id, mailer_id) references mailboxes_mailbox on delete cascade
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000
);

-- A message of a mailbox that has been dealt with, by a digest: two or three rows for each message
-- (digest-mail.ts). By them a message is recognised in another folder, or under another UID. The janitor
-- deletes a row a day after POSTRIDER_RETENTION; the row goes with its mailbox, too.
create table mailboxes_fetched (
  tenant_id  text collate "C" not null,
  mailer_id  text collate "C" not null,
  digest     bytea not null,
  fetched_at timestamptz not null default now(),
  primary key (tenant_id, mailer_id, digest),
  foreign key (tenant_id, mailer_id) references mailboxes_mailbox on delete cascade
);
-- For the janitor.
create index mailboxes_fetched_at on mailboxes_fetched (fetched_at);
