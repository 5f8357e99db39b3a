-- name: read_in_flight
-- An AI send or an AI write that has begun and is unresolved. A human's own send never delays a takeover; a
-- write is given up for unknown after its deadline and the same quarantine as a send.
select o.id
from outbound_message o
where o.account_id = $2::text and o.conversation_id = $3::uuid and o.state = 'sending' and o.author in ('ai', 'system')
union all
select e.id
from effect e
where e.account_id = $2::text and e.conversation_id = $3::uuid and e.told_at is null and e.state = 'started'
    and e.turn_id is not null
    and e.not_after + make_interval(secs => $4::float8) > (select coalesce($1::timestamptz, clock_timestamp()))
limit 1;

-- name: revoke_due
-- A goodbye survives until a human takes; an operator's own messages unless somebody else forces the take.
update outbound_message
set state = 'revoked', reason = 'authority_revoked', ended_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and conversation_id = $3::uuid and state = 'due'
    and ((author in ('ai', 'system') and not $4::boolean) or (author = 'operator' and $5::boolean))
returning id, turn_id, author;

-- name: restamp_unsent
-- What stays on its way stays under the new version; its key never changes.
update outbound_message
set authority_version = $3::bigint
where account_id = $1::text and conversation_id = $2::uuid and state = 'due';

-- name: forbid_retry
-- On the wire or of unknown outcome: the mark only forbids any further attempt.
update outbound_message
set no_retry = true
where account_id = $1::text and conversation_id = $2::uuid and state in ('sending', 'uncertain')
    and (author in ('ai', 'system') or $3::boolean);

-- name: reopen_unbegun
-- A reply revoked before any part of it began leaves its messages unanswered.
update inbound_message m
set state = 'open', state_reason = null, turn_id = null
where m.account_id = $1::text and m.turn_id = any($2::uuid[]) and m.state = 'answered'
    and not exists (
        select from outbound_message o
        where o.account_id = m.account_id and o.turn_id = m.turn_id and o.attempt_count > 0);

-- name: find_unconfirmed
-- The sweep repeats a confirmation that a crash may have left out; those that still wait for a send are not read.
select c.account_id, c.id
from conversation c
where c.authority_state = 'HANDOFF_PENDING'
    and (c.authority_owner is not null or c.authority_reason = 'device_reply')
    and not exists (
        select from outbound_message o
        where o.account_id = c.account_id and o.conversation_id = c.id and o.state = 'sending'
            and o.author in ('ai', 'system'))
order by c.authority_since
limit $1::integer;

-- name: reopen_unanswered
-- A human's message that was revoked before it began answers nothing.
update inbound_message m
set state = 'open', state_reason = null, answered_by = null
where m.account_id = $1::text and m.answered_by = any($2::uuid[]) and m.state = 'answered';

-- name: cancel_follow_ups
-- A follow-up is bound to the authority under which it was scheduled.
update follow_up
set state = 'cancelled', reason = $4::text, ended_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and conversation_id = $3::uuid and state = 'scheduled';

-- name: read_owner
-- What an answer shows of the authority, with the owner's name and what is still unresolved.
select c.authority_state, c.authority_version, c.authority_owner, o.name as owner_name, c.authority_reason,
    c.authority_note, c.authority_since,
    (select count(*) from outbound_message m
     where m.account_id = c.account_id and m.conversation_id = c.id and m.state in ('sending', 'uncertain')
        and m.author in ('ai', 'system')) as unresolved_count
from conversation c
left join operator o on o.account_id = c.account_id and o.id = c.authority_owner
where c.account_id = $1::text and c.id = $2::uuid;

-- name: read_operator
-- A transfer names somebody who is there and may sign in.
select id, name, role
from operator
where account_id = $1::text and id = $2::uuid and disabled_at is null;

-- name: find_idle
-- Held by nobody's hand and quiet for long: back to the AI, where configured.
select account_id, id
from conversation
where authority_state = 'HUMAN_ACTIVE' and not held_by_hand
    and last_activity_at < (select coalesce($1::timestamptz, clock_timestamp())) - make_interval(secs => $2::float8)
order by last_activity_at
limit $3::integer;

-- name: keep_echo
-- Once per id, for ever; a second delivery of the same echo changes nothing.
insert into device_echo (account_id, channel, external_id, conversation_id, type, text, sent_at, received_at,
    decide_at, raw)
select $2::text, $3::text, $4::text, $5::uuid, $6::text, $7::text, $8::timestamptz, clock.now,
    clock.now + interval '3 seconds', $9::bytea
from (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
on conflict (account_id, channel, external_id) do nothing
returning channel, external_id, type, text, sent_at, received_at, decide_at;

-- name: find_due_echoes
-- Over, or overtaken by the answer of the attempt they waited for.
select distinct e.account_id, e.conversation_id
from device_echo e
where e.decide_at is not null
    and (e.decide_at <= (select coalesce($1::timestamptz, clock_timestamp()))
        or not exists (
            select from outbound_message o
            where o.account_id = e.account_id and o.conversation_id = e.conversation_id and o.state = 'sending'))
limit $2::integer;

-- name: read_waiting_echoes
-- Under the lock: what still waits for the id of an attempt, oldest first.
select channel, external_id, type, text, sent_at, received_at, decide_at
from device_echo
where account_id = $1::text and conversation_id = $2::uuid and decide_at is not null
order by received_at;

-- name: read_echo_facts
-- Ours: an id of a message or of any attempt, late ones included.
select
    exists (
        select from outbound_message o
        where o.account_id = $1::text and o.channel = $2::text and o.external_id = $3::text) as is_ours,
    exists (
        select from outbound_message o
        where o.account_id = $1::text and o.conversation_id = $4::uuid and o.state = 'sending') as is_sending;

-- name: wait_for_echo
-- AI sends of the conversation wait as long as the echo does.
update conversation
set echo_wait_until = greatest(echo_wait_until, $3::timestamptz)
where account_id = $1::text and id = $2::uuid;

-- name: end_echo_wait
-- Another echo of the conversation may still wait.
update conversation c
set echo_wait_until = (
    select max(e.decide_at) from device_echo e
    where e.account_id = c.account_id and e.conversation_id = c.id and e.decide_at is not null)
where c.account_id = $1::text and c.id = $2::uuid;

-- name: end_echo
-- Decided once; the outcome is kept for whoever asks why.
update device_echo
set decide_at = null, outcome = $4::text
where account_id = $1::text and channel = $2::text and external_id = $3::text;

-- name: keep_device_reply
-- The transcript shows what the business wrote from its own phone; the same echo is kept once.
insert into outbound_message (account_id, id, conversation_id, channel, author, key, text, state, authority_version,
    sealed_at, due_at, external_id, sent_at)
select $2::text, $3::uuid, $4::uuid, $5::text, 'device', 'device:' || $6::text, $7::text, 'sent', c.authority_version,
    clock.now, clock.now, $6::text, $8::timestamptz
from conversation c
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where c.account_id = $2::text and c.id = $4::uuid
on conflict (account_id, conversation_id, key) do nothing;

-- name: answer_until
-- A device reply answers everything up to its own time.
update inbound_message
set state = 'answered', state_reason = 'device_reply', turn_id = null
where account_id = $1::text and conversation_id = $2::uuid and state in ('open', 'claimed')
    and coalesce(sent_at, received_at) <= $3::timestamptz;
