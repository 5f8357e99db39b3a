-- name: find_by_key
-- Keys are per conversation: the same key is the same message, whatever happened to it since. The first part
-- tells how many there are, so that a key that only begins like this one is not taken for it.
select o.id, o.text, o.payload, o.part
from outbound_message head
cross join generate_series(1, head.part_count) as number
join outbound_message o on o.account_id = head.account_id and o.conversation_id = head.conversation_id
    and o.key = $3::text || ':' || number
where head.account_id = $1::text and head.conversation_id = $2::uuid and head.key = $3::text || ':1'
order by o.part;

-- name: find_seen
-- By our id or by the channel's own.
select seq
from inbound_message
where account_id = $1::text and conversation_id = $2::uuid and (id::text = $3::text or external_id = $3::text)
order by seq desc
limit 1;

-- name: seal_operator_messages
-- In part order, so that the identity column makes the lane's order; leaves as soon as the lane is free.
insert into outbound_message (account_id, id, conversation_id, channel, author, operator_id, key, part, part_count,
    text, payload, state, authority_version, sealed_at, due_at)
select $2::text, w.id, $3::uuid, $4::text, $5::text, $6::uuid, $7::text || ':' || w.part, w.part, $8::integer, w.text,
    w.payload, 'due', $9::bigint, clock.now, clock.now
from unnest($10::uuid[], $11::integer[], $12::text[], $13::jsonb[]) as w (id, part, text, payload)
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
order by w.part;

-- name: answer_seen
-- What the operator had on the screen is answered by this message; what came later stays open.
update inbound_message
set state = 'answered', state_reason = 'operator', answered_by = $3::uuid
where account_id = $1::text and conversation_id = $2::uuid and state = 'open' and seq <= $4::bigint;

-- name: find_suggestion
-- Current means: nothing moved on since it was made. One that is named is found in any state: a repeated call
-- must find the words it sent.
select s.id, s.text, s.state
from suggestion s
join conversation c on c.account_id = s.account_id and c.id = s.conversation_id
where s.account_id = $1::text and s.conversation_id = $2::uuid
    and (s.id = $3::uuid or ($3::uuid is null and s.state = 'open'
        and s.authority_version = c.authority_version and s.arrivals_seen = c.arrival_count))
order by s.created_at desc
limit 1;

-- name: end_suggestion
-- How much an operator changed is counted once.
update suggestion
set state = $3::text, outbound_id = $4::uuid
where account_id = $1::text and id = $2::uuid;

-- name: keep_note
-- Seen by operators only.
insert into note (account_id, id, conversation_id, operator_id, text, created_at)
values ($2::text, $3::uuid, $4::uuid, $5::uuid, $6::text, (select coalesce($1::timestamptz, clock_timestamp())));

-- name: keep_follow_up
-- With the version and the arrivals it is bound to.
insert into follow_up (account_id, id, conversation_id, operator_id, text, not_before, authority_version, arrivals_seen,
    created_at)
values ($2::text, $3::uuid, $4::uuid, $5::uuid, $6::text, $7::timestamptz, $8::bigint, $9::bigint,
    (select coalesce($1::timestamptz, clock_timestamp())));

-- name: find_outbound
-- Which conversation to lock; nothing is decided on this look.
select conversation_id
from outbound_message
where account_id = $1::text and id = $2::uuid;

-- name: read_outbound
-- Under the lock of its conversation.
select o.account_id, o.conversation_id, o.id, o.state, o.reason, o.text, o.payload, o.author, o.turn_id
from outbound_message o
where o.account_id = $1::text and o.id = $2::uuid;

-- name: discard_outbound
-- The operator's word ends every doubt about it.
update outbound_message
set state = 'cancelled', reason = 'discarded_by_operator', uncertain_until = null,
    ended_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and id = $3::uuid
returning account_id, conversation_id, id, author, state, reason;

-- name: close_discarded
-- What the customer asked counts as answered no more, unless another part of the reply went out or still may.
update inbound_message m
set state = 'cancelled', state_reason = 'discarded_by_operator'
from outbound_message o
where o.account_id = $1::text and o.id = $2::uuid
    and m.account_id = o.account_id and m.turn_id = o.turn_id and m.state = 'answered'
    and not exists (select from outbound_message part
        where part.account_id = o.account_id and part.turn_id = o.turn_id
            and part.state not in ('cancelled', 'superseded', 'revoked'));

-- name: claim_follow_ups
-- Only a look: each is decided under its conversation's lock.
select account_id, conversation_id, id
from follow_up
where state = 'scheduled' and not_before <= (select coalesce($1::timestamptz, clock_timestamp()))
order by not_before
limit $2::integer;

-- name: read_follow_up
-- Under the lock of its conversation.
select id, text, operator_id, authority_version, arrivals_seen, state
from follow_up
where account_id = $1::text and id = $2::uuid;

-- name: end_follow_up
-- Sealed or cancelled, once, with the reason.
update follow_up
set state = $4::text, reason = $5::text, ended_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and id = $3::uuid and state = 'scheduled';

-- name: count_messages
-- Guards the limit of one operator's queue in a conversation.
select count(*)::integer as waiting
from outbound_message
where account_id = $1::text and conversation_id = $2::uuid and state = 'due';
