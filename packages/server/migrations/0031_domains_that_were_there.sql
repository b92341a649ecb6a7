-- Domains that the account at the provider had before they were added here: they are not ours to delete.

alter table domains_domain add column was_there boolean not null default false;
