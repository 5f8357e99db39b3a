-- name: lock_due_conversations
-- SKIP LOCKED keeps two workers off one conversation; a skipped one is due again at the next look.
select c.account_id, c.id
from conversation c
where c.turn_due_at <= (select coalesce($1::timestamptz, clock_timestamp()))
order by c.turn_due_at
limit $2::integer
for update of c skip locked;

-- name: read_open_messages
-- Read after the lock was taken in a statement of its own: nothing commits a message unseen by this.
-- With each conversation's latest reply, to see how often a new burst follows one at once.
select m.account_id, m.conversation_id, m.id, m.external_id, m.received_at, m.window_rule, reply.sent_at as replied_at
from unnest($1::text[], $2::uuid[]) as wanted (account_id, id)
left join lateral (
    select r.sent_at
    from outbound_message r
    where r.account_id = wanted.account_id and r.conversation_id = wanted.id and r.sent_at is not null
    order by r.seq desc
    limit 1
) reply on true
cross join lateral (
    select o.account_id, o.conversation_id, o.id, o.external_id, o.received_at, o.seq, o.window_rule
    from inbound_message o
    where o.account_id = wanted.account_id and o.conversation_id = wanted.id and o.state = 'open'
    order by o.seq
    limit $3::integer
) m
order by m.account_id, m.conversation_id, m.seq;

-- name: start_turns
-- With exactly the messages it will read, not a high-water mark: one that commits late is not closed unseen.
insert into turn (account_id, id, conversation_id, state, attempt, authority_version, while_running,
    configuration_version, message_ids, arrivals_seen, open_since, worker, started_at, lease_until)
select t.account_id, t.id, t.conversation_id, 'running', t.attempt, t.authority_version, $2::text, $3::text,
    array(select m.id from unnest($12::uuid[], $13::uuid[]) as m (turn_id, id) where m.turn_id = t.id),
    t.arrivals_seen, t.open_since, $4::text, (select coalesce($1::timestamptz, clock_timestamp())),
    (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $5::float8)
from unnest($6::text[], $7::uuid[], $8::uuid[], $9::integer[], $10::bigint[], $11::bigint[], $14::timestamptz[])
    as t (account_id, id, conversation_id, attempt, authority_version, arrivals_seen, open_since);

-- name: claim_messages
-- Open ones only: what was withdrawn between the look and this statement stays so.
update inbound_message m
set state = 'claimed', turn_id = w.turn_id
from unnest($1::text[], $2::uuid[], $3::uuid[]) as w (account_id, id, turn_id)
where m.account_id = w.account_id and m.id = w.id and m.state = 'open';

-- name: set_running
-- The turns of the current minute are counted beside it: a conversation with another bot knows no end. A minute that
-- begins in the future is none: the clock was set back, and it would last until then.
update conversation c
set running_turn_id = w.turn_id, turn_due_at = null,
    loop_turn_count = case when c.loop_started_at between clock.now - interval '1 minute' and clock.now
        then c.loop_turn_count + 1 else 1 end,
    loop_started_at = case when c.loop_started_at between clock.now - interval '1 minute' and clock.now
        then c.loop_started_at else clock.now end
from unnest($2::text[], $3::uuid[], $4::uuid[]) as w (account_id, id, turn_id)
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where c.account_id = w.account_id and c.id = w.id;

-- name: renew_leases
-- Those not returned have ended meanwhile: their worker learns it and stops. One that is being ended right now is
-- passed over: waiting for it while holding others could deadlock with the transaction that ends them.
with wanted as (
    select t.account_id, t.id
    from unnest($3::text[], $4::uuid[]) as w (account_id, id)
    join turn t on t.account_id = w.account_id and t.id = w.id
    where t.state = 'running'
), free as (
    select t.account_id, t.id
    from wanted w
    join turn t on t.account_id = w.account_id and t.id = w.id
    where t.state = 'running'
    for update of t skip locked
), renewed as (
    update turn t
    set lease_until = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $2::float8)
    from free f
    where t.account_id = f.account_id and t.id = f.id
)
select account_id, id
from wanted;

-- name: find_lost_turns
-- Only a look: each is decided under its conversation's lock.
select account_id, conversation_id, id
from turn
where state = 'running' and lease_until < (select coalesce($1::timestamptz, clock_timestamp()))
order by lease_until
limit $2::integer;

-- name: read_turns
-- Under the lock of their conversations.
select t.account_id, t.id, t.conversation_id, t.state, t.reason, t.attempt, t.authority_version, t.while_running,
    t.arrivals_seen, t.open_since, t.message_ids, t.lease_until,
    (select coalesce($1::timestamptz, clock_timestamp())) as now
from unnest($2::text[], $3::uuid[]) as wanted (account_id, id)
join turn t on t.account_id = wanted.account_id and t.id = wanted.id;

-- name: lock_turn
-- Leases are renewed without the conversation's lock: the turn's own row is locked before its lease is judged.
select t.state, t.lease_until, (select coalesce($1::timestamptz, clock_timestamp())) as now
from turn t
where t.account_id = $2::text and t.id = $3::uuid
for update of t;

-- name: end_turns
-- Only a running turn ends, and only once; the reason is kept for whoever returns late.
update turn t
set state = w.state, reason = w.reason, wrote = w.wrote, confidence = w.confidence, usage = w.usage,
    ended_at = (select coalesce($1::timestamptz, clock_timestamp()))
from unnest($2::text[], $3::uuid[], $4::text[], $5::text[], $6::boolean[], $7::float8[], $8::jsonb[])
    as w (account_id, id, state, reason, wrote, confidence, usage)
where t.account_id = w.account_id and t.id = w.id and t.state = 'running';

-- name: free_messages
-- What a turn claimed and did not answer is open again, with its original time.
update inbound_message m
set state = 'open', turn_id = null
from unnest($1::text[], $2::uuid[]) as w (account_id, turn_id)
where m.account_id = w.account_id and m.turn_id = w.turn_id and m.state = 'claimed';

-- name: clear_running
-- Only its own: a turn that returns late never frees another.
update conversation c
set running_turn_id = null
from unnest($1::text[], $2::uuid[], $3::uuid[]) as w (account_id, id, turn_id)
where c.account_id = w.account_id and c.id = w.id and c.running_turn_id = w.turn_id;

-- name: count_lost
-- The burst itself may be what kills its workers; after so many a human must look.
update conversation
set lost_turn_count = lost_turn_count + 1
where account_id = $1::text and id = $2::uuid;
