-- name: feed_horizon
-- Every transaction below it has ended; an entry at or above it may still be invisible to somebody.
-- Row: xid bigint.
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xid;

-- name: read_feed
-- Commit order: a transaction that ends late keeps the horizon below itself, so its entries are never skipped.
-- Rows: xid, id, account_id, at, kind, conversation_id, subject_id, state, reason, data.
select j.xid::text::bigint as xid, j.id, j.account_id, j.at, j.kind, j.conversation_id, j.subject_id, j.state,
       j.reason, j.data
from journal j
where (j.xid, j.id) > ($1::bigint::text::xid8, $2::bigint)
    and j.xid < pg_snapshot_xmin(pg_current_snapshot())
order by j.xid, j.id
limit $3::bigint;

-- name: read_feed_of_account
-- What a resuming reader missed: the same order, one account, one conversation or all of them ($6 null).
-- Up to and including ($4, $5): from there on the live entries continue.
-- Rows: as read_feed.
select j.xid::text::bigint as xid, j.id, j.account_id, j.at, j.kind, j.conversation_id, j.subject_id, j.state,
       j.reason, j.data
from journal j
where j.account_id = $1::text
    and (j.xid, j.id) > ($2::bigint::text::xid8, $3::bigint)
    and (j.xid, j.id) <= ($4::bigint::text::xid8, $5::bigint)
    and j.xid < pg_snapshot_xmin(pg_current_snapshot())
    and ($6::uuid is null or j.conversation_id = $6::uuid)
order by j.xid, j.id
limit $7::bigint;
