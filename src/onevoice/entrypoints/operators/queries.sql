-- name: add_operator
-- Of two that add the same name, one gets no row.
-- Row: id, account_id, name, role, has_password, created_at, disabled_at.
insert into operator (account_id, id, name, role, password_hash, created_at)
values ($2::text, $3::uuid, $4::text, $5::text, $6::text, (select coalesce($1::timestamptz, clock_timestamp())))
on conflict (account_id, name) do nothing
returning id, account_id, name, role, password_hash is not null as has_password, created_at, disabled_at;

-- name: read_operator_by_name
-- The hash is for the check of a password only; it never leaves this package.
-- Row: id, account_id, name, role, password_hash, has_password, created_at, disabled_at.
select o.id, o.account_id, o.name, o.role, o.password_hash, o.password_hash is not null as has_password,
       o.created_at, o.disabled_at
from operator o
where o.account_id = $1::text and o.name = $2::text;

-- name: read_operators
-- Of one account, or of all ($1 null), with what each holds and how they can come in.
-- Rows: id, account_id, name, role, has_password, created_at, disabled_at, token_count, conversation_count.
select o.id, o.account_id, o.name, o.role, o.password_hash is not null as has_password, o.created_at, o.disabled_at,
       (select count(*) from operator_token t
        where t.account_id = o.account_id and t.operator_id = o.id and t.revoked_at is null) as token_count,
       (select count(*) from conversation c
        where c.account_id = o.account_id and c.authority_owner = o.id and c.authority_state <> 'AI_ACTIVE')
           as conversation_count
from operator o
where $1::text is null or o.account_id = $1::text
order by o.account_id, o.name;

-- name: set_password
-- Row: id, when there is such an operator.
update operator
set password_hash = $3::text
where account_id = $1::text and id = $2::uuid
returning id;

-- name: disable_operator
-- Disabled again keeps the first time. The operator's sessions and tokens end in the same transaction.
update operator
set disabled_at = coalesce(disabled_at, (select coalesce($1::timestamptz, clock_timestamp())))
where account_id = $2::text and id = $3::uuid;

-- name: enable_operator
-- What was revoked when the operator was disabled stays revoked.
update operator set disabled_at = null where account_id = $1::text and id = $2::uuid;

-- name: revoke_tokens
-- The earlier time stays: it tells when a token stopped working.
update operator_token
set revoked_at = (select coalesce($1::timestamptz, clock_timestamp()))
where account_id = $2::text and operator_id = $3::uuid and revoked_at is null;

-- name: end_sessions
-- Of one operator: after a new password, and when disabled.
delete from operator_session where account_id = $1::text and operator_id = $2::uuid;

-- name: add_token
-- Of the token only its digest.
insert into operator_token (account_id, operator_id, token_hash, created_at)
values ($2::text, $3::uuid, $4::bytea, (select coalesce($1::timestamptz, clock_timestamp())));

-- name: read_token
-- The account comes from the row and from nowhere else. A disabled operator has no valid token.
-- Row: account_id, token_hash, operator_id, name, role.
select t.account_id, t.token_hash, t.operator_id, o.name, o.role
from operator_token t
join operator o on o.account_id = t.account_id and o.id = t.operator_id
where t.token_hash = $1::bytea and t.revoked_at is null and o.disabled_at is null;

-- name: add_session
-- An operator who was disabled since the password was read gets none.
-- Row: operator_id, when it was made.
insert into operator_session (account_id, operator_id, session_hash, csrf_token, created_at, seen_at, expires_at)
select o.account_id, o.id, $4::bytea, $5::text, clock.now, clock.now, clock.now + $6::interval
from operator o, (select coalesce($1::timestamptz, clock_timestamp()) as now) clock
where o.account_id = $2::text and o.id = $3::uuid and o.disabled_at is null
returning operator_id;

-- name: read_session
-- Seen within the idle time ($3), not older than its absolute end, of an operator who is not disabled. The
-- time it was seen is written at most once a minute, and only for what a person asked for ($4).
-- Row: account_id, operator_id, name, role, csrf_token.
with clock as (
    select coalesce($1::timestamptz, clock_timestamp()) as now
), found as (
    select s.account_id, s.operator_id, s.session_hash, s.csrf_token, s.seen_at, o.name, o.role
    from clock
    join operator_session s on s.session_hash = $2::bytea
        and s.expires_at > clock.now and s.seen_at > clock.now - $3::interval
    join operator o on o.account_id = s.account_id and o.id = s.operator_id and o.disabled_at is null
), touched as (
    update operator_session s
    set seen_at = clock.now
    from found, clock
    where $4::boolean and s.session_hash = found.session_hash and found.seen_at < clock.now - interval '1 minute'
)
select account_id, operator_id, name, role, csrf_token from found;

-- name: end_session
-- Signing out, and the old session of a browser that signs in again.
delete from operator_session where session_hash = $1::bytea;

-- name: forget_old_sessions
-- Those past their absolute end; each sign-in sweeps, so that nothing else has to.
delete from operator_session
where expires_at < (select coalesce($1::timestamptz, clock_timestamp()));
