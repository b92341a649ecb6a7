-- The inbound domains of a tenant that nobody has proven are counted when one more is configured.
create index inbound_domain_unverified on inbound_domain (tenant_id) where verified_at is null;
