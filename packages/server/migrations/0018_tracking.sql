-- What recipients did with an email: every open and click, and their sums for each recipient.
--
-- Both tables are partitioned by the day in which the email was accepted (the time within its
-- ref_id), and leave with it.

-- A recipient who did nothing has no row.
create table tracking_recipient (
  tenant_id       text collate "C" not null,
  ref_id          text collate "C" not null,
  n               smallint not null,
  day             date not null,
  -- Of people and robots together.
  opens           integer not null default 0,
  clicks          integer not null default 0,
  -- Those of robots, as far as they are known.
  bot_opens       integer not null default 0,
  bot_clicks      integer not null default 0,
  -- The first of a person; null where there was none.
  opened_at       timestamptz,
  clicked_at      timestamptz,
  unsubscribed_at timestamptz,
  -- The links of the last clicks that came together, and since when: by many of them at once a robot
  -- is known.
  burst_at        timestamptz,
  burst_links     integer[],
  primary key (tenant_id, ref_id, n, day)
) partition by range (day);

create table tracking_hit (
  tenant_id  text collate "C" not null,
  ref_id     text collate "C" not null,
  n          smallint not null,
  -- A ULID, made when the request came: a hit that is recorded again meets itself here.
  hit_id     text collate "C" not null,
  day        date not null,
  kind       text not null check (kind in ('open', 'click', 'unsubscribe')),
  -- The link's number; of clicks alone.
  link       integer,
  hit_at     timestamptz not null,
  ip         text not null,
  user_agent text not null,
  bot        boolean not null,
  -- By which rule it was decided whether it was a robot; null where none did.
  rule       text,
  primary key (tenant_id, ref_id, n, hit_id, day)
) partition by range (day);
