-- name: count_tabs
-- What the tabs say and what the page's title counts; everything here is not with the AI, or parked, and both are
-- few rows with an index of their own.
-- Row: now, mine_count, mine_unanswered_count, waiting_count, suspended_count.
select (select coalesce($1::timestamptz, clock_timestamp())) as now,
    (select count(*) from conversation c
     where c.account_id = $2::text and c.authority_state in ('HUMAN_ACTIVE', 'HANDOFF_PENDING')
        and c.authority_owner = $3::uuid and c.merged_into is null) as mine_count,
    (select count(*) from conversation c
     where c.account_id = $2::text and c.authority_state in ('HUMAN_ACTIVE', 'HANDOFF_PENDING')
        and c.authority_owner = $3::uuid and c.merged_into is null and c.open_since is not null)
        as mine_unanswered_count,
    (select count(*) from conversation c
     where c.account_id = $2::text and c.authority_state = 'HANDOFF_PENDING' and c.authority_owner is null
        and c.authority_reason is distinct from 'device_reply' and c.merged_into is null)
    + (select count(distinct o.conversation_id) from outbound_message o
       join conversation c on c.account_id = o.account_id and c.id = o.conversation_id
       where o.account_id = $2::text and o.state = 'parked' and c.authority_state = 'AI_ACTIVE'
          and c.merged_into is null) as waiting_count,
    (select count(*) from conversation c
     where c.account_id = $2::text and c.authority_state = 'AI_SUSPENDED' and c.merged_into is null)
        as suspended_count;

-- name: page_of_waiting
-- Nobody has it yet: asked for a human, or with the AI and a parked reply. Who waits longest comes first; a customer's
-- clock runs from their first unanswered message, whatever was written to them since.
-- Rows: id, waiting_since, last_activity_at.
select w.id, w.waiting_since, w.last_activity_at
from (
    select c.id, coalesce(c.open_since, c.authority_since) as waiting_since, c.last_activity_at
    from conversation c
    where c.account_id = $1::text and c.authority_state = 'HANDOFF_PENDING' and c.authority_owner is null
        and c.authority_reason is distinct from 'device_reply' and c.merged_into is null
    union all
    select c.id, coalesce(c.open_since, min(o.sealed_at)), c.last_activity_at
    from outbound_message o
    join conversation c on c.account_id = o.account_id and c.id = o.conversation_id
    where o.account_id = $1::text and o.state = 'parked' and c.authority_state = 'AI_ACTIVE' and c.merged_into is null
    group by c.id, c.open_since, c.last_activity_at
) w
where (w.waiting_since, w.id) > ($2::timestamptz, $3::uuid)
order by w.waiting_since, w.id
limit $4::bigint;

-- name: page_of_mine
-- What the operator holds: first those whose customer waits, the longest first, then by activity.
-- Rows: id, waiting_since (far ahead when nothing is open), last_activity_at.
select h.id, h.waiting_since, h.last_activity_at
from (
    select c.id, coalesce(c.open_since, '9999-12-30 00:00:00+00'::timestamptz) as waiting_since, c.last_activity_at
    from conversation c
    where c.account_id = $1::text and c.authority_state in ('HUMAN_ACTIVE', 'HANDOFF_PENDING')
        and c.authority_owner = $2::uuid and c.merged_into is null
) h
where h.waiting_since > $3::timestamptz
    or (h.waiting_since = $3::timestamptz and (h.last_activity_at < $4::timestamptz
        or (h.last_activity_at = $4::timestamptz and h.id > $5::uuid)))
order by h.waiting_since, h.last_activity_at desc, h.id
limit $6::bigint;

-- name: page_of_named
-- A part of the contact's name or address, among the account's most recently active conversations only: the limit
-- bounds the look, whatever was typed.
-- Rows: id, last_activity_at.
select r.id, r.last_activity_at
from (
    select c.id, c.last_activity_at, c.contact_name, c.contact_address
    from conversation c
    where c.account_id = $1::text and c.merged_into is null
        and c.last_activity_at <= $2::timestamptz
        and (c.last_activity_at < $2::timestamptz or c.id > $3::uuid)
    order by c.last_activity_at desc, c.id
    limit 20000
) r
where strpos(lower(coalesce(r.contact_name, '')), lower($4::text)) > 0
    or strpos(lower(r.contact_address), lower($4::text)) > 0
order by r.last_activity_at desc, r.id
limit $5::bigint;

-- name: read_previews
-- The latest words of each conversation of a page, whoever said them; what was dropped is not what was said last.
-- Rows: id, inbound_text, transcription, inbound_type, inbound_at, outbound_text, outbound_author, outbound_at, parked_reason.
select w.id, i.text as inbound_text, i.transcription, i.type as inbound_type, i.received_at as inbound_at,
    o.text as outbound_text, o.author as outbound_author, o.sealed_at as outbound_at, p.reason as parked_reason
from unnest($2::uuid[]) with ordinality as w (id, place)
left join lateral (
    select m.text, m.transcription, m.type, m.received_at
    from inbound_message m
    where m.account_id = $1::text and m.conversation_id = w.id and m.state <> 'recorded'
    order by m.seq desc
    limit 1
) i on true
left join lateral (
    select m.text, m.author, m.sealed_at
    from outbound_message m
    where m.account_id = $1::text and m.conversation_id = w.id
        and m.state not in ('cancelled', 'superseded', 'revoked', 'parked')
    order by m.seq desc
    limit 1
) o on true
left join lateral (
    select m.reason
    from outbound_message m
    where m.account_id = $1::text and m.conversation_id = w.id and m.state = 'parked'
    order by m.seq desc
    limit 1
) p on true
order by w.place;

