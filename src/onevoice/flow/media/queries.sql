-- name: claim_downloads
-- The next try is set before the call: a process that dies in it only delays the file.
update media m
set try_count = m.try_count + 1,
    next_try_at = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $2::float8)
from inbound_message i
where (m.account_id, m.id) = any(array(
        select (d.account_id, d.id)
        from media d
        where d.state = 'waiting' and d.next_try_at <= (select coalesce($1::timestamptz, clock_timestamp()))
        order by d.next_try_at
        limit $3::integer
        for update skip locked))
    and i.account_id = m.account_id and i.id = m.inbound_id
returning m.account_id, m.id, m.inbound_id, m.channel, m.external_id, m.kind, m.claimed_type, m.claimed_sha256,
    m.filename, m.try_count, m.transcription_state;

-- name: renew_downloads
-- Those that still run are not another's to begin.
update media m
set next_try_at = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $2::float8)
from unnest($3::text[], $4::uuid[]) as w (account_id, id)
where m.account_id = w.account_id and m.id = w.id and m.state = 'waiting';

-- name: find_home
-- The conversation of a message; a merge may move it until the lock is held.
select conversation_id
from inbound_message
where account_id = $1::text and id = $2::uuid;

-- name: finish_download
-- The first to finish counts: a second download of the same file changes nothing.
update media m
set state = $4::text, reason = $5::text, mime_type = $6::text, size_bytes = $7::bigint, sha256 = $8::bytea,
    next_try_at = clock.now + make_interval(secs => $9::float8),
    transcription_state = $10::text,
    transcription_reason = case when $10::text = 'failed' then 'no_file' end,
    transcription_due_at = case when $4::text = 'stored' and $10::text = 'waiting' then clock.now end,
    ended_at = case when $4::text <> 'waiting' then clock.now end
from (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where m.account_id = $2::text and m.id = $3::uuid and m.state = 'waiting'
returning m.id;

-- name: free_turn
-- Nothing more is awaited of this message; the timer is derived anew.
update inbound_message
set is_awaited = false
where account_id = $1::text and id = $2::uuid and is_awaited;
