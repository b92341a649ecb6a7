-- What tenants have set for phishing protection; a tenant without a row has the defaults.

create table sending_phishing_settings (
  tenant_id       text collate "C" not null primary key,
  is_enabled      boolean not null,
  -- A score of so much or more stops an email.
  threshold       smallint not null check (threshold between 1 and 100),
  -- In A-labels and lower case; each with everything below it.
  blocked_domains text[] collate "C" not null,
  updated_at      timestamptz not null default now()
);
