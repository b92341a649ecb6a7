-- OAuth apps, logins under way, and the tokens of mailers that log in by them. Secrets, verifiers
-- and tokens are sealed by the key ring and bound to their row.

create table mailers_oauth_app (
  tenant_id     text collate "C" not null,
  app_id        text collate "C" not null,
  provider      text not null check (provider in ('google', 'microsoft', 'custom')),
  client_id     text not null,
  client_secret text not null,
  -- Null: the provider's for what the mailbox is used for.
  scopes        text[],
  redirect_uris text[] not null,
  authorize_url text not null,
  token_url     text not null,
  userinfo_url  text,
  -- { host, port, secure }; null: this app is not for that.
  smtp          json,
  imap          json,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  primary key (tenant_id, app_id)
);

-- One for each authorization URL given out. The browser brings the state back; a row is taken out
-- by whoever comes first with it.
create table mailers_oauth_login (
  state_hash   bytea primary key,
  tenant_id    text collate "C" not null,
  app_id       text collate "C" not null,
  -- The mailer to authenticate again; null: one is created.
  mailer_id    text collate "C",
  type         text not null check (type in ('smtp', 'imap', 'smtp_imap')),
  -- Where the browser goes afterwards; null: it is shown a page.
  redirect_uri text,
  -- Sealed JSON: the PKCE verifier and the nonce.
  secret       text not null,
  expires_at   timestamptz not null,
  foreign key (tenant_id, app_id) references mailers_oauth_app on delete cascade
);
create index mailers_oauth_login_expires on mailers_oauth_login (expires_at);
create index mailers_oauth_login_app on mailers_oauth_login (tenant_id, app_id);

alter table mailers_mailer
  -- The OAuth app by which it logs in.
  add column app_id text collate "C",
  -- { host, port, secure } of a mailbox that is sent by and fetched from.
  add column imap json,
  add constraint mailers_mailer_app check ((connection_type = 'oauth') = (app_id is not null)),
  drop constraint mailers_mailer_check,
  -- What an OAuth mailer logs in with stands in mailers_oauth_token.
  add constraint mailers_mailer_secret
    check ((secret is null) = (username is null or connection_type = 'oauth')),
  -- An app in use stays.
  add foreign key (tenant_id, app_id) references mailers_oauth_app;
create index mailers_mailer_by_app on mailers_mailer (tenant_id, app_id) where app_id is not null;

create table mailers_oauth_token (
  tenant_id         text collate "C" not null,
  mailer_id         text collate "C" not null,
  refresh_token     text not null,
  -- Kept until shortly before it expires, for all processes.
  access_token      text,
  access_expires_at timestamptz,
  -- Grows with every grant and every access token.
  version           bigint not null default 1,
  -- A refresh is under way until then; its result is taken only under its fence.
  refreshing_until  timestamptz,
  fence             bigint not null default 0,
  -- After a failed refresh none is tried before, and its failure is what is answered.
  blocked_until     timestamptz,
  failure           json,
  refreshed_at      timestamptz,
  -- When the provider last called the refresh token revoked.
  refused_at        timestamptz,
  primary key (tenant_id, mailer_id),
  foreign key (tenant_id, mailer_id) references mailers_mailer on delete cascade
);
