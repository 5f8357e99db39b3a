-- name: lock_due_lanes
-- SKIP LOCKED keeps two dispatchers off one lane; a skipped one is due again at the next look.
select c.account_id, c.id
from conversation c
where c.outbox_due_at <= (select coalesce($1::timestamptz, clock_timestamp()))
order by c.outbox_due_at
limit $2::integer
for update of c skip locked;

-- name: read_heads
-- The first due message of each locked lane, unless something is on the wire; an uncertain one blocks its own author.
select o.account_id, o.conversation_id, o.id, o.channel, o.author, o.turn_id, o.key, o.part, o.text, o.state,
    o.authority_version, o.arrivals_seen, o.wrote, o.due_at, o.hold_try_count, o.attempt_count, o.no_retry,
    o.external_id, o.reason, o.payload, o.upload_try_count,
    h.kind as channel_kind, h.paused_at is not null as channel_paused, h.slow_until,
    m.id as media_id, m.kind as media_kind, m.mime_type, m.size_bytes, m.filename,
    u.external_id as uploaded_as, u.uploaded_at,
    (select coalesce($1::timestamptz, clock_timestamp())) as now
from unnest($2::text[], $3::uuid[]) as wanted (account_id, id)
cross join lateral (
    select head.*
    from outbound_message head
    where head.account_id = wanted.account_id and head.conversation_id = wanted.id and head.state = 'due'
        and not exists (
            select from outbound_message earlier
            where earlier.account_id = wanted.account_id and earlier.conversation_id = wanted.id
                and (earlier.state = 'sending'
                    or (earlier.state = 'uncertain' and earlier.author = head.author and earlier.seq < head.seq)))
    order by head.seq
    limit 1
) o
left join channel h on h.account_id = o.account_id and h.name = o.channel
left join media m on m.account_id = o.account_id and m.id = (o.payload ->> 'media')::uuid
left join media_upload u on u.account_id = m.account_id and u.media_id = m.id and u.channel = o.channel;

-- name: forget_uploads
-- Too old to be used again. In one order, so that two batches never wait for each other's files.
update media_upload
set uploaded_at = to_timestamp(0)
where (account_id, media_id, channel) in (
    select u.account_id, u.media_id, u.channel
    from unnest($1::text[], $2::uuid[]) as w (account_id, id)
    join outbound_message o on o.account_id = w.account_id and o.id = w.id
    join media_upload u on u.account_id = o.account_id and u.media_id = (o.payload ->> 'media')::uuid
        and u.channel = o.channel
    order by u.account_id, u.media_id, u.channel
    for update of u);

-- name: lease_uploads
-- The head stays the head: what follows waits behind it, and a process that dies in the upload only delays it.
update outbound_message o
set due_at = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => w.seconds),
    upload_try_count = o.upload_try_count + 1
from unnest($2::text[], $3::uuid[], $4::float8[]) as w (account_id, id, seconds)
where o.account_id = w.account_id and o.id = w.id and o.state = 'due';

-- name: keep_upload
-- The newest id is good the longest.
insert into media_upload (account_id, media_id, channel, external_id, uploaded_at)
values ($2::text, $3::uuid, $4::text, $5::text, (select coalesce($1::timestamptz, clock_timestamp())))
on conflict (account_id, media_id, channel)
do update set external_id = excluded.external_id, uploaded_at = excluded.uploaded_at;

-- name: end_lease
-- The file is with the channel: its message leaves as soon as the lane is free.
update outbound_message
set due_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and id = $3::uuid and state = 'due' and upload_try_count = $4::integer;

-- name: start_attempts
-- The attempt is durable before the first byte leaves; its number joins every later word about it.
with started as (
    update outbound_message o
    set state = 'sending', reason = null, attempt_count = o.attempt_count + 1,
        not_after = clock.now + make_interval(secs => $2::float8)
    from unnest($3::text[], $4::uuid[]) as w (account_id, id)
    cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
    where o.account_id = w.account_id and o.id = w.id and o.state = 'due'
    returning o.account_id, o.id, o.attempt_count, o.not_after, clock.now
)
insert into attempt (account_id, outbound_id, attempt, started_at, not_after)
select account_id, id, attempt_count, now, not_after
from started
returning account_id, outbound_id, attempt;

-- name: spend_pair_credit
-- The pair's burst is borrowed and paid back with time (wire format 1.14).
update conversation c
set pair_spent_count = w.spent, pair_spent_at = (select coalesce($1::timestamptz, clock_timestamp()))
from unnest($2::text[], $3::uuid[], $4::float8[]) as w (account_id, id, spent)
where c.account_id = w.account_id and c.id = w.id;

