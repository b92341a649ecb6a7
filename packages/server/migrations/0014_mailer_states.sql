-- When logins were rejected.

alter table mailers_mailer
  -- Since when the server rejects its login. Many of one server at once are the server's fault.
  add column refused_at timestamptz;
