-- name: lock_due_suggestions
-- SKIP LOCKED keeps two workers off one conversation. Like a turn, a suggestion waits for files and words.
select c.account_id, c.id
from conversation c
where c.suggestion_due_at <= (select coalesce($1::timestamptz, clock_timestamp()))
    and (not c.is_media_awaited or c.media_wait_until <= (select coalesce($1::timestamptz, clock_timestamp())))
order by c.suggestion_due_at
limit $2::integer
for update of c skip locked;

-- name: clear_suggestion_timer
-- A suggestion that gets lost is not worth a lease: the next message arms another.
update conversation c
set suggestion_due_at = null
from unnest($1::text[], $2::uuid[]) as w (account_id, id)
where c.account_id = w.account_id and c.id = w.id;

-- name: keep_suggestion
-- With the version and the arrivals it holds under: it is withdrawn by itself when either moves on.
insert into suggestion (account_id, id, conversation_id, turn_id, text, reason, authority_version, arrivals_seen,
    created_at)
values ($2::text, $3::uuid, $4::uuid, $5::uuid, $6::text, $7::text, $8::bigint, $9::bigint,
    (select coalesce($1::timestamptz, clock_timestamp())));
