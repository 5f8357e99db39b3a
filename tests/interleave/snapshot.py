"""What is durable, in one statement: a hash for pruning, the rules every commit must leave true, and all rows."""

from __future__ import annotations

_ROWS = """
select jsonb_build_object(
    'conversation', (select jsonb_agg(to_jsonb(c) order by c.id) from conversation c),
    'inbound', (select jsonb_agg(to_jsonb(m) - 'seq' - 'raw' order by m.seq) from inbound_message m),
    'turn', (select jsonb_agg(to_jsonb(t) order by t.started_at, t.id) from turn t),
    'outbound', (select jsonb_agg(to_jsonb(o) - 'seq' order by o.seq) from outbound_message o),
    'attempt', (select jsonb_agg(to_jsonb(a) order by a.outbound_id, a.attempt) from attempt a),
    'effect', (select jsonb_agg(to_jsonb(e) order by e.started_at, e.id) from effect e),
    'orphan', (select jsonb_agg(to_jsonb(s) - 'raw' order by s.external_id, s.status) from orphan_status s),
    'echo', (select jsonb_agg(to_jsonb(d) - 'raw' order by d.external_id) from device_echo d),
    'follow_up', (select jsonb_agg(to_jsonb(f) order by f.id) from follow_up f),
    'alias', (select jsonb_agg(a.alias order by a.alias) from contact_alias a),
    'media', (select jsonb_agg(to_jsonb(f) order by f.created_at, f.id) from media f),
    'reading', (select jsonb_agg(jsonb_build_array(j.kind, j.state, j.subject_id) order by j.id)
                from journal j where j.kind in ('turn', 'transcription')),
    'journal', (select jsonb_agg(jsonb_build_array(j.kind, j.state, j.reason, j.data) order by j.id)
                from journal j where j.kind in ('authority', 'triage'))
)
"""

# Each line is a rule that holds after every commit, whoever made it; a row is a violation.
_RULES = """
select 'I4: running_turn_id names no running turn, or a turn runs that it does not name' as broken
from conversation c
where c.running_turn_id is distinct from (
    select t.id from turn t where t.account_id = c.account_id and t.conversation_id = c.id and t.state = 'running')
union all
select 'I2: open messages under AI_ACTIVE and no timer will ever look at them'
from conversation c
where c.authority_state = 'AI_ACTIVE' and c.running_turn_id is null and c.turn_due_at is null
    and c.triage_due_at is null and c.merged_into is null
    and exists (select from inbound_message m where m.conversation_id = c.id and m.state = 'open')
union all
select 'I2: a due message and no timer will ever look at its lane'
from conversation c
where c.outbox_due_at is null and exists (
    select from outbound_message o
    where o.conversation_id = c.id and o.state = 'due'
        and not (o.author = 'operator' and c.authority_state = 'HANDOFF_PENDING'
            and (c.authority_owner is not null or c.authority_reason = 'device_reply'))
        and not exists (
            select from outbound_message e
            where e.conversation_id = c.id and (e.state = 'sending'
                or (e.seq < o.seq and (e.state = 'due' or (e.state = 'uncertain' and e.author = o.author))))))
union all
select 'I2: a message is claimed by a turn that does not run'
from inbound_message m
where m.state = 'claimed'
    and not exists (select from turn t where t.id = m.turn_id and t.state = 'running')
union all
select 'I1: an AI message is on the wire under a version that is over, and may be tried again'
from outbound_message o
join conversation c on c.id = o.conversation_id
where o.state in ('sending', 'uncertain') and o.author = 'ai' and o.authority_version <> c.authority_version
    and not o.no_retry
union all
select 'I1: an AI message is on the wire while a human has the conversation'
from outbound_message o
join conversation c on c.id = o.conversation_id
where o.state = 'sending' and o.author in ('ai', 'system') and c.authority_state = 'HUMAN_ACTIVE'
    and not exists (select from journal j where j.conversation_id = c.id and j.data ->> 'command' = 'take_forced')
union all
select 'I1: an AI write is under way while a human has the conversation'
from effect e
join conversation c on c.id = e.conversation_id
where e.state = 'started' and e.told_at is null and e.turn_id is not null and c.authority_state = 'HUMAN_ACTIVE'
    and e.not_after + interval '10 seconds' > $1
    and not exists (select from journal j where j.conversation_id = c.id and j.data ->> 'command' = 'take_forced')
union all
select 'I6: the timer lies beyond the longest wait'
from conversation c
where c.turn_due_at > greatest(c.open_since + interval '20 seconds', c.turn_not_before,
    case when c.is_media_awaited then c.media_wait_until end)
union all
select 'I6: files and words are waited for beyond the oldest one''s deadline'
from conversation c
where c.media_wait_until > (
    select min(m.wait_until) from inbound_message m where m.conversation_id = c.id and m.state = 'open')
union all
select 'wait: a turn reads a message whose file or words are awaited, before the deadline'
from inbound_message m
join turn t on t.id = m.turn_id
where m.state = 'claimed' and m.is_awaited
    and t.started_at < (select min(w.wait_until) from inbound_message w where w.turn_id = t.id)
union all
select 'wait: something is awaited of a message whose file and words have ended'
from inbound_message m
join media f on f.inbound_id = m.id
where m.is_awaited and f.state <> 'waiting' and f.transcription_state is distinct from 'waiting'
"""

