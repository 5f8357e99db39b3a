-- name: receive_messages
-- One statement, one round trip: messages once for ever, then conversations in id order with their arrivals and timers.
-- The timer and triage are decided from columns of the row this statement locks, never from others.
with clock as materialized (
    select coalesce($1::timestamptz, clock_timestamp()) as now
), item as (
    select i.*, f.id as media_id, f.kind as media_kind, f.external_id as media_external_id, f.claimed_type,
        f.claimed_sha256, f.filename, f.is_transcribed,
        clock.now + make_interval(secs => f.wait_seconds) as wait_until
    from unnest($2::text[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::text[], $8::boolean[], $9::text[],
                $10::boolean[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::boolean[],
                $17::text[], $18::timestamptz[], $19::timestamptz[], $20::bytea[], $27::float8[], $28::text[])
        with ordinality
        as i (account_id, channel, external_id, id, derived_id, contact_address, replaces_address, contact_name,
              is_arrival, state, state_reason, type, text, target_external_id, target_pending,
              reply_to_external_id, sent_at, window_expires_at, raw, window_seconds, window_rule, ord)
    cross join clock
    -- Few messages carry a file: these arrays are empty for all others.
    left join unnest($29::bigint[], $30::uuid[], $31::text[], $32::text[], $33::text[], $34::bytea[], $35::text[],
                     $36::boolean[], $37::float8[])
        as f (ord, id, kind, external_id, claimed_type, claimed_sha256, filename, is_transcribed, wait_seconds)
        on f.ord = i.ord
), alias as (
    select a.ord, a.position, a.alias, i.account_id, i.channel
    from unnest($21::bigint[], $22::integer[], $23::text[]) as a (ord, position, alias)
    join item i on i.ord = a.ord
), known as (
    select distinct on (a.ord) a.ord, c.conversation_id,
        exists (
            select from alias b
            join contact_alias d on d.account_id = b.account_id and d.channel = b.channel and d.alias = b.alias
            where b.ord = a.ord and d.conversation_id <> c.conversation_id) as is_split
    from alias a
    join contact_alias c on c.account_id = a.account_id and c.channel = a.channel and c.alias = a.alias
    order by a.ord, a.position
), placed as (
    select i.*, coalesce(k.conversation_id, i.derived_id) as conversation_id, coalesce(k.is_split, false) as is_split
    from item i
    left join known k on k.ord = i.ord
), fresh as (
    insert into inbound_message (account_id, id, conversation_id, channel, external_id, type, text, state,
        state_reason, target_external_id, target_pending, reply_to_external_id, sent_at, received_at, raw,
        window_seconds, window_rule, wait_until, is_awaited)
    select p.account_id, p.id, p.conversation_id, p.channel, p.external_id, p.type, p.text, p.state,
        p.state_reason, p.target_external_id, p.target_pending, p.reply_to_external_id, p.sent_at, clock.now, p.raw,
        p.window_seconds, p.window_rule, p.wait_until, p.wait_until is not null
    from placed p, clock
    -- The identity column is the messages' order, so they are inserted in the order of the customer's clock, which
    -- is the same in every batch that holds them: two batches wait for each other's keys in one direction only.
    order by p.account_id, p.channel, p.sent_at, p.ord
    on conflict (account_id, channel, external_id) do nothing
    returning account_id, id, conversation_id
), carried as (
    insert into media (account_id, id, channel, inbound_id, external_id, kind, filename, claimed_type, claimed_sha256,
        state, next_try_at, transcription_state, created_at)
    select p.account_id, p.media_id, p.channel, p.id, p.media_external_id, p.media_kind, p.filename, p.claimed_type,
        p.claimed_sha256, 'waiting', clock.now, case when p.is_transcribed then 'waiting' end, clock.now
    from placed p
    join fresh f on f.account_id = p.account_id and f.id = p.id
    cross join clock
    where p.media_id is not null
), arrived as (
    select p.account_id, p.conversation_id, min(p.channel) as channel,
        (array_agg(p.contact_address order by p.replaces_address desc, p.ord desc))[1] as contact_address,
        bool_or(p.replaces_address) as replaces_address,
        (array_agg(p.contact_name order by p.ord desc) filter (where p.contact_name is not null))[1] as contact_name,
        count(*) filter (where p.is_arrival) as arrival_count,
        coalesce((array_agg(p.window_seconds order by p.sent_at desc, p.ord desc) filter (where p.is_arrival))[1],
            $24::float8) as window_seconds,
        max(p.window_expires_at) as window_expires_at,
        min(p.wait_until) as wait_until
    from placed p
    join fresh f on f.account_id = p.account_id and f.id = p.id
    group by p.account_id, p.conversation_id
), touched as (
    insert into conversation as c (account_id, id, channel, contact_address, contact_name, authority_since,
        arrival_count, open_since, turn_due_at, media_wait_until, is_media_awaited, window_expires_at, last_inbound_at,
        last_activity_at)
    select a.account_id, a.conversation_id, a.channel, a.contact_address, a.contact_name, clock.now,
        a.arrival_count,
        case when a.arrival_count > 0 then clock.now end,
        case when a.arrival_count > 0
            then greatest(clock.now + make_interval(secs => least(a.window_seconds, $25::float8)), a.wait_until) end,
        a.wait_until, a.wait_until is not null,
        a.window_expires_at, clock.now, clock.now
    from arrived a, clock
    order by a.account_id, a.conversation_id
    on conflict (account_id, id) do update set
        contact_address = case
            when (select r.replaces_address from arrived r
                  where r.account_id = excluded.account_id and r.conversation_id = excluded.id)
            then excluded.contact_address else c.contact_address end,
        contact_name = coalesce(excluded.contact_name, c.contact_name),
        arrival_count = c.arrival_count + excluded.arrival_count,
        -- The earliest instant of them all: two statements may take the lock in another order than they read the clock,
        -- and a clock may jump back; neither lengthens what the customer waits for.
        open_since = least(c.open_since, excluded.open_since),
        turn_due_at = case
            when excluded.arrival_count = 0 then c.turn_due_at
            when c.authority_state = 'AI_ACTIVE' and c.running_turn_id is null and not c.reply_waiting
            then greatest(
                least(excluded.last_inbound_at + make_interval(secs => (
                          select r.window_seconds from arrived r
                          where r.account_id = excluded.account_id and r.conversation_id = excluded.id)),
                      least(c.open_since, excluded.open_since) + make_interval(secs => $25::float8)),
                c.turn_not_before,
                case when c.is_media_awaited or excluded.is_media_awaited
                    then least(c.media_wait_until, excluded.media_wait_until) end)
            end,
        -- The oldest deadline bounds the wait, also once its own file is there: three audios in a row wait no longer.
        media_wait_until = least(c.media_wait_until, excluded.media_wait_until),
        is_media_awaited = c.is_media_awaited or excluded.is_media_awaited,
        triage_due_at = case
            when excluded.arrival_count > 0 and c.reply_waiting and c.authority_state = 'AI_ACTIVE'
            then excluded.last_inbound_at else c.triage_due_at end,
        suggestion_due_at = case
            when $26::boolean and excluded.arrival_count > 0 and c.authority_state = 'HUMAN_ACTIVE'
            then excluded.last_inbound_at + make_interval(secs => $24::float8) else c.suggestion_due_at end,
        window_expires_at = greatest(c.window_expires_at, excluded.window_expires_at),
        last_inbound_at = excluded.last_inbound_at,
        last_activity_at = excluded.last_activity_at
    returning c.account_id, c.id, c.turn_due_at, c.triage_due_at, c.running_turn_id
), learned as (
    insert into contact_alias (account_id, channel, alias, conversation_id)
    select distinct on (a.account_id, a.channel, a.alias) a.account_id, a.channel, a.alias, p.conversation_id
    from alias a
    join placed p on p.ord = a.ord
    join fresh f on f.account_id = p.account_id and f.id = p.id
    where not exists (
        select from contact_alias k where k.account_id = a.account_id and k.channel = a.channel and k.alias = a.alias)
    order by a.account_id, a.channel, a.alias, a.ord
    on conflict (account_id, channel, alias) do nothing
), told as (
    insert into journal (account_id, at, kind, conversation_id, subject_id, state, reason, data)
    select p.account_id, clock.now, 'inbound', p.conversation_id, p.id, p.state, p.state_reason,
        jsonb_build_object('type', p.type)
    from placed p
    join fresh f on f.account_id = p.account_id and f.id = p.id
    cross join clock
    order by p.ord
)
select p.ord, p.conversation_id, f.id is not null as is_new,
    extract(epoch from t.turn_due_at - clock.now)::float8 as turn_in,
    extract(epoch from t.triage_due_at - clock.now)::float8 as triage_in,
    t.running_turn_id,
    p.is_split,
    f.id is not null and p.media_id is not null as has_media,
    f.id is not null and exists (
        select from inbound_message waiting
        where waiting.account_id = p.account_id and waiting.channel = p.channel and waiting.target_pending
            and waiting.target_external_id = p.external_id) as is_awaited
from placed p
cross join clock
left join fresh f on f.account_id = p.account_id and f.id = p.id
left join touched t on t.account_id = p.account_id and t.id = p.conversation_id
order by p.ord;

-- name: keep_unknown_events
-- Once per content: a redelivered webhook that nobody can read fills no table.
insert into unknown_event (account_id, id, channel, reason, digest, received_at, raw)
select u.account_id, u.id, u.channel, u.reason, u.digest, (select coalesce($1::timestamptz, clock_timestamp())), u.raw
from unnest($2::text[], $3::uuid[], $4::text[], $5::text[], $6::bytea[], $7::bytea[])
    as u (account_id, id, channel, reason, digest, raw)
order by u.account_id, u.channel, u.digest
on conflict (account_id, channel, digest) do nothing;

-- name: find_pending_amendments
-- Edits and revokes whose target has arrived; the sweep repeats what a crash left.
select amendment.account_id, target.conversation_id, amendment.id
from inbound_message amendment
join inbound_message target
    on target.account_id = amendment.account_id and target.channel = amendment.channel
    and target.external_id = amendment.target_external_id
where amendment.target_pending
order by amendment.seq
limit $1::integer;

-- name: load_pending_amendment
-- Under the lock: the oldest that still waits to be applied in this conversation, with the reply its target had.
select amendment.id, amendment.state_reason as kind, amendment.text as new_text,
    target.id as target_id, target.state, target.turn_id,
    (select count(*) from outbound_message o
     where o.account_id = target.account_id and o.turn_id = target.turn_id and o.author = 'ai') as reply_part_count,
    (select count(*) from outbound_message o
     where o.account_id = target.account_id and o.turn_id = target.turn_id and o.author = 'ai'
        and ((o.state = 'due' and o.attempt_count = 0)
            or (o.state = 'parked' and o.reason = 'needs_template'))) as reply_unsent_count,
    coalesce((select bool_or(o.wrote) from outbound_message o
     where o.account_id = target.account_id and o.turn_id = target.turn_id and o.author = 'ai'), false) as reply_wrote,
    (select coalesce($1::timestamptz, clock_timestamp())) as now
from inbound_message amendment
join inbound_message target
    on target.account_id = amendment.account_id and target.channel = amendment.channel
    and target.external_id = amendment.target_external_id
where amendment.account_id = $2::text and target.conversation_id = $3::uuid and amendment.target_pending
order by amendment.seq
limit 1;

-- name: close_amendment
-- Applied or too late, it waits no longer, and stands in its target's conversation.
update inbound_message
set target_pending = false, conversation_id = $3::uuid
where account_id = $1::text and id = $2::uuid;

-- name: amend_target
-- A withdrawn message keeps its text for the operator; the agent no longer sees it.
update inbound_message
set text = case when $4::boolean then text else $5::text end,
    state = case when $4::boolean then 'withdrawn' else state end,
    state_reason = case when $4::boolean then 'revoked_by_customer' else state_reason end,
    amended_at = (select coalesce($1::timestamptz, clock_timestamp())),
    amended_arrival = (select c.arrival_count from conversation c where c.account_id = $2::text and c.id = $6::uuid)
where account_id = $2::text and id = $3::uuid;

-- name: count_amendment
-- A change of what was said is news like a message: it overtakes what was computed on the old words.
update conversation
set arrival_count = arrival_count + 1,
    last_activity_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and id = $3::uuid;

-- name: place_contact
-- A contact that did not write itself: known under any of its keys, or made under the derived id.
with known as (
    select a.conversation_id
    from unnest($4::text[]) with ordinality as w (alias, position)
    join contact_alias a on a.account_id = $2::text and a.channel = $3::text and a.alias = w.alias
    order by w.position
    limit 1
), made as (
    insert into conversation (account_id, id, channel, contact_address, contact_name, authority_since, last_activity_at)
    select $2::text, $5::uuid, $3::text, $6::text, $7::text, clock.now, clock.now
    from (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
    where not exists (select from known)
    on conflict (account_id, id) do nothing
), learned as (
    insert into contact_alias (account_id, channel, alias, conversation_id)
    select $2::text, $3::text, w.alias, coalesce((select conversation_id from known), $5::uuid)
    from unnest($4::text[]) as w (alias)
    order by w.alias
    on conflict (account_id, channel, alias) do nothing
)
select coalesce((select conversation_id from known), $5::uuid) as id;
