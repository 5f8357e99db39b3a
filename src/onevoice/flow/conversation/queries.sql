-- name: lock_conversations
-- In a statement of its own and in id order: what is read after it was committed before it.
select c.account_id, c.id, c.channel, c.contact_address, c.contact_name, c.authority_state, c.authority_version,
       c.authority_owner, c.authority_reason, c.authority_note, c.authority_since, c.arrival_count, c.arrivals_decided, c.open_since,
       c.turn_due_at, c.running_turn_id, c.reply_waiting, c.lost_turn_count, c.agent_failure_count,
       c.agent_failing_since, c.window_expires_at, c.pair_spent_count, c.pair_spent_at, c.pair_slow_count,
       c.last_inbound_at, c.echo_wait_until, c.released_at, c.held_by_hand, c.last_activity_at,
       c.loop_started_at, c.loop_turn_count,
       (select coalesce($1::timestamptz, clock_timestamp())) as now
from unnest($2::text[], $3::uuid[]) as wanted (account_id, id)
join conversation c on c.account_id = wanted.account_id and c.id = wanted.id
order by c.account_id, c.id
for update of c;

-- name: refresh_conversations
-- Derives every timer from the rows, under the lock; run last in each transaction that changed them.
-- Undecided: an arrival that a waiting AI reply has not seen and no triage decision covers.
-- What an open message consists of is waited for until the oldest such deadline among them, beyond max_wait as well.
-- The head of the lane is the first due message behind nothing on the wire; an uncertain one
-- blocks only its own author. A human's words wait for a takeover that will be confirmed, not for one nobody has asked for.
with fact as (
    select c.account_id, c.id,
           opened.first_at, opened.silent_at, opened.wait_until, coalesce(opened.is_awaited, false) as is_awaited,
           coalesce(lane.is_sending, false) as is_sending,
           coalesce(reply.is_waiting, false) as is_waiting,
           coalesce(c.authority_state = 'AI_ACTIVE' and reply.is_waiting
               and c.arrival_count > greatest(c.arrivals_decided, reply.seen), false) as is_undecided,
           head.due_at as head_due_at,
           head.author as head_author
    from unnest($2::text[], $3::uuid[]) as wanted (account_id, id)
    join conversation c on c.account_id = wanted.account_id and c.id = wanted.id
    left join lateral (
        select min(m.received_at) as first_at,
            greatest(
                (array_agg(m.received_at + make_interval(secs => coalesce(m.window_seconds, $4::float8))
                    order by m.seq desc))[1],
                max(m.amended_at) + make_interval(secs => $4::float8)) as silent_at,
            min(m.wait_until) as wait_until, bool_or(m.is_awaited) as is_awaited
        from inbound_message m
        where m.account_id = c.account_id and m.conversation_id = c.id and m.state = 'open'
    ) opened on true
    left join lateral (
        select bool_or(true) as is_sending
        from outbound_message o
        where o.account_id = c.account_id and o.conversation_id = c.id and o.state = 'sending'
    ) lane on true
    left join lateral (
        select bool_or(true) as is_waiting, min(w.arrivals_seen) as seen
        from (
            select o.arrivals_seen
            from outbound_message o
            where o.account_id = c.account_id and o.conversation_id = c.id
                and o.state = 'due' and o.author = 'ai'
            union all
            select o.arrivals_seen
            from outbound_message o
            where o.account_id = c.account_id and o.conversation_id = c.id
                and o.state = 'parked' and o.author = 'ai' and o.reason = 'needs_template'
                and o.authority_version = c.authority_version
        ) w
    ) reply on true
    left join lateral (
        select o.due_at, o.author
        from outbound_message o
        where o.account_id = c.account_id and o.conversation_id = c.id
            and o.state = 'due'
            and not exists (
                select from outbound_message earlier
                where earlier.account_id = o.account_id and earlier.conversation_id = o.conversation_id
                    and earlier.state = 'uncertain' and earlier.author = o.author and earlier.seq < o.seq)
        order by o.seq
        limit 1
    ) head on true
)
update conversation c
set open_since = f.first_at,
    media_wait_until = f.wait_until,
    is_media_awaited = f.is_awaited,
    reply_waiting = f.is_waiting,
    turn_due_at = case
        when c.authority_state = 'AI_ACTIVE' and c.running_turn_id is null and not f.is_undecided
            and f.first_at is not null
        then greatest(
            least(f.silent_at, f.first_at + make_interval(secs => $5::float8)),
            c.turn_not_before,
            case when f.is_awaited then f.wait_until end)
    end,
    triage_due_at = case
        when f.is_undecided then coalesce(c.triage_due_at, (select coalesce($1::timestamptz, clock_timestamp())))
    end,
    outbox_due_at = case
        when f.is_sending or (f.head_author = 'operator' and c.authority_state = 'HANDOFF_PENDING'
            and (c.authority_owner is not null or c.authority_reason = 'device_reply')) then null
        when f.head_author in ('ai', 'system') then greatest(f.head_due_at, c.echo_wait_until)
        else f.head_due_at
    end
from fact f
where c.account_id = f.account_id and c.id = f.id
returning c.account_id, c.id,
    extract(epoch from c.turn_due_at - (select coalesce($1::timestamptz, clock_timestamp())))::float8 as turn_in,
    extract(epoch from c.outbox_due_at - (select coalesce($1::timestamptz, clock_timestamp())))::float8 as outbox_in,
    extract(epoch from c.triage_due_at - (select coalesce($1::timestamptz, clock_timestamp())))::float8 as triage_in;

-- name: record_entries
-- In the transaction of what it tells of: cause and record commit together.
insert into journal (account_id, at, kind, conversation_id, subject_id, state, reason, data)
select e.account_id, (select coalesce($1::timestamptz, clock_timestamp())), e.kind, e.conversation_id, e.subject_id,
       e.state, e.reason, e.data
from unnest($2::text[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::jsonb[])
    as e (account_id, kind, conversation_id, subject_id, state, reason, data);

-- name: touch_conversation
-- A human writes here: the list shows it as newest, and an idle return counts from here.
update conversation
set last_activity_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and id = $3::uuid;

-- name: set_authority
-- The version moves by exactly one under the lock; the caller decided on the row this replaces.
update conversation c
set authority_state = w.state, authority_version = c.authority_version + 1, authority_owner = w.owner,
    authority_reason = w.reason, authority_note = w.note,
    held_by_hand = w.held,
    released_at = case when w.state = 'AI_ACTIVE' then (select coalesce($1::timestamptz, clock_timestamp()))
        else c.released_at end,
    suggestion_due_at = null,
    authority_since = (select coalesce($1::timestamptz, clock_timestamp())),
    turn_due_at = null, lost_turn_count = 0, agent_failure_count = 0, agent_failing_since = null,
    turn_not_before = null,
    last_activity_at = (select coalesce($1::timestamptz, clock_timestamp()))
from unnest($2::text[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::boolean[])
    as w (account_id, id, state, owner, reason, note, held)
where c.account_id = w.account_id and c.id = w.id;
