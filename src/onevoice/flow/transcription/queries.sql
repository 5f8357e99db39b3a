-- name: claim_transcriptions
-- Due again after the lease: a process that dies in the call only delays the words.
update media m
set transcription_try_count = m.transcription_try_count + 1,
    transcription_due_at = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $2::float8)
where (m.account_id, m.id) = any(array(
    select (d.account_id, d.id)
    from media d
    where d.transcription_due_at <= (select coalesce($1::timestamptz, clock_timestamp()))
    order by d.transcription_due_at
    limit $3::integer
    for update skip locked))
returning m.account_id, m.id, m.inbound_id, m.mime_type, m.size_bytes, m.transcription_try_count;

-- name: renew_transcriptions
-- Those that still run are not another's to begin.
update media m
set transcription_due_at = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $2::float8)
from unnest($3::text[], $4::uuid[]) as w (account_id, id)
where m.account_id = w.account_id and m.id = w.id and m.transcription_state = 'waiting';

-- name: finish_transcription
-- The first to finish counts: words that come twice change nothing.
update media m
set transcription_state = $4::text, transcription_reason = $5::text,
    transcription_due_at = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $6::float8),
    transcription_model = $7::text, transcription_usage = $8::jsonb, seconds = coalesce($9::float8, m.seconds)
where m.account_id = $2::text and m.id = $3::uuid and m.transcription_state = 'waiting'
returning m.id;

-- name: read_target
-- Under the lock: the message whose words have come, and the reply it was answered with, if any.
select m.state, m.turn_id, m.received_at,
    (select count(*) from outbound_message o
     where o.account_id = m.account_id and o.turn_id = m.turn_id and o.author = 'ai') as reply_part_count,
    (select count(*) from outbound_message o
     where o.account_id = m.account_id and o.turn_id = m.turn_id and o.author = 'ai'
        and ((o.state = 'due' and o.attempt_count = 0)
            or (o.state = 'parked' and o.reason = 'needs_template'))) as reply_unsent_count,
    coalesce((select bool_or(o.wrote) from outbound_message o
     where o.account_id = m.account_id and o.turn_id = m.turn_id and o.author = 'ai'), false) as reply_wrote,
    (select coalesce($1::timestamptz, clock_timestamp())) as now
from inbound_message m
where m.account_id = $2::text and m.id = $3::uuid;

-- name: ask_for_suggestion
-- What was suggested without these words, if anything, helps nobody.
update conversation c
set suggestion_due_at = coalesce(c.suggestion_due_at, (select coalesce($1::timestamptz, clock_timestamp())))
where c.account_id = $2::text and c.id = $3::uuid and c.authority_state = 'HUMAN_ACTIVE';

-- name: complete_message
-- Words that came after a turn had read the message amend it: that turn's answer does not close it.
update inbound_message
set transcription = $4::text, is_awaited = false,
    amended_at = case when $5::boolean then (select coalesce($1::timestamptz, clock_timestamp())) else amended_at end,
    amended_arrival = case when $5::boolean
        then (select c.arrival_count from conversation c where c.account_id = $2::text and c.id = $6::uuid)
        else amended_arrival end
where account_id = $2::text and id = $3::uuid;
