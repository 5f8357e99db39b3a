-- name: load_burst
-- Exactly the messages the turn claimed and still holds; one withdrawn meanwhile is not shown.
select m.id, m.type, m.text, m.transcription, coalesce(m.sent_at, m.received_at) as at, f.id as media_id, f.kind,
    f.state as media_state, f.reason as media_reason, f.mime_type, f.filename, f.size_bytes, f.transcription_state
from inbound_message m
left join media f on f.account_id = m.account_id and f.inbound_id = m.id
where m.account_id = $1::text and m.turn_id = $2::uuid and m.state = 'claimed'
order by m.seq;

-- name: load_contact
-- With the effects that the customer has not been told of, oldest first.
select c.contact_address, c.contact_name,
    (select jsonb_agg(jsonb_build_object('tool', e.tool, 'args', e.args, 'state', e.state, 'result', e.result)
        order by e.started_at, e.id)
     from effect e
     where e.account_id = c.account_id and e.conversation_id = c.id and e.told_at is null
        and e.turn_id is not null and e.state in ('started', 'done')) as untold
from conversation c
where c.account_id = $1::text and c.id = $2::uuid;

-- name: load_history
-- What the customer saw or said before this turn, newest first: never what was cancelled, superseded or revoked.
-- Between them, where the human stretch began and ended.
select h.author, h.text, h.at, h.state
from (
    (select 'customer' as author, coalesce(m.transcription, m.text) as text, m.received_at as at, null as state,
        m.seq, 1 as turn_taking
     from inbound_message m
     where m.account_id = $1::text and m.conversation_id = $2::uuid and m.state in ('answered', 'cancelled')
     order by m.seq desc
     limit $3::integer)
    union all
    (select o.author, o.text, coalesce(o.sent_at, o.sealed_at) as at, o.state, o.seq, 3 as turn_taking
     from outbound_message o
     where o.account_id = $1::text and o.conversation_id = $2::uuid
        and o.state in ('due', 'sending', 'sent', 'delivered', 'read', 'played', 'uncertain')
     order by o.seq desc
     limit $3::integer)
    union all
    (select 'system', j.state, j.at, null, j.id, case when j.state = 'HUMAN_ACTIVE' then 2 else 4 end
     from journal j
     where j.account_id = $1::text and j.conversation_id = $2::uuid and j.kind = 'authority'
        and j.state in ('HUMAN_ACTIVE', 'AI_ACTIVE')
     order by j.id desc
     limit $3::integer)
) h
-- In the same instant the customer spoke first.
order by h.at desc, h.turn_taking desc, h.seq desc
limit $3::integer;

-- name: load_open_messages
-- What an operator is being helped with: everything nobody has answered yet, at most fifty.
select m.id, m.type, m.text, m.transcription, coalesce(m.sent_at, m.received_at) as at, f.id as media_id, f.kind,
    f.state as media_state, f.reason as media_reason, f.mime_type, f.filename, f.size_bytes, f.transcription_state
from inbound_message m
left join media f on f.account_id = m.account_id and f.inbound_id = m.id
where m.account_id = $1::text and m.conversation_id = $2::uuid and m.state = 'open'
order by m.seq
limit 50;
