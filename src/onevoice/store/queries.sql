-- name: register_channels
-- Every configured channel has a row; a pause outlives the process that met the error.
insert into channel (account_id, name, kind)
select w.account_id, w.name, w.kind
from unnest($1::text[], $2::text[], $3::text[]) as w (account_id, name, kind)
order by w.account_id, w.name
on conflict (name) do update set kind = excluded.kind, account_id = excluded.account_id
where (channel.kind, channel.account_id) is distinct from (excluded.kind, excluded.account_id);
