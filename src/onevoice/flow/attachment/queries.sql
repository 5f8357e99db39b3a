-- name: keep_file
-- After its bytes: a row never names a file that is not there.
insert into media (account_id, id, kind, filename, claimed_type, state, mime_type, size_bytes, sha256, created_at,
    ended_at)
select $2::text, $3::uuid, $4::text, $5::text, $6::text, 'stored', $7::text, $8::bigint, $9::bytea, clock.now, clock.now
from (select coalesce($1::timestamptz, clock_timestamp()) as now) clock;

-- name: read_files
-- The account leads: another account's file is not found.
select id, kind, state, reason, mime_type, filename, size_bytes
from media
where account_id = $1::text and id = any($2::uuid[]);

-- name: find_target
-- By our id or by the channel's own; only what a customer sent on this conversation.
select external_id
from inbound_message
where account_id = $1::text and conversation_id = $2::uuid and (id::text = $3::text or external_id = $3::text)
limit 1;
