-- name: keep_notifications
-- Without a receiver the row is kept all the same: the console lists it.
insert into notification (account_id, id, conversation_id, kind, reason, data, created_at, next_try_at, outcome)
select w.account_id, w.id, w.conversation_id, w.kind, w.reason,
    case when w.subject_id is null then '{}'::jsonb else jsonb_build_object('id', w.subject_id) end, clock.now,
    case when $2::boolean then clock.now end, case when not $2::boolean then 'no_receiver' end
from unnest($3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::uuid[])
    as w (account_id, id, conversation_id, kind, reason, subject_id)
cross join (select coalesce($1::timestamptz, clock_timestamp()) as now) clock;

-- name: claim_notifications
-- The next try is set before the call: a process that dies in it only delays the notification.
update notification n
set try_count = n.try_count + 1,
    next_try_at = (select coalesce($1::timestamptz, clock_timestamp())) + interval '30 seconds'
where (n.account_id, n.id) = any(array(
    select (d.account_id, d.id)
    from notification d
    where d.next_try_at <= (select coalesce($1::timestamptz, clock_timestamp()))
    order by d.next_try_at
    limit $2::integer
    for update skip locked))
returning n.account_id, n.id, n.conversation_id, n.kind, n.reason, n.data, n.created_at, n.try_count;

-- name: end_notification
-- Ended, or due again later.
update notification
set next_try_at = case when $4::text is null
        then (select coalesce($1::timestamptz, clock_timestamp())) + make_interval(secs => $5::float8) end,
    outcome = $4::text,
    ended_at = case when $4::text is not null then (select coalesce($1::timestamptz, clock_timestamp())) end
where account_id = $2::text and id = $3::uuid;
