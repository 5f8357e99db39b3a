-- name: find_conversations
-- More than one row: what was taken for two contacts is one.
select distinct c.conversation_id
from contact_alias c
where c.account_id = $1::text and c.channel = $2::text and c.alias = any($3::text[])
order by c.conversation_id;

-- name: move_inbound
-- The customer's messages go on in the conversation that is kept, with their order and times.
update inbound_message set conversation_id = $3::uuid where account_id = $1::text and conversation_id = $2::uuid;

-- name: move_outbound
-- An operator's key of one conversation may be another's: the merged one keeps its origin in the key.
update outbound_message o
set conversation_id = $3::uuid,
    key = case when exists (
        select from outbound_message kept
        where kept.account_id = o.account_id and kept.conversation_id = $3::uuid and kept.key = o.key)
        then $2::text || '/' || o.key else o.key end
where o.account_id = $1::text and o.conversation_id = $2::text::uuid;

-- name: move_turns
-- What was asked and answered stays with its messages.
update turn set conversation_id = $3::uuid where account_id = $1::text and conversation_id = $2::uuid;

-- name: move_effects
-- Of two equal untold calls the kept conversation's stands; the other is closed as told.
update effect e
set conversation_id = $3::uuid,
    told_at = case when e.told_at is null and exists (
        select from effect kept
        where kept.account_id = e.account_id and kept.conversation_id = $3::uuid and kept.key = e.key
            and kept.told_at is null and kept.state in ('awaiting', 'started', 'done'))
        then e.started_at else e.told_at end
where e.account_id = $1::text and e.conversation_id = $2::uuid;

-- name: move_notes
-- What operators noted about the customer.
update note set conversation_id = $3::uuid where account_id = $1::text and conversation_id = $2::uuid;

-- name: move_echoes
-- What the business wrote from its own phone.
update device_echo set conversation_id = $3::uuid where account_id = $1::text and conversation_id = $2::uuid;

-- name: move_suggestions
-- They hold no longer, since the version has moved on, but stay in the record.
update suggestion set conversation_id = $3::uuid where account_id = $1::text and conversation_id = $2::uuid;

-- name: move_follow_ups
-- They are cancelled when due, since the version has moved on, with the reason.
update follow_up set conversation_id = $3::uuid where account_id = $1::text and conversation_id = $2::uuid;

-- name: move_aliases
-- From now on every key of the customer leads to the conversation that is kept.
update contact_alias set conversation_id = $3::uuid where account_id = $1::text and conversation_id = $2::uuid;

-- name: keep_merged
-- Arrivals of both count; all of them are covered, since no reply of either is left unsent. What was held by hand stays
-- so, and an echo is judged by the later release of the two and waited for in both.
update conversation k
set authority_state = $4::text, authority_version = $5::bigint, authority_owner = $6::uuid, authority_reason = $7::text,
    authority_note = $8::text, authority_since = (select coalesce($1::timestamptz, clock_timestamp())),
    arrival_count = k.arrival_count + m.arrival_count, arrivals_decided = k.arrival_count + m.arrival_count,
    window_expires_at = greatest(k.window_expires_at, m.window_expires_at),
    last_inbound_at = greatest(k.last_inbound_at, m.last_inbound_at),
    held_by_hand = k.held_by_hand or m.held_by_hand,
    released_at = greatest(k.released_at, m.released_at),
    echo_wait_until = greatest(k.echo_wait_until, m.echo_wait_until),
    contact_name = coalesce(k.contact_name, m.contact_name),
    turn_due_at = null
from conversation m
where k.account_id = $2::text and k.id = $3::uuid and m.account_id = k.account_id and m.id = $9::uuid;

-- name: close_merged
-- The row stays: its id may still be on a screen or in a webhook under way.
update conversation
set merged_into = $4::uuid, authority_state = 'AI_SUSPENDED', authority_version = authority_version + 1,
    authority_owner = null, authority_reason = 'merged', open_since = null, turn_due_at = null, triage_due_at = null,
    outbox_due_at = null, suggestion_due_at = null, reply_waiting = false, echo_wait_until = null,
    media_wait_until = null, is_media_awaited = false,
    authority_since = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and id = $3::uuid;

-- name: find_stranded
-- A receive that had chosen the merged conversation before the merge was visible to it.
select account_id, id, merged_into
from conversation
where merged_into is not null and open_since is not null
order by account_id, id
limit $1::integer;