-- name: hold_messages
-- Looked at again then; only a try of the hold ladder is counted.
update outbound_message o
set due_at = w.until, hold_try_count = o.hold_try_count + case when w.counts then 1 else 0 end
from unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::boolean[]) as w (account_id, id, until, counts)
where o.account_id = w.account_id and o.id = w.id and o.state = 'due';

-- name: drop_messages
-- A reply leaves whole: what becomes of the head becomes of every later part that has not begun.
update outbound_message o
set state = w.state, reason = w.reason, ended_at = (select coalesce($1::timestamptz, clock_timestamp()))
from unnest($2::text[], $3::uuid[], $4::text[], $5::text[]) as w (account_id, id, state, reason)
join outbound_message head on head.account_id = w.account_id and head.id = w.id
where o.account_id = w.account_id and o.conversation_id = head.conversation_id and o.state = 'due'
    and (o.id = head.id or (o.turn_id = head.turn_id and o.seq > head.seq))
returning o.account_id, o.conversation_id, o.id, o.author, o.turn_id, o.state, o.reason;

-- name: cover_arrivals
-- Parking ends the triage: what arrived since becomes a turn of its own.
update conversation c
set arrivals_decided = c.arrival_count
from unnest($1::text[], $2::uuid[]) as w (account_id, id)
where c.account_id = w.account_id and c.id = w.id;

-- name: read_messages
-- Under the lock of their conversations.
select o.account_id, o.conversation_id, o.id, o.channel, o.author, o.turn_id, o.key, o.part, o.text, o.state,
    o.authority_version, o.arrivals_seen, o.wrote, o.due_at, o.hold_try_count, o.attempt_count, o.no_retry,
    o.external_id, o.reason, o.payload, o.upload_try_count, o.not_after, o.uncertain_until, (select coalesce($1::timestamptz, clock_timestamp())) as now
from unnest($2::text[], $3::uuid[]) as wanted (account_id, id)
join outbound_message o on o.account_id = wanted.account_id and o.id = wanted.id;

-- name: finish_attempts
-- Outcomes are kept per attempt, late ones included.
update attempt a
set outcome = w.outcome, external_id = w.external_id, error_code = w.error_code, error_detail = w.error_detail,
    finished_at = (select coalesce($1::timestamptz, clock_timestamp()))
from unnest($2::text[], $3::uuid[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[])
    as w (account_id, outbound_id, attempt, outcome, external_id, error_code, error_detail)
where a.account_id = w.account_id and a.outbound_id = w.outbound_id and a.attempt = w.attempt
    and (a.outcome is null or a.outcome in ('unknown', 'expired'));

-- name: save_outcomes
-- An operator's message that goes back into the lane goes on under the authority of now; a revoked one has no_retry,
-- and an AI's of an earlier authority is not tried again.
update outbound_message o
set state = w.state, reason = w.reason,
    authority_version = case when w.state = 'due' and o.author = 'operator' then c.authority_version
        else o.authority_version end,
    external_id = coalesce(w.external_id, o.external_id),
    error_code = w.error_code, error_detail = w.error_detail,
    due_at = case when w.due_in is not null then clock.now + make_interval(secs => w.due_in) else o.due_at end,
    not_after = null,
    uncertain_until = case when w.state = 'uncertain'
        then clock.now + make_interval(secs => $2::float8) end,
    sent_at = case when w.state = 'sent' then coalesce(o.sent_at, clock.now) else o.sent_at end,
    ended_at = case when w.state in ('failed', 'parked', 'revoked') then clock.now end
from unnest($3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::float8[])
    as w (account_id, id, state, reason, external_id, error_code, error_detail, due_in)
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
cross join conversation c
where o.account_id = w.account_id and o.id = w.id
    and c.account_id = o.account_id and c.id = o.conversation_id;

-- name: pace_next_part
-- The next part of the same reply keeps its distance from the one that left; from now at the latest, since a status may
-- have dated that one by the channel's clock. Found row by row: a join over tables that have never been analysed was
-- planned as a product of all messages (1.2 s for 100 of 1,000).
update outbound_message n
set due_at = greatest(n.due_at,
    least(p.sent_at, (select coalesce($1::timestamptz, clock_timestamp()))) + make_interval(secs => $2::float8))
from (
    select next.account_id, next.id, o.sent_at
    from unnest($3::text[], $4::uuid[]) as w (account_id, id)
    cross join lateral (
        select s.account_id, s.turn_id, s.part, s.sent_at
        from outbound_message s
        where s.account_id = w.account_id and s.id = w.id and s.part < s.part_count
        limit 1
    ) o
    cross join lateral (
        select f.account_id, f.id
        from outbound_message f
        where f.account_id = o.account_id and f.turn_id = o.turn_id and f.part = o.part + 1 and f.state = 'due'
        limit 1
    ) next
) p
where n.account_id = p.account_id and n.id = p.id;

-- name: drop_later_parts
-- A reply that stopped in the middle does not go on with what follows the missing part; it waits for the same template.
update outbound_message n
set state = 'parked',
    reason = case when o.state = 'parked' and o.reason = 'needs_template' then o.reason
        else 'earlier_part_' || o.state end,
    ended_at = (select coalesce($1::timestamptz, clock_timestamp()))
from unnest($2::text[], $3::uuid[]) as w (account_id, id)
join outbound_message o on o.account_id = w.account_id and o.id = w.id
where n.account_id = o.account_id and n.conversation_id = o.conversation_id and n.turn_id = o.turn_id
    and n.state = 'due' and n.seq > o.seq
returning n.account_id, n.conversation_id, n.id, n.author, n.state, n.reason;

-- name: note_send
-- A refusal for the pair's rate lengthens the next wait; a success forgets it.
update conversation c
set pair_slow_count = case when w.was_slow then c.pair_slow_count + 1 when w.was_sent then 0 else c.pair_slow_count end,
    last_activity_at = (select coalesce($1::timestamptz, clock_timestamp()))
from unnest($2::text[], $3::uuid[], $4::boolean[], $5::boolean[]) as w (account_id, id, was_slow, was_sent)
where c.account_id = w.account_id and c.id = w.id;

-- name: learn_aliases
-- The channel's answer may name the customer by another id than the one we sent to.
insert into contact_alias (account_id, channel, alias, conversation_id)
select distinct w.account_id, w.channel, w.alias, w.conversation_id
from unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) as w (account_id, channel, alias, conversation_id)
order by w.account_id, w.channel, w.alias
on conflict (account_id, channel, alias) do nothing;

