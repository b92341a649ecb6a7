-- Senders of every process find what has become active lately; an entry moves only with the state.
create index mailers_mailer_activated on mailers_mailer (state_changed_at) where state = 'active';
