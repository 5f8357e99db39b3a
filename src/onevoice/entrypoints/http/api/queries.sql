-- name: page_of_conversations
-- Newest activity first, along the index on (account, activity, id); state and channel only filter.
-- Rows: id, last_activity_at.
select c.id, c.last_activity_at
from conversation c
where c.account_id = $1::text
    and c.last_activity_at <= $2::timestamptz
    and (c.last_activity_at < $2::timestamptz or c.id > $3::uuid)
    and c.merged_into is null
    and ($4::text is null or c.authority_state = $4::text)
    and ($5::text is null or c.channel = $5::text)
order by c.last_activity_at desc, c.id
limit $6::bigint;

-- name: page_of_conversations_in_state
-- The states other than AI_ACTIVE are few rows with an index of their own.
-- Rows: id, last_activity_at.
select c.id, c.last_activity_at
from conversation c
where c.account_id = $1::text
    and c.last_activity_at <= $2::timestamptz
    and (c.last_activity_at < $2::timestamptz or c.id > $3::uuid)
    and c.merged_into is null
    and c.authority_state = $4::text
    and c.authority_state <> 'AI_ACTIVE'
    and ($5::text is null or c.channel = $5::text)
    and ($6::uuid is null or c.authority_owner = $6::uuid)
order by c.last_activity_at desc, c.id
limit $7::bigint;

-- name: page_of_conversations_of_owner
-- Whoever has an owner is not with the AI, so that the same index bounds the search.
-- Rows: id, last_activity_at.
select c.id, c.last_activity_at
from conversation c
where c.account_id = $1::text
    and c.last_activity_at <= $2::timestamptz
    and (c.last_activity_at < $2::timestamptz or c.id > $3::uuid)
    and c.merged_into is null
    and c.authority_state <> 'AI_ACTIVE'
    and c.authority_owner = $4::uuid
    and ($5::text is null or c.channel = $5::text)
order by c.last_activity_at desc, c.id
limit $6::bigint;

-- name: page_of_conversations_of_contact
-- The recursive part walks from channel to channel along the key of the aliases: it needs no alias index
-- of its own, and no list of channels that might lack one that was removed.
-- Rows: id, last_activity_at.
with recursive known_channel (name) as (
    (select a.channel from contact_alias a where a.account_id = $1::text order by a.channel limit 1)
    union all
    select (select a.channel from contact_alias a
            where a.account_id = $1::text and a.channel > k.name order by a.channel limit 1)
    from known_channel k
    where k.name is not null
), known_as as (
    select distinct found.conversation_id
    from known_channel k
    cross join unnest($4::text[]) as wanted (alias)
    -- One row at most by the key; the limit keeps the planner from reading all aliases into a hash instead.
    cross join lateral (
        select a.conversation_id
        from contact_alias a
        where a.account_id = $1::text and a.channel = k.name and a.alias = wanted.alias
        limit 1
    ) found
)
select c.id, c.last_activity_at
from known_as k
join conversation c on c.account_id = $1::text and c.id = k.conversation_id
where c.last_activity_at <= $2::timestamptz
    and (c.last_activity_at < $2::timestamptz or c.id > $3::uuid)
    and c.merged_into is null
    and ($5::text is null or c.authority_state = $5::text)
    and ($6::text is null or c.channel = $6::text)
    and ($7::uuid is null or c.authority_owner = $7::uuid)
order by c.last_activity_at desc, c.id
limit $8::bigint;

-- name: read_conversations
-- The conversations of one page, in its order; what is unanswered is open or in the hands of the running turn.
-- Rows: id, channel, contact_address, contact_name, authority_state, authority_version, authority_owner,
-- owner_name, authority_reason, authority_note, authority_since, unanswered_count, oldest_unanswered_at, last_activity_at.
select c.id, c.channel, c.contact_address, c.contact_name, c.authority_state, c.authority_version,
       c.authority_owner, holder.name as owner_name, c.authority_reason, c.authority_note, c.authority_since,
       unanswered.message_count as unanswered_count, unanswered.oldest_at as oldest_unanswered_at,
       c.last_activity_at
