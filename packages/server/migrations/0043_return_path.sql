-- Where what its server takes and later returns comes back to: `bounces@` an inbound domain of the tenant.
-- Null: to the mailer's address.
alter table mailers_mailer add column return_path text collate "C";