HASH_AND_RULES = f"""
select md5((select rows::text from ({_ROWS}) as r (rows))) as digest,
    (select array_agg(broken order by broken) from ({_RULES}) b) as broken
"""  # noqa: S608  # Joined from constants.

ALL_ROWS = _ROWS

# What may be looked for now: the guards of actors, and what the recovery still has to do.
FACTS = """
select
    coalesce(bool_or(c.turn_due_at <= $1), false) as turn,
    coalesce(bool_or(c.outbox_due_at <= $1), false) as outbox,
    coalesce(bool_or(c.triage_due_at <= $1), false) as triage,
    coalesce(bool_or(c.running_turn_id is not null), false) as running,
    coalesce(bool_or(c.authority_owner is not null), false) as owned,
    min(c.authority_state) as authority,
    exists (select from media f where f.next_try_at <= $1) as files,
    exists (select from media f where f.transcription_due_at <= $1) as words,
    exists (select from outbound_message o where o.state = 'sending') as sending,
    exists (select from outbound_message o where o.state = 'uncertain') as uncertain,
    exists (select from outbound_message o where o.state = 'sent' and o.author <> 'device') as sent
from conversation c
"""

# When something falls due next, whatever it is.
NEXT_DUE = """
select min(at) as at from (
    select turn_due_at from conversation
    union all select outbox_due_at from conversation
    union all select triage_due_at from conversation
    union all select next_try_at from media
    union all select transcription_due_at from media
    union all select lease_until + interval '0.001 seconds' from turn where state = 'running'
    union all select not_after + interval '10.001 seconds' from outbound_message where state = 'sending'
    union all select uncertain_until + interval '0.001 seconds' from outbound_message where state = 'uncertain'
    union all select decide_at from device_echo where decide_at is not null
    union all select not_before from follow_up where state = 'scheduled'
    union all select $1 from inbound_message m join inbound_message t on t.external_id = m.target_external_id
        where m.target_pending
    union all select $1 from orphan_status s join outbound_message o on o.external_id = s.external_id
    union all select e.not_after + interval '10.001 seconds'
        from effect e join conversation c on c.id = e.conversation_id
        where e.state = 'started' and c.authority_state = 'HANDOFF_PENDING' and c.authority_owner is not null
            and e.told_at is null
    union all select $1 from conversation c
        where c.authority_state = 'HANDOFF_PENDING'
            and (c.authority_owner is not null or c.authority_reason = 'device_reply')
            and not exists (select from outbound_message o where o.conversation_id = c.id and o.state = 'sending')
            and not exists (select from effect e where e.conversation_id = c.id and e.state = 'started'
                and e.told_at is null and e.turn_id is not null and e.not_after + interval '10 seconds' > $1)
) as due (at)
"""

# Looks over the shoulder of every statement that puts an AI message on the wire or touches a key.
MONITOR = """
create or replace function watch_outbound() returns trigger language plpgsql as $body$
declare
    c conversation;
begin
    if new.key <> old.key then
        raise exception 'I3: a sealed message has got another key';
    end if;
    if old.state = 'due' and new.state = 'sending' and new.author = 'ai' then
        select * into c from conversation where id = new.conversation_id;
        if c.authority_version <> new.authority_version then
            raise exception 'I1: an AI send begins under a version that is over';
        end if;
        if c.authority_state = 'AI_ACTIVE' and c.arrival_count > greatest(new.arrivals_seen, c.arrivals_decided) then
            raise exception 'triage: an AI send begins over an arrival that nobody has decided about';
        end if;
    end if;
    return new;
end $body$;
create or replace trigger watch before update on outbound_message for each row execute function watch_outbound();
"""
