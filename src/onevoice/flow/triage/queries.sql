-- name: lock_due_triage
-- The due time is also the lease: it moves on while a decider is asked, and comes back if nobody answers.
select c.account_id, c.id
from conversation c
where c.triage_due_at <= (select coalesce($1::timestamptz, clock_timestamp()))
order by c.triage_due_at
limit $2::integer
for update of c skip locked;

-- name: postpone_triage
-- The due time is the lease of whoever is asked.
update conversation c
set triage_due_at = (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $2::float8)
from unnest($3::text[], $4::uuid[]) as w (account_id, id)
where c.account_id = w.account_id and c.id = w.id;

-- name: read_held_replies
-- Unsent AI replies of locked conversations, by turn, in lane order. One that the channel refused for want of a
-- template has not begun: the customer saw nothing of it. One parked under an earlier authority is an operator's.
select o.account_id, o.conversation_id, o.turn_id as turn, min(o.seq) as seq,
    exists (
        select from outbound_message begun
        where begun.account_id = o.account_id and begun.turn_id = o.turn_id and begun.attempt_count > 0
            and not (begun.state = 'parked' and begun.reason = 'needs_template')) as has_begun,
    bool_or(o.wrote) as wrote,
    bool_or(o.state = 'parked') as is_parked,
    array_agg(o.text order by o.seq) as texts,
    (select t.open_since from turn t where t.account_id = o.account_id and t.id = o.turn_id) as open_since
from unnest($1::text[], $2::uuid[]) as wanted (account_id, id)
join conversation c on c.account_id = wanted.account_id and c.id = wanted.id
join outbound_message o on o.account_id = c.account_id and o.conversation_id = c.id
where o.author = 'ai' and (
    o.state = 'due'
    or (o.state = 'parked' and o.reason = 'needs_template' and o.authority_version = c.authority_version))
group by o.account_id, o.conversation_id, o.turn_id
order by o.account_id, o.conversation_id, min(o.seq);

-- name: read_overtaken
-- What the held replies answer.
select m.turn_id, coalesce(m.transcription, m.text) as text
from inbound_message m
where m.account_id = $1::text and m.turn_id = any($2::uuid[]) and m.state = 'answered'
order by m.seq;

-- name: read_newer
-- What arrived since: open messages of the conversation.
select coalesce(m.transcription, m.text) as text
from inbound_message m
where m.account_id = $1::text and m.conversation_id = $2::uuid and m.state = 'open'
order by m.seq
limit $3::integer;

-- name: give_up_parked
-- No ladder climbs for a parked reply, so that a decider that fails ends its triage at once: an operator decides.
update outbound_message o
set reason = 'triage_undecided'
from conversation c
where c.account_id = $1::text and c.id = $2::uuid and o.account_id = c.account_id and o.conversation_id = c.id
    and o.author = 'ai' and o.state = 'parked' and o.reason = 'needs_template'
    and o.authority_version = c.authority_version
returning o.account_id, o.conversation_id, o.id, o.author, o.state, o.reason;

-- name: cover_decided
-- The decision covers every arrival up to now, under the lock that counts them.
update conversation
set arrivals_decided = arrival_count
where account_id = $1::text and id = $2::uuid;