from unnest($2::uuid[]) with ordinality as wanted (id, place)
join conversation c on c.account_id = $1::text and c.id = wanted.id
left join operator holder on holder.account_id = c.account_id and holder.id = c.authority_owner
cross join lateral (
    select count(*) as message_count, min(u.received_at) as oldest_at
    from (
        select m.received_at
        from inbound_message m
        where m.account_id = c.account_id and m.conversation_id = c.id and m.state = 'open'
        union all
        select m.received_at
        from inbound_message m
        where m.account_id = c.account_id and m.turn_id = c.running_turn_id and m.state = 'claimed'
    ) u
) unanswered
order by wanted.place;

-- name: read_timeline
-- Each source is read in its own order from where the cursor left it, so that each has an index; the caller
-- merges them by time. `held` and its reason are derived here: the row of a waiting message says `due`.
-- Rows: kind, at, seq, id, item.
with of_conversation as (
    select c.account_id, c.id, c.authority_state, c.triage_due_at is not null as triage_is_undecided,
           (select coalesce($10::timestamptz, clock_timestamp())) as now
    from conversation c
    where c.account_id = $1::text and c.id = $2::uuid
)
(select 'inbound' as kind, m.received_at as at, m.seq, m.id,
        jsonb_build_object(
            'state', m.state, 'reason', m.state_reason, 'external_id', m.external_id, 'type', m.type,
            'text', m.text, 'transcription', m.transcription, 'turn', m.turn_id, 'sent_at', m.sent_at,
            'media', (select jsonb_build_object('id', f.id, 'kind', f.kind, 'state', f.state, 'reason', f.reason,
                    'mime_type', f.mime_type, 'filename', f.filename, 'size_bytes', f.size_bytes,
                    'seconds', f.seconds, 'transcription_state', f.transcription_state,
                    'transcription_reason', f.transcription_reason)
                from media f where f.account_id = m.account_id and f.inbound_id = m.id)) as item
 from inbound_message m
 where m.account_id = $1::text and m.conversation_id = $2::uuid and m.seq > $3::bigint
 order by m.seq
 limit $11::bigint)
union all
(select 'turn', t.started_at, 0, t.id,
        jsonb_build_object(
            'state', t.state, 'reason', t.reason, 'attempt', t.attempt,
            'authority_version', t.authority_version, 'messages', t.message_ids, 'wrote', t.wrote,
            'confidence', t.confidence, 'usage', t.usage, 'ended_at', t.ended_at)
 from turn t
 where t.account_id = $1::text and t.conversation_id = $2::uuid
     and (t.started_at, t.id) > ($5::timestamptz, $6::uuid)
 order by t.started_at, t.id
 limit $11::bigint)
union all
(select 'effect', e.started_at, 0, e.id,
        jsonb_build_object(
            'state', e.state, 'reason', e.reason, 'tool', e.tool, 'args', e.args, 'result', e.result,
            'key', e.key, 'turn', e.turn_id, 'authority_version', e.authority_version,
            'finished_at', e.finished_at, 'told_at', e.told_at)
 from effect e
 where e.account_id = $1::text and e.conversation_id = $2::uuid
     and (e.started_at, e.id) > ($8::timestamptz, $9::uuid)
 order by e.started_at, e.id
 limit $11::bigint)
union all
(select j.kind, j.at, j.id, null,
        jsonb_build_object('state', j.state, 'reason', j.reason, 'data', j.data, 'owner_name', holder.name)
 from journal j
 left join operator holder on holder.account_id = j.account_id and holder.id::text = j.data ->> 'owner'
 where j.account_id = $1::text and j.conversation_id = $2::uuid and j.id > $7::bigint
     and j.kind in ('authority', 'triage')
 order by j.id
 limit $11::bigint)
