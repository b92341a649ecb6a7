-- What a bounce rests on, as it was decided: { category, by, evidence }. Null: no bounce, or one of before.
alter table feedback_fact add column classified jsonb;
-- The status code that was given beside the words (RFC 3463).
alter table feedback_fact add column status text;
