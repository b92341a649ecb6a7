-- Which secret keys are in use: a start refuses to run without one of them, and looks each of them up
-- in these indexes, whatever the number of rows. A sealed value is `v1.<key id>.<...>`.

create index mailers_mailer_sealed_by on mailers_mailer (split_part(secret, '.', 2));
create index mailers_oauth_token_refresh_sealed_by
  on mailers_oauth_token (split_part(refresh_token, '.', 2));
create index mailers_oauth_token_access_sealed_by
  on mailers_oauth_token (split_part(access_token, '.', 2));
create index mailers_oauth_app_sealed_by on mailers_oauth_app (split_part(client_secret, '.', 2));
create index mailers_oauth_login_sealed_by on mailers_oauth_login (split_part(secret, '.', 2));
create index relays_account_key_sealed_by on relays_account (split_part(api_key, '.', 2));
create index relays_account_token_sealed_by on relays_account (split_part(callback_token, '.', 2));
create index relays_account_secret_sealed_by on relays_account (split_part(callback_secret, '.', 2));
create index webhooks_subscription_sealed_by
  on webhooks_subscription (split_part(headers_sealed, '.', 2));

-- The keys by which the private DKIM keys of a domain are sealed, in order and with commas between.
create function domains_sealed_by(dkim_keys json) returns text
language sql immutable strict parallel safe
as $$
  select string_agg(distinct split_part(key ->> 'privateKey', '.', 2), ',')
    from json_array_elements(dkim_keys) as key
   where key ->> 'privateKey' is not null
$$;
create index domains_domain_sealed_by on domains_domain (domains_sealed_by(dkim_keys));

-- What was derived from a key that was rotated, sealed by a later one: links in mail that was sent
-- go on working without the key. Null: the key itself is still needed.
alter table platform_secret_key add column derived text;