union all
(select 'outbound', o.sealed_at, o.seq, o.id,
        jsonb_build_object(
            'state', case when shown.held_reason is null then o.state else 'held' end,
            'reason', coalesce(o.reason, shown.held_reason),
            'author', o.author, 'text', o.text, 'authority_version', o.authority_version,
            'external_id', o.external_id, 'key', o.key, 'turn', o.turn_id, 'operator', o.operator_id,
            'part', o.part, 'part_count', o.part_count, 'attempt_count', o.attempt_count,
            'sent_at', o.sent_at, 'delivered_at', o.delivered_at, 'read_at', o.read_at,
            'error_code', o.error_code, 'error_detail', o.error_detail, 'payload', o.payload,
            'media', (select jsonb_build_object('id', f.id, 'kind', f.kind, 'mime_type', f.mime_type,
                    'filename', f.filename, 'size_bytes', f.size_bytes)
                from media f where f.account_id = o.account_id and f.id = (o.payload ->> 'media')::uuid))
 from of_conversation c
 join outbound_message o on o.account_id = $1::text and o.conversation_id = $2::uuid
 cross join lateral (
     select case
         when o.state <> 'due' then null
         when o.author = 'ai' and c.triage_is_undecided then 'triage'
         when o.author = 'operator' and c.authority_state = 'HANDOFF_PENDING' then 'takeover_pending'
         when o.attempt_count = 0 and o.due_at > c.now
             then case when o.upload_try_count > 0 then 'upload' else 'hold' end
     end as held_reason
 ) shown
 where o.seq > $4::bigint
 order by o.seq
 limit $11::bigint);

-- name: conversation_exists
-- Rows: one when the conversation is the account's.
select true as is_known from conversation c where c.account_id = $1::text and c.id = $2::uuid;

-- name: page_of_outbound
-- What needs somebody's attention, newest first; the index holds these states alone.
-- Rows: seq, id, conversation_id, channel, contact_address, contact_name and the columns of the message.
select o.seq, o.id, o.conversation_id, o.channel, c.contact_address, c.contact_name, o.sealed_at, o.state,
       o.reason, o.author, o.text, o.authority_version, o.external_id, o.key, o.turn_id, o.operator_id, o.part,
       o.part_count, o.attempt_count, o.sent_at, o.delivered_at, o.read_at, o.error_code, o.error_detail, o.payload,
       (select jsonb_build_object('id', f.id, 'kind', f.kind, 'mime_type', f.mime_type,
           'filename', f.filename, 'size_bytes', f.size_bytes)
        from media f where f.account_id = o.account_id and f.id = (o.payload ->> 'media')::uuid) as media
from outbound_message o
join conversation c on c.account_id = o.account_id and c.id = o.conversation_id
where o.account_id = $1::text
    and o.state = $2::text
    and o.state in ('parked', 'uncertain', 'failed')
    and o.seq < $3::bigint
order by o.seq desc
limit $4::bigint;

-- name: channels_of_account
-- Rows: name.
select c.name from channel c where c.account_id = $1::text;

-- name: migrations_from
-- Rows: name, of this release's newest migration and of everything newer.
select m.name from migration m where m.number >= $1::integer order by m.number;

-- name: read_outbound
-- What a command did to a message, or which parts an operator's message has; any state, in the order of the ids.
-- Rows: as page_of_outbound, with `held` derived as in the timeline.
select o.seq, o.id, o.conversation_id, o.channel, c.contact_address, c.contact_name, o.sealed_at,
       case when shown.held_reason is null then o.state else 'held' end as state,
       coalesce(o.reason, shown.held_reason) as reason,
       o.author, o.text, o.authority_version, o.external_id, o.key, o.turn_id, o.operator_id, o.part,
       o.part_count, o.attempt_count, o.sent_at, o.delivered_at, o.read_at, o.error_code, o.error_detail, o.payload,
       (select jsonb_build_object('id', f.id, 'kind', f.kind, 'mime_type', f.mime_type,
           'filename', f.filename, 'size_bytes', f.size_bytes)
        from media f where f.account_id = o.account_id and f.id = (o.payload ->> 'media')::uuid) as media
from unnest($2::uuid[]) with ordinality as wanted (id, place)
join outbound_message o on o.account_id = $1::text and o.id = wanted.id
join conversation c on c.account_id = o.account_id and c.id = o.conversation_id
cross join lateral (
    select case
        when o.state <> 'due' then null
        when o.author = 'ai' and c.triage_due_at is not null then 'triage'
        when o.author = 'operator' and c.authority_state = 'HANDOFF_PENDING' then 'takeover_pending'
        when o.attempt_count = 0 and o.due_at > (select coalesce($3::timestamptz, clock_timestamp()))
            then case when o.upload_try_count > 0 then 'upload' else 'hold' end
    end as held_reason
) shown
order by wanted.place;

