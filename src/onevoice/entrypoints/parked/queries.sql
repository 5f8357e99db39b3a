-- name: read_parked
-- The oldest first: they have waited longest.
-- Rows: id, sealed_at, channel, contact_address, author, reason, error_code, text.
select o.id, o.sealed_at, o.channel, c.contact_address, o.author, o.reason, o.error_code, o.text
from outbound_message o
join conversation c on c.account_id = o.account_id and c.id = o.conversation_id
where o.account_id = $1::text and o.state = 'parked'
order by o.seq
limit $2::bigint;
