-- name: find_visitor_conversation
-- A visitor has none until the first message is stored.
-- Row: conversation_id.
select a.conversation_id
from contact_alias a
where a.account_id = $1::text and a.channel = $2::text and a.alias = $3::text;

-- name: read_visitor_items
-- What the visitor may see, newest first: their own texts, and what was sent to them. Never what is due, held,
-- dropped, parked or of unknown outcome: only a recorded send makes a message visible.
-- Ordered by what the visitor saw when, not by seq: a message scheduled long ago is new when it is sent.
-- $4, $5 and $6 name the item before which to read ($4 null: the newest); `sent_at` can be missing when a receipt
-- came before the outcome.
-- Rows: direction, id, seq, at, author, text, state, payload, and of its file mime_type and size_bytes.
select i.direction, i.id, i.seq, i.at, i.author, i.text, i.state, i.payload, f.mime_type, f.size_bytes
from (
    (select 'in' as direction, m.external_id as id, m.seq, m.received_at as at, 'visitor' as author, m.text, m.state,
        '{}'::jsonb as payload
     from inbound_message m
     where m.account_id = $1::text and m.conversation_id = $2::uuid and m.type = 'text' and m.state <> 'withdrawn'
        and ($4::timestamptz is null or (m.received_at, 'in', m.seq) < ($4::timestamptz, $5::text, $6::bigint))
     order by m.received_at desc, m.seq desc
     limit $3::bigint)
    union all
    (select 'out', o.id::text, o.seq, coalesce(o.sent_at, o.delivered_at, o.sealed_at) as at, o.author, o.text, o.state,
        o.payload
     from outbound_message o
     where o.account_id = $1::text and o.conversation_id = $2::uuid
        and o.state in ('sent', 'delivered', 'read', 'played')
        and ($4::timestamptz is null
            or (coalesce(o.sent_at, o.delivered_at, o.sealed_at), 'out', o.seq)
                < ($4::timestamptz, $5::text, $6::bigint))
     order by at desc, o.seq desc
     limit $3::bigint)
) i
left join media f on f.account_id = $1::text and f.id = (i.payload ->> 'media')::uuid
order by i.at desc, i.direction desc, i.seq desc
limit $3::bigint;

-- name: find_visitor_file
-- By the message that carries it, in the visitor's own conversation and once it was sent: ids that are guessed open
-- nothing.
-- Row: id, kind, state, reason, mime_type, filename, size_bytes.
select f.id, f.kind, f.state, f.reason, f.mime_type, coalesce(o.payload ->> 'filename', f.filename) as filename,
       f.size_bytes
from outbound_message o
join media f on f.account_id = o.account_id and f.id = (o.payload ->> 'media')::uuid
where o.account_id = $1::text and o.conversation_id = $2::uuid and o.id = $3::uuid
    and o.state in ('sent', 'delivered', 'read', 'played') and f.state = 'stored';

-- name: read_visitor_state
-- Somebody is typing while a turn runs or a reply is about to leave; a message scheduled for later is not typing.
-- Row: is_typing, authority_state.
select c.authority_state,
       c.running_turn_id is not null or exists (
           select from outbound_message o
           where o.account_id = c.account_id and o.conversation_id = c.id
                and (o.state = 'sending' or (o.state = 'due'
                    and o.due_at < (select coalesce($3::timestamptz, clock_timestamp())) + interval '30 seconds'))
       ) as is_typing
from conversation c
where c.account_id = $1::text and c.id = $2::uuid;

-- name: has_changed_since
-- Whether a resuming stream missed anything at all.
-- Row: changed.
select exists (
    select from journal j
    where j.account_id = $1::text and j.conversation_id = $2::uuid
        and (j.xid, j.id) > ($3::bigint::text::xid8, $4::bigint)
) as changed;

-- name: find_receipt_targets
-- Only the visitor's own conversation, and only messages that the receipt can still move forward.
-- Rows: external_id.
select o.external_id
from outbound_message o
where o.account_id = $1::text and o.conversation_id = $2::uuid and o.id = any($3::uuid[])
    and o.external_id is not null
    and (o.state = 'sent' or (o.state = 'delivered' and $4::text = 'read'))
order by o.seq;
