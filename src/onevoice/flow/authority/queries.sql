-- name: read_in_flight
-- An AI send that has begun and is unresolved. A human's own send never delays a takeover.
select o.id
from outbound_message o
where o.account_id = $1::text and o.conversation_id = $2::uuid and o.state = 'sending' and o.author in ('ai', 'system')
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
-- The sweep repeats a confirmation that a crash may have left out.
select account_id, id
from conversation
where authority_state = 'HANDOFF_PENDING' and (authority_owner is not null or authority_reason = 'device_reply')
order by authority_since
limit $1::integer;