-- name: page_of_notes
-- Newest first, along the index of the conversation's notes. The automation and people are operators alike.
-- Rows: id, text, created_at, operator_id, operator_name.
select n.id, n.text, n.created_at, n.operator_id, writer.name as operator_name
from note n
left join operator writer on writer.account_id = n.account_id and writer.id = n.operator_id
where n.account_id = $1::text and n.conversation_id = $2::uuid
    and (n.created_at, n.id) < ($3::timestamptz, $4::uuid)
order by n.created_at desc, n.id desc
limit $5::bigint;

-- name: read_note
-- Row: as page_of_notes.
select n.id, n.text, n.created_at, n.operator_id, writer.name as operator_name
from note n
left join operator writer on writer.account_id = n.account_id and writer.id = n.operator_id
where n.account_id = $1::text and n.id = $2::uuid;

-- name: read_suggestions
-- A suggestion is withdrawn by itself: once the authority moved or the customer wrote again it is not shown.
-- Rows: id, text, reason, turn_id, created_at; newest first.
select s.id, s.text, s.reason, s.turn_id, s.created_at
from suggestion s
join conversation c on c.account_id = s.account_id and c.id = s.conversation_id
    and c.authority_version = s.authority_version and c.arrival_count = s.arrivals_seen
where s.account_id = $1::text and s.conversation_id = $2::uuid and s.state = 'open'
order by s.created_at desc, s.id desc
limit $3::bigint;

-- name: read_follow_up
-- Row: id, text, not_before, state, reason, created_at, operator_id, operator_name.
select f.id, f.text, f.not_before, f.state, f.reason, f.created_at, f.operator_id, writer.name as operator_name
from follow_up f
left join operator writer on writer.account_id = f.account_id and writer.id = f.operator_id
where f.account_id = $1::text and f.id = $2::uuid;

-- name: read_channels
-- Rows: name, kind, paused_reason, paused_at, slow_until (null once it is over).
select c.name, c.kind, c.paused_reason, c.paused_at,
       case when c.slow_until > (select coalesce($2::timestamptz, clock_timestamp())) then c.slow_until end as slow_until
from channel c
where c.account_id = $1::text
order by c.name;

-- name: lift_pause
-- The journal keeps who lifted it and what for it had been paused; a channel that is not paused stays as it is.
-- Row: name, when the channel was paused.
with paused as (
    select c.account_id, c.name, c.paused_reason
    from channel c
    where c.account_id = $2::text and c.name = $3::text and c.paused_at is not null
    for update
), lifted as (
    update channel c
    set paused_reason = null, paused_at = null
    from paused
    where c.account_id = paused.account_id and c.name = paused.name
    returning c.account_id, c.name
), told as (
    insert into journal (account_id, at, kind, state, reason, data)
    select lifted.account_id, (select coalesce($1::timestamptz, clock_timestamp())), 'channel', 'resumed', 'manual',
           jsonb_build_object('channel', lifted.name, 'was', paused.paused_reason, 'operator', $4::uuid)
    from lifted join paused on paused.name = lifted.name
)
select name from lifted;

-- name: list_operators
-- Those who may be given a conversation: a disabled operator is not among them.
-- Rows: id, name, role.
select o.id, o.name, o.role
from operator o
where o.account_id = $1::text and o.disabled_at is null
order by o.name;

-- name: read_operator_name
-- A holder who was disabled since still has a name. Row: name.
select o.name from operator o where o.account_id = $1::text and o.id = $2::uuid;

-- name: find_operator_by_name
-- Row: id, of a disabled operator too: their conversations must be found.
select o.id from operator o where o.account_id = $1::text and o.name = $2::text;

-- name: read_media
-- Row: id, kind, mime_type, filename, size_bytes, sha256.
select m.id, m.kind, m.mime_type, m.filename, m.size_bytes, m.sha256
from media m
where m.account_id = $1::text and m.id = $2::uuid;

-- name: read_clock
-- A link's end is compared with the clock that every other end is compared with. Row: now.
select coalesce($1::timestamptz, clock_timestamp()) as now;