-- name: read_thread_head
-- What the thread's head needs beside the conversation itself. Counts: AI sends and AI writes that have begun and
-- whose outcome nobody knows yet; messages of unknown outcome.
-- Row: now, channel_kind, paused_reason, window_expires_at, held_by_hand, is_thinking, in_flight_count, uncertain_count,
-- aliases, message_count, first_at.
select (select coalesce($1::timestamptz, clock_timestamp())) as now, h.kind as channel_kind, h.paused_reason,
    c.window_expires_at, c.held_by_hand, c.running_turn_id is not null as is_thinking,
    (select count(*) from outbound_message o
     where o.account_id = c.account_id and o.conversation_id = c.id and o.state = 'sending'
        and o.author in ('ai', 'system'))
    + (select count(*) from effect e
       where e.account_id = c.account_id and e.conversation_id = c.id and e.told_at is null and e.state = 'started'
          and e.turn_id is not null) as in_flight_count,
    (select count(*) from outbound_message o
     where o.account_id = c.account_id and o.conversation_id = c.id and o.state = 'uncertain') as uncertain_count,
    array(select a.alias from contact_alias a
          where a.account_id = c.account_id and a.conversation_id = c.id order by a.alias) as aliases,
    (select count(*) from inbound_message m
     where m.account_id = c.account_id and m.conversation_id = c.id and m.state <> 'recorded') as message_count,
    (select m.received_at from inbound_message m
     where m.account_id = c.account_id and m.conversation_id = c.id order by m.seq limit 1) as first_at
from conversation c
left join channel h on h.account_id = c.account_id and h.name = c.channel
where c.account_id = $2::text and c.id = $3::uuid;

-- name: find_thread_cutoff
-- The time of the N-th newest item before $3 (null: of all): a thread opens at its end.
-- Row: cutoff, null when there is no such item.
select min(newest.at) as cutoff
from (
    select i.at
    from (
        (select m.received_at as at from inbound_message m
         where m.account_id = $1::text and m.conversation_id = $2::uuid
            and ($3::timestamptz is null or m.received_at < $3::timestamptz)
         order by m.received_at desc limit $4::bigint)
        union all
        (select o.sealed_at from outbound_message o
         where o.account_id = $1::text and o.conversation_id = $2::uuid
            and ($3::timestamptz is null or o.sealed_at < $3::timestamptz)
         order by o.sealed_at desc limit $4::bigint)
        union all
        (select t.started_at from turn t
         where t.account_id = $1::text and t.conversation_id = $2::uuid
            and ($3::timestamptz is null or t.started_at < $3::timestamptz)
         order by t.started_at desc limit $4::bigint)
        union all
        (select j.at from journal j
         where j.account_id = $1::text and j.conversation_id = $2::uuid and j.kind in ('authority', 'triage')
            and ($3::timestamptz is null or j.at < $3::timestamptz)
         order by j.at desc limit $4::bigint)
    ) i
    order by i.at desc
    limit $4::bigint
) newest;

-- name: find_thread_start
-- Where the timeline's sources stand just before an instant, so that the walk of the timeline can begin there.
-- Row: inbound, outbound, journal, has_earlier.
select s.inbound, s.outbound, s.journal,
    exists (select from inbound_message m
            where m.account_id = $1::text and m.conversation_id = $2::uuid and m.seq <= s.inbound)
    or exists (select from outbound_message o
               where o.account_id = $1::text and o.conversation_id = $2::uuid and o.seq <= s.outbound)
    or exists (select from journal j
               where j.account_id = $1::text and j.conversation_id = $2::uuid
                  and j.kind in ('authority', 'triage') and j.id <= s.journal) as has_earlier
from (
    select
        coalesce(
            (select min(m.seq) - 1 from inbound_message m
             where m.account_id = $1::text and m.conversation_id = $2::uuid and m.received_at >= $3::timestamptz),
            (select max(m.seq) from inbound_message m
             where m.account_id = $1::text and m.conversation_id = $2::uuid), 0) as inbound,
        coalesce(
            (select min(o.seq) - 1 from outbound_message o
             where o.account_id = $1::text and o.conversation_id = $2::uuid and o.sealed_at >= $3::timestamptz),
            (select max(o.seq) from outbound_message o
             where o.account_id = $1::text and o.conversation_id = $2::uuid), 0) as outbound,
        coalesce(
            (select min(j.id) - 1 from journal j
             where j.account_id = $1::text and j.conversation_id = $2::uuid and j.kind in ('authority', 'triage')
                and j.at >= $3::timestamptz),
            (select max(j.id) from journal j
             where j.account_id = $1::text and j.conversation_id = $2::uuid and j.kind in ('authority', 'triage')),
            0) as journal
) s;

-- name: read_pinned_effects
-- What was done and the customer has not been told, and what waits for an operator's approval.
-- Rows: id, tool, args, result, state, authority_version, started_at.
select e.id, e.tool, e.args, e.result, e.state, e.authority_version, e.started_at
from effect e
where e.account_id = $1::text and e.conversation_id = $2::uuid and e.told_at is null
    and e.state in ('awaiting', 'started', 'done')
order by e.started_at, e.id
limit 20;

-- name: read_scheduled
-- Rows: id, text, not_before, operator_name.
select f.id, f.text, f.not_before, writer.name as operator_name
from follow_up f
left join operator writer on writer.account_id = f.account_id and writer.id = f.operator_id
where f.account_id = $1::text and f.conversation_id = $2::uuid and f.state = 'scheduled'
order by f.not_before, f.id
limit 20;

-- name: read_operator_names
-- Of those who wrote here, disabled ones too.
-- Rows: id, name.
select o.id, o.name
from operator o
where o.account_id = $1::text and o.id = any($2::uuid[]);
