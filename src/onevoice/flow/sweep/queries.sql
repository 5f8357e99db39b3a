-- name: count_divergence
-- Rows whose neighbours disagree for too long. Each count is bounded: a thousand is as bad as more.
select
    (select count(*) from (
        select from conversation c
        where c.authority_state = 'AI_ACTIVE' and c.turn_due_at is null and c.running_turn_id is null
            and c.triage_due_at is null
            and c.open_since < (select coalesce($1::timestamptz, clock_timestamp())) - interval '1 minute'
        limit 1000) t)::integer as turn_timer,
    (select count(*) from (
        select from outbound_message o
        where o.state = 'sending' and o.not_after < (select coalesce($1::timestamptz, clock_timestamp()))
        union all
        select from outbound_message o
        where o.state = 'sent' and o.author in ('ai', 'operator', 'system')
            and o.sent_at between (select coalesce($1::timestamptz, clock_timestamp())) - interval '25 hours'
                and (select coalesce($1::timestamptz, clock_timestamp())) - interval '1 hour'
        limit 1000) o)::integer as outbox_channel;

-- name: find_untimed
-- Open messages, AI active, and nothing that will ever look at them: the timer is derived again.
select c.account_id, c.id
from conversation c
where c.authority_state = 'AI_ACTIVE' and c.turn_due_at is null and c.triage_due_at is null
    and c.open_since < (select coalesce($1::timestamptz, clock_timestamp())) - interval '1 minute'
    and (c.running_turn_id is null or not exists (
        select from turn t
        where t.account_id = c.account_id and t.id = c.running_turn_id and t.state = 'running'))
order by c.open_since
limit $2::integer;

-- name: clear_dead_turn
-- A turn that has ended cannot hold its conversation.
update conversation c
set running_turn_id = null
where c.account_id = $1::text and c.id = $2::uuid
    and not exists (
        select from turn t
        where t.account_id = c.account_id and t.id = c.running_turn_id and t.state = 'running');
