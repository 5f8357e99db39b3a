-- name: find_conversations
-- Which conversations a batch of statuses may belong to: by message, by correlation, or by the recipient.
select distinct f.account_id, f.conversation_id
from (
    select o.account_id, o.conversation_id
    from unnest($1::text[], $2::text[], $3::text[]) as s (account_id, channel, external_id)
    join outbound_message o
        on o.account_id = s.account_id and o.channel = s.channel and o.external_id = s.external_id
    union all
    select o.account_id, o.conversation_id
    from unnest($1::text[], $4::uuid[]) as s (account_id, outbound_id)
    join outbound_message o on o.account_id = s.account_id and o.id = s.outbound_id
    union all
    select a.account_id, a.conversation_id
    from unnest($5::text[], $6::text[], $7::text[]) as r (account_id, channel, alias)
    join contact_alias a on a.account_id = r.account_id and a.channel = r.channel and a.alias = r.alias
) f;

-- name: find_messages
-- Under the locks: the message each status is about; the correlation id beats the external id.
select distinct on (f.ord) f.ord, f.account_id, f.conversation_id, f.id, f.author, f.state, f.turn_id,
    f.attempt_count, f.external_id, f.channel, f.reason, f.no_retry, f.authority_version, f.later_began
from (
    select s.ord, s.outbound_id is not null and o.id = s.outbound_id as is_correlated, o.account_id, o.conversation_id,
        o.id, o.author, o.state, o.turn_id, o.attempt_count, o.external_id, o.channel, o.seq, o.reason, o.no_retry,
        o.authority_version,
        exists (
            select from outbound_message later
            where later.account_id = o.account_id and later.conversation_id = o.conversation_id
                and later.seq > o.seq and later.attempt_count > 0) as later_began
    from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::uuid[])
        as s (ord, account_id, channel, external_id, outbound_id)
    cross join lateral (
        (select m.* from outbound_message m
         where m.account_id = s.account_id and m.channel = s.channel and m.external_id = s.external_id
         order by m.seq desc
         limit 1)
        union all
        (select m.* from outbound_message m
         where m.account_id = s.account_id and m.id = s.outbound_id)
    ) o
) f
order by f.ord, f.is_correlated desc, f.seq desc;

-- name: save_receptions
-- The state was decided in order over all statuses of the batch; times only fill what was empty.
update outbound_message o
set state = coalesce(w.state, o.state),
    reason = case
        when w.state in ('failed', 'parked', 'due') then w.reason
        when w.state is not null then null
        else o.reason end,
    external_id = coalesce(o.external_id, w.external_id),
    error_code = case when w.state in ('failed', 'parked', 'due') then w.error_code
        when w.state is not null then null else o.error_code end,
    error_detail = case when w.state in ('failed', 'parked', 'due') then w.error_detail
        when w.state is not null then null else o.error_detail end,
    due_at = case when w.retry_in is not null then clock.now + make_interval(secs => w.retry_in) else o.due_at end,
    not_after = case when w.state is null then o.not_after end,
    uncertain_until = case when w.state is null then o.uncertain_until end,
    -- Back in the lane it has not been sent: its next parts keep their distance from the attempt that is.
    sent_at = case when w.state = 'due' then null else coalesce(o.sent_at, w.sent_at,
        case when w.state in ('sent', 'delivered', 'read', 'played') then clock.now end) end,
    delivered_at = coalesce(o.delivered_at, w.delivered_at),
    read_at = coalesce(o.read_at, w.read_at),
    ended_at = case when w.state in ('failed', 'parked') then clock.now
        when w.state is not null then null else o.ended_at end
from unnest($2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::float8[],
            $10::timestamptz[], $11::timestamptz[], $12::timestamptz[])
    as w (account_id, id, state, reason, external_id, error_code, error_detail, retry_in, sent_at, delivered_at,
          read_at)
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where o.account_id = w.account_id and o.id = w.id;

-- name: resolve_attempts
-- Evidence is definite, acceptance and failure: it beats an unknown outcome of the attempt it names.
update attempt a
set outcome = w.outcome, external_id = w.external_id, error_code = w.error_code, error_detail = w.error_detail,
    finished_at = coalesce(a.finished_at, (select coalesce($1::timestamptz, clock_timestamp())))
from unnest($2::text[], $3::uuid[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[])
    as w (account_id, outbound_id, attempt, external_id, outcome, error_code, error_detail)
where a.account_id = w.account_id and a.outbound_id = w.outbound_id and a.attempt = w.attempt
    and (a.outcome is null or a.outcome in ('unknown', 'expired'));

-- name: keep_orphans
-- A status may come before the send call has told its message's id.
insert into orphan_status (account_id, channel, external_id, status, at, error, received_at, raw)
select w.account_id, w.channel, w.external_id, w.status, w.at, w.error,
    (select coalesce($1::timestamptz, clock_timestamp())), w.raw
from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::jsonb[], $8::bytea[])
    as w (account_id, channel, external_id, status, at, error, raw)
order by w.account_id, w.channel, w.external_id, w.status
on conflict (account_id, channel, external_id, status) do nothing;

-- name: adopt_orphans
-- Their message is known now: they are taken out and applied in the same transaction.
delete from orphan_status s
using unnest($1::text[], $2::text[], $3::text[]) as w (account_id, channel, external_id)
where s.account_id = w.account_id and s.channel = w.channel and s.external_id = w.external_id
returning s.account_id, s.channel, s.external_id, s.status, s.at, s.error, s.raw, s.received_at;

-- name: find_adoptable_orphans
-- Their message became known between a look and a lock.
select distinct o.account_id, o.conversation_id, o.channel, o.external_id
from orphan_status s
join outbound_message o
    on o.account_id = s.account_id and o.channel = s.channel and o.external_id = s.external_id
limit $1::integer;

-- name: forget_orphans
-- A status whose message stays unknown for so long was never ours.
delete from orphan_status
where (account_id, channel, external_id, status) in (
    select s.account_id, s.channel, s.external_id, s.status
    from orphan_status s
    where s.received_at < (select coalesce($1::timestamptz, clock_timestamp())) - interval '30 days'
    order by s.received_at
    limit $2::integer);
