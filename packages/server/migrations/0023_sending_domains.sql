-- A sending domain is a mailer: it sends by the tenant's account at a relay provider, for every
-- address of its domain.

alter table mailers_mailer
  drop constraint mailers_mailer_connection_type_check,
  add constraint mailers_mailer_connection_type_check
    check (connection_type in ('basic', 'oauth', 'relay')),
  add column relay           text collate "C",
  -- In wire form. Its email_key is `@` and the domain, by which an address finds it.
  add column domain          text collate "C",
  add column domain_verified boolean,
  alter column host drop not null,
  alter column port drop not null,
  alter column secure drop not null,
  alter column tls_verify drop not null,
  add constraint mailers_mailer_way check (
    case when connection_type = 'relay'
      then num_nulls(relay, domain, domain_verified) = 0
        and num_nonnulls(host, port, username, secure, tls_verify, secret, imap) = 0
      else num_nonnulls(relay, domain, domain_verified) = 0
        and num_nulls(host, port, secure, tls_verify) = 0
    end),
  -- An account in use stays.
  add foreign key (tenant_id, relay) references relays_account;
create index mailers_mailer_by_relay on mailers_mailer (tenant_id, relay) where relay is not null;
