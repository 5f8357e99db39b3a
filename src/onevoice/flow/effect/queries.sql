-- name: find_turn
-- Before the lock: which conversation must be locked. Rows: conversation_id.
select t.conversation_id
from turn t
where t.account_id = $1::text and t.id = $2::uuid;

-- name: find_effect
-- Before the lock: which conversation must be locked. Rows: conversation_id.
select e.conversation_id
from effect e
where e.account_id = $1::text and e.id = $2::uuid;

-- name: read_effect
-- Under the lock of its conversation, which may have become another one since it was found.
select e.conversation_id, e.id, e.turn_id, e.authority_version, e.tool, e.key, e.state, e.retry_safe, e.reason, e.result
from effect e
where e.account_id = $1::text and e.id = $2::uuid;

-- name: read_untold
-- Under the lock: what began and the customer has not been told, and what waits for approval.
select e.id, e.turn_id, e.authority_version, e.tool, e.key, e.state, e.retry_safe, e.reason, e.result
from effect e
where e.account_id = $1::text and e.conversation_id = $2::uuid and e.told_at is null
    and e.state in ('awaiting', 'started', 'done')
order by e.started_at, e.id;

-- name: keep_effect
-- I3: the unique index on the key admits one of equal calls; the deadline is the database clock's.
insert into effect (account_id, id, conversation_id, turn_id, authority_version, tool, args, key, retry_safe, state,
    reason, started_at, not_after, finished_at)
select $2::text, $3::uuid, $4::uuid, $5::uuid, $6::bigint, $7::text, $8::jsonb, $9::text, $10::boolean, $11::text,
    $12::text, clock.now, clock.now + make_interval(secs => $13::float8),
    case when $11::text = 'refused' then clock.now end
from (select coalesce($1::timestamptz, clock_timestamp()) as now) clock;

-- name: begin_effect
-- Again, or for the first time after its approval: under this turn, with a new deadline.
update effect
set state = 'started', turn_id = $4::uuid, authority_version = $5::bigint,
    not_after = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $6::float8)
where account_id = $2::text and id = $3::uuid and state in ('awaiting', 'started');

-- name: refuse_effect
-- What waited for approval ends without having begun.
update effect
set state = 'refused', reason = $4::text, finished_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and id = $3::uuid and state = 'awaiting';

-- name: end_effect
-- An outcome that comes after its turn's reply was sent is told already.
update effect e
set state = $4::text, reason = $5::text, result = $6::jsonb, finished_at = clock.now,
    told_at = case when exists (
        select from outbound_message o
        where o.account_id = e.account_id and o.turn_id = e.turn_id and o.sent_at is not null) then clock.now end
from (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where e.account_id = $2::text and e.id = $3::uuid and e.state = 'started';

-- name: read_turn_writes
-- Under the locks, for turns that end: what the conversation has untold, what the turn was refused, what it left open.
select w.turn_id, u.wrote, own.refused_reason, own.unknown_tool
from unnest($1::text[], $2::uuid[], $3::uuid[]) as w (account_id, conversation_id, turn_id)
cross join lateral (
    select exists (
        select from effect e
        where e.account_id = w.account_id and e.conversation_id = w.conversation_id and e.told_at is null
            and e.turn_id is not null and e.state in ('started', 'done')) as wrote
) u
cross join lateral (
    select (array_agg(e.reason order by e.started_at, e.id) filter (where e.state = 'refused'))[1] as refused_reason,
        min(e.tool) filter (where e.state = 'started' and not e.retry_safe) as unknown_tool
    from effect e
    where e.account_id = w.account_id and e.turn_id = w.turn_id
) own;

-- name: note_told
-- A reply tells of its own turn's effects and of earlier turns'; an operator's message of all that began before it.
-- Versions and arrivals only grow: they tell which turn was earlier where a clock that was set back does not.
-- What is still under way is told of when it is over, or given up for unknown.
update effect e
set told_at = clock.now
from unnest($2::text[], $3::uuid[]) as w (account_id, id)
join outbound_message o on o.account_id = w.account_id and o.id = w.id
left join turn t on t.account_id = o.account_id and t.id = o.turn_id
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where e.account_id = o.account_id and e.conversation_id = o.conversation_id and e.told_at is null
    and (e.state in ('done', 'failed', 'refused')
        or (e.state = 'started' and e.not_after + make_interval(secs => $4::float8) < clock.now))
    and case
        when o.author = 'operator' then e.started_at <= o.sealed_at
        when o.author = 'ai' and e.turn_id is null then e.started_at < t.started_at
        when o.author = 'ai' then exists (
            select from turn began
            where began.account_id = e.account_id and began.id = e.turn_id
                and (began.authority_version, began.arrivals_seen, began.started_at, began.id)
                    <= (t.authority_version, t.arrivals_seen, t.started_at, t.id))
        else false
    end;