-- name: pause_channel
-- The first error that stopped the number is the one an admin has to clear.
update channel
set paused_reason = coalesce(paused_reason, $4::text),
    paused_at = coalesce(paused_at, (select coalesce($1::timestamptz, clock_timestamp())))
where account_id = $2::text and name = $3::text;

-- name: slow_channel
-- Several answers may slow the number; the longest wait holds.
update channel
set slow_until = greatest(slow_until,
    (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $4::float8))
where account_id = $2::text and name = $3::text;

-- name: find_expired_sends
-- An attempt leaves `sending` by its owner, by evidence, or here: deadline plus quarantine.
select account_id, conversation_id, id
from outbound_message
where state = 'sending'
    and not_after + make_interval(secs => $2::float8) < (select coalesce($1::timestamptz, clock_timestamp()))
order by not_after
limit $3::integer;

-- name: find_expired_uncertain
-- No evidence came within the wait; decided under the lock.
select account_id, conversation_id, id
from outbound_message
where state = 'uncertain' and uncertain_until < (select coalesce($1::timestamptz, clock_timestamp()))
order by uncertain_until
limit $2::integer;

-- name: drop_replies
-- Only what has not begun: the parts of a begun reply are never among these turns.
update outbound_message
set state = $4::text, reason = $5::text, ended_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and turn_id = any($3::uuid[]) and author = 'ai'
    and (state = 'due' or (state = 'parked' and reason = 'needs_template'))
returning account_id, conversation_id, id, author, state, reason;

-- name: reopen_messages
-- Open again with their original times, as if they had never been answered.
update inbound_message
set state = 'open', state_reason = null, turn_id = null
where account_id = $1::text and turn_id = any($2::uuid[]) and state = 'answered';

-- name: cancel_messages
-- Their reply was dropped because the customer took the request back.
update inbound_message
set state = 'cancelled', state_reason = $3::text
where account_id = $1::text and turn_id = any($2::uuid[]) and state = 'answered';

-- name: find_parked_replies
-- AI replies parked for want of an open window under this authority, in the order in which they were sealed.
select o.id
from conversation c
join outbound_message o on o.account_id = c.account_id and o.conversation_id = c.id
where c.account_id = $1::text and c.id = $2::uuid and o.author = 'ai' and o.state = 'parked'
    and o.reason = 'needs_template' and o.authority_version = c.authority_version
order by o.seq;

-- name: reseal_message
-- Sealed again at the tail of the lane, under the current version; its key stays.
update outbound_message o
set state = 'due', reason = null, seq = default, ended_at = null, hold_try_count = 0, upload_try_count = 0,
    no_retry = false, error_code = null, error_detail = null, sent_at = null,
    authority_version = c.authority_version, arrivals_seen = c.arrival_count,
    due_at = (select coalesce($1::timestamptz, clock_timestamp()))
from conversation c
where o.account_id = $2::text and o.id = $3::uuid and o.state = 'parked'
    and c.account_id = o.account_id and c.id = o.conversation_id
returning o.account_id, o.conversation_id, o.id, o.author, o.state, o.reason;
