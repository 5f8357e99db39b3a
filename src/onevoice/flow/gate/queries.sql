-- name: answer_messages
-- A message amended after its turn read it is not answered by that turn: it is open again. Arrivals tell it, not clocks.
update inbound_message m
set state = case when m.amended_arrival > t.arrivals_seen then 'open' else 'answered' end,
    state_reason = case when m.amended_arrival > t.arrivals_seen then null else w.reason end
from unnest($1::text[], $2::uuid[], $3::text[]) as w (account_id, turn_id, reason)
join turn t on t.account_id = w.account_id and t.id = w.turn_id
where m.account_id = w.account_id and m.turn_id = w.turn_id and m.state = 'claimed';

-- name: seal_messages
-- I3: the key is fixed here. The identity column makes the lane's order; rows come in part order.
insert into outbound_message (account_id, id, conversation_id, channel, author, turn_id, key, part, part_count, text,
    payload, state, reason, authority_version, arrivals_seen, wrote, sealed_at, due_at, ended_at)
select s.account_id, s.id, s.conversation_id, s.channel, s.author, s.turn_id, s.key, s.part, s.part_count, s.text,
    s.payload,
    case when s.parks then 'parked' else 'due' end,
    case when s.parks then 'needs_template' end,
    s.authority_version, s.arrivals_seen, s.wrote, clock.now, clock.now + make_interval(secs => $2::float8), null
from unnest($3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::uuid[], $9::text[], $10::integer[],
            $11::integer[], $12::text[], $13::jsonb[], $14::boolean[], $15::bigint[], $16::bigint[], $17::boolean[])
    with ordinality
    as s (account_id, id, conversation_id, channel, author, turn_id, key, part, part_count, text, payload,
          parks, authority_version, arrivals_seen, wrote, ord)
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
order by s.ord;

-- name: note_agent_outcome
-- Success forgets earlier failures; a failure postpones the next turn of this conversation. The earliest instant counts:
-- a clock that is set back does not lengthen how long a provider's failures are borne.
update conversation c
set agent_failure_count = case when w.failed then c.agent_failure_count + 1 else 0 end,
    agent_failing_since = case when w.failed then least(c.agent_failing_since, clock.now) end,
    lost_turn_count = 0,
    turn_not_before = clock.now + make_interval(secs => w.retry_in),
    last_activity_at = clock.now
from unnest($2::text[], $3::uuid[], $4::boolean[], $5::float8[]) as w (account_id, id, failed, retry_in)
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where c.account_id = w.account_id and c.id = w.id;

-- name: seal_notice
-- Under the version the transition has just made; one notice per turn.
insert into outbound_message (account_id, id, conversation_id, channel, author, key, text, state, authority_version,
    sealed_at, due_at)
select $2::text, $3::uuid, $4::uuid, $5::text, 'system', $6::text, $7::text, 'due', c.authority_version, clock.now,
    clock.now
from conversation c
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where c.account_id = $2::text and c.id = $4::uuid
on conflict (account_id, conversation_id, key) do nothing;
