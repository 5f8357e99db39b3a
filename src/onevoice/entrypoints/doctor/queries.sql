-- name: read_server
-- row: version_number integer, at timestamptz. The clock of comparisons, to be compared with the machine's.
select current_setting('server_version_num')::integer as version_number, clock_timestamp() as at;

-- name: read_migrations
-- rows: number, name, checksum. Fails on a database that was never migrated.
select number, name, checksum from migration order by number;

-- name: read_roles
-- rows: name, is_strong, owns_tables. A role that is strong or owns tables passes by row-level security.
select rolname::text as name, rolsuper or rolbypassrls as is_strong,
       exists (select from pg_class where relowner = pg_roles.oid and relnamespace = current_schema()::regnamespace)
           as owns_tables
from pg_roles
where rolname in ('onevoice_flow', 'onevoice_api');

-- name: read_unprotected_tables
-- rows: name of each table with an account that lacks forced row-level security or a policy.
select relname::text as name
from pg_class
where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
  and exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'account_id' and not attisdropped)
  and not (relrowsecurity and relforcerowsecurity
           and exists (select from pg_policy where polrelid = pg_class.oid))
order by relname;
