-- name: load_bursts
-- Exactly the messages each turn claimed and still holds; one withdrawn meanwhile is not shown. Found turn by turn:
-- a plain join over tables that have never been analysed is planned as a scan of all messages.
select m.turn_id as asked_id, m.id, m.type, m.text, m.transcription, coalesce(m.sent_at, m.received_at) as at,
    f.id as media_id, f.kind, f.state as media_state, f.reason as media_reason, f.mime_type, f.filename, f.size_bytes,
    f.transcription_state
from unnest($1::text[], $2::uuid[]) as asked (account_id, turn_id)
cross join lateral (
    select c.account_id, c.turn_id, c.id, c.seq, c.type, c.text, c.transcription, c.sent_at, c.received_at
    from inbound_message c
    where c.account_id = asked.account_id and c.turn_id = asked.turn_id and c.state = 'claimed'
    order by c.seq
    limit $3::integer
) m
left join lateral (
    select o.id, o.kind, o.state, o.reason, o.mime_type, o.filename, o.size_bytes, o.transcription_state
    from media o
    where o.account_id = m.account_id and o.inbound_id = m.id
    limit 1
) f on true
order by m.seq;

-- name: load_contacts
-- With the effects that the customer has not been told of, oldest first, and the clock that a file's link ends by.
select c.account_id, c.id, c.contact_address, c.contact_name,
    (select coalesce($3::timestamptz, clock_timestamp())) as now,
    (select jsonb_agg(jsonb_build_object('tool', e.tool, 'args', e.args, 'state', e.state, 'result', e.result)
        order by e.started_at, e.id)
     from effect e
     where e.account_id = c.account_id and e.conversation_id = c.id and e.told_at is null
        and e.turn_id is not null and e.state in ('started', 'done')) as untold
from unnest($1::text[], $2::uuid[]) as asked (account_id, id)
cross join lateral (
    select k.account_id, k.id, k.contact_address, k.contact_name
    from conversation k
    where k.account_id = asked.account_id and k.id = asked.id
    limit 1
) c;

-- name: load_histories
-- What the customer saw or said before, newest first: never what was cancelled, superseded or revoked.
-- Between them, where the human stretch began and ended.
select asked.id as conversation_id, h.author, h.text, h.at, h.state
from unnest($1::text[], $2::uuid[]) as asked (account_id, id)
cross join lateral (
    select p.author, p.text, p.at, p.state, p.turn_taking, p.seq
    from (
        -- The identity column is the customer's order: no message is dated before an earlier one.
        (select 'customer' as author, c.text, max(c.received_at) over (order by c.seq) as at, null as state, c.seq,
            1 as turn_taking
         from (
            select coalesce(m.transcription, m.text) as text, m.received_at, m.seq
            from inbound_message m
            where m.account_id = asked.account_id and m.conversation_id = asked.id
                and m.state in ('answered', 'cancelled')
            order by m.seq desc
            limit $3::integer) c)
        union all
        -- A status dates a send by the channel's clock: whatever that says, it was after sealing.
        (select o.author, o.text,
            case when o.author = 'device' then o.sent_at else greatest(o.sent_at, o.sealed_at) end as at, o.state,
            o.seq, 3 as turn_taking
         from outbound_message o
         where o.account_id = asked.account_id and o.conversation_id = asked.id
            and o.state in ('due', 'sending', 'sent', 'delivered', 'read', 'played', 'uncertain')
         order by o.seq desc
         limit $3::integer)
        union all
        (select 'system', j.state, j.at, null, j.id, case when j.state = 'HUMAN_ACTIVE' then 2 else 4 end
         from journal j
         where j.account_id = asked.account_id and j.conversation_id = asked.id and j.kind = 'authority'
            and j.state in ('HUMAN_ACTIVE', 'AI_ACTIVE')
         order by j.id desc
         limit $3::integer)
    ) p
    -- In the same instant the customer spoke first.
    order by p.at desc, p.turn_taking desc, p.seq desc
    limit $3::integer
) h
order by asked.id, h.at desc, h.turn_taking desc, h.seq desc;

-- name: load_open_bursts
-- What an operator is being helped with: everything nobody has answered yet.
select asked.id as asked_id, m.id, m.type, m.text, m.transcription, coalesce(m.sent_at, m.received_at) as at,
    f.id as media_id, f.kind, f.state as media_state, f.reason as media_reason, f.mime_type, f.filename, f.size_bytes,
    f.transcription_state
from unnest($1::text[], $2::uuid[]) as asked (account_id, id)
cross join lateral (
    select o.account_id, o.id, o.seq, o.type, o.text, o.transcription, o.sent_at, o.received_at
    from inbound_message o
    where o.account_id = asked.account_id and o.conversation_id = asked.id and o.state = 'open'
    order by o.seq
    limit $3::integer
) m
left join lateral (
    select a.id, a.kind, a.state, a.reason, a.mime_type, a.filename, a.size_bytes, a.transcription_state
    from media a
    where a.account_id = m.account_id and a.inbound_id = m.id
    limit 1
) f on true
order by m.seq;
