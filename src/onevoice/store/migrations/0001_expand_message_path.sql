-- Old code may keep running: yes (first schema).
-- The message path: conversations, inbound messages, turns, outbound messages and their attempts.
-- Account id leads every key; one row lock per conversation plus the unique keys below carry the invariants.

create table channel (
    account_id text not null,
    name text not null,
    kind text not null,
    -- Set when an error stopped automation on the whole number (wire format 1.15, STOP-AI(number)).
    paused_reason text,
    paused_at timestamptz,
    -- The number is slowed until then (throughput errors).
    slow_until timestamptz,
    constraint channel_pkey primary key (account_id, name),
    constraint channel_name_unique unique (name),
    constraint channel_pause_has_reason check ((paused_reason is null) = (paused_at is null))
);

create table conversation (
    account_id text not null,
    id uuid not null,
    channel text not null,
    contact_address text not null,
    contact_name text,
    authority_state text not null default 'AI_ACTIVE',
    authority_version bigint not null default 1,
    authority_owner uuid,
    authority_reason text,
    authority_note text,
    authority_since timestamptz not null,
    -- How many messages arrived that start a turn or overtake a reply; never goes down.
    arrival_count bigint not null default 0,
    -- Arrivals up to this count are covered by a triage decision.
    arrivals_decided bigint not null default 0,
    -- Earliest receipt among the open messages; null when none is open.
    open_since timestamptz,
    turn_due_at timestamptz,
    -- Back-off after agent failures: no turn before this instant.
    turn_not_before timestamptz,
    running_turn_id uuid,
    -- An AI reply is sealed and unsent (or parked for want of a template): a new arrival must be triaged.
    reply_waiting boolean not null default false,
    triage_due_at timestamptz,
    outbox_due_at timestamptz,
    -- Consecutive turns lost with their worker, and consecutive agent failures with their start.
    lost_turn_count integer not null default 0,
    agent_failure_count integer not null default 0,
    agent_failing_since timestamptz,
    window_expires_at timestamptz,
    -- Burst credit of the pair (wire format 1.14): parts spent since then.
    pair_spent_count double precision not null default 0,
    pair_spent_at timestamptz,
    pair_slow_count integer not null default 0,
    last_inbound_at timestamptz,
    last_activity_at timestamptz not null,
    merged_into uuid,
    constraint conversation_pkey primary key (account_id, id),
    constraint conversation_authority_state_known check (
        authority_state in ('AI_ACTIVE', 'HANDOFF_PENDING', 'HUMAN_ACTIVE', 'AI_SUSPENDED')),
    constraint conversation_authority_version_positive check (authority_version >= 1),
    constraint conversation_decided_not_ahead check (arrivals_decided <= arrival_count),
    constraint conversation_timer_needs_ai check (
        turn_due_at is null or (authority_state = 'AI_ACTIVE' and running_turn_id is null)),
    constraint conversation_timer_needs_open check (turn_due_at is null or open_since is not null)
);
create index conversation_turn_due on conversation (turn_due_at) where turn_due_at is not null;
create index conversation_outbox_due on conversation (outbox_due_at) where outbox_due_at is not null;
create index conversation_triage_due on conversation (triage_due_at) where triage_due_at is not null;
-- Open messages and nothing that will look at them: what the reconciliation repairs.
create index conversation_untimed on conversation (open_since)
    where authority_state = 'AI_ACTIVE' and turn_due_at is null and triage_due_at is null and open_since is not null;
create index conversation_recent on conversation (account_id, last_activity_at desc, id);
create index conversation_waiting on conversation (account_id, authority_state, last_activity_at desc, id)
    where authority_state <> 'AI_ACTIVE';

-- Every canonical key under which a channel knows a contact (phone, business-scoped id, …).
create table contact_alias (
    account_id text not null,
    channel text not null,
    alias text not null,
    conversation_id uuid not null,
    constraint contact_alias_pkey primary key (account_id, channel, alias),
    constraint contact_alias_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id)
);
create index contact_alias_conversation on contact_alias (account_id, conversation_id);

create table inbound_message (
    account_id text not null,
    id uuid not null,
    conversation_id uuid not null,
    channel text not null,
    external_id text not null,
    -- The order of a conversation's messages.
    seq bigint generated always as identity,
    type text not null,
    text text,
    transcription text,
    state text not null,
    state_reason text,
    turn_id uuid,
    -- The message this one amends or withdraws, and whether that has been done.
    target_external_id text,
    target_pending boolean not null default false,
    reply_to_external_id text,
    sent_at timestamptz,
    received_at timestamptz not null,
    amended_at timestamptz,
    raw bytea not null,
    constraint inbound_message_pkey primary key (account_id, id),
    constraint inbound_message_once unique (account_id, channel, external_id),
    constraint inbound_message_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id),
    constraint inbound_message_state_known check (
        state in ('open', 'claimed', 'answered', 'cancelled', 'withdrawn', 'recorded')),
    constraint inbound_message_claimed_by check (state <> 'claimed' or turn_id is not null),
    constraint inbound_message_end_has_reason check (
        state in ('open', 'claimed') or state_reason is not null)
);
create index inbound_message_of_conversation on inbound_message (account_id, conversation_id, seq);
create index inbound_message_open on inbound_message (account_id, conversation_id, seq)
    where state = 'open';
create index inbound_message_of_turn on inbound_message (account_id, turn_id) where turn_id is not null;
create index inbound_message_target on inbound_message (account_id, channel, target_external_id)
    where target_pending;

create table turn (
    account_id text not null,
    id uuid not null,
    conversation_id uuid not null,
    state text not null,
    reason text,
    attempt integer not null,
    authority_version bigint not null,
    -- The policy and configuration under which it runs.
    while_running text not null,
    configuration_version text not null,
    -- Exactly the messages it read, and how many arrivals there had been.
    message_ids uuid[] not null,
    arrivals_seen bigint not null,
    open_since timestamptz not null,
    worker text not null,
    started_at timestamptz not null,
    lease_until timestamptz not null,
    ended_at timestamptz,
    wrote boolean not null default false,
    confidence double precision,
    usage jsonb,
    constraint turn_pkey primary key (account_id, id),
    constraint turn_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id),
    constraint turn_state_known check (state in (
        'running', 'sealed', 'discarded', 'obsolete', 'handoff', 'silent', 'parked', 'abandoned', 'failed')),
    constraint turn_end_has_reason check (
        state = 'running' or (ended_at is not null and reason is not null)),
    constraint turn_reads_something check (cardinality(message_ids) > 0)
);
-- I4: at most one running turn per conversation.
create unique index turn_one_running on turn (account_id, conversation_id) where state = 'running';
create index turn_lease on turn (lease_until) where state = 'running';
create index turn_of_conversation on turn (account_id, conversation_id, started_at);

create table outbound_message (
    account_id text not null,
    id uuid not null,
    conversation_id uuid not null,
    channel text not null,
    -- The lane: messages leave in this order (I5).
    seq bigint generated always as identity,
    author text not null,
    turn_id uuid,
    operator_id uuid,
    key text not null,
    part integer not null default 1,
    part_count integer not null default 1,
    text text not null,
    payload jsonb not null default '{}',
    state text not null,
    reason text,
    authority_version bigint not null,
    -- AI replies: arrivals the gate knew of when it sealed this one, and whether it tells of a write.
    arrivals_seen bigint not null default 0,
    wrote boolean not null default false,
    sealed_at timestamptz not null,
    due_at timestamptz not null,
    hold_try_count integer not null default 0,
    attempt_count integer not null default 0,
    -- The running attempt's deadline; after it plus the quarantine the attempt is uncertain.
    not_after timestamptz,
    uncertain_until timestamptz,
    -- Set when a transition forbids any further attempt of a message that is sending or uncertain.
    no_retry boolean not null default false,
    external_id text,
    error_code text,
    error_detail text,
    sent_at timestamptz,
    delivered_at timestamptz,
    read_at timestamptz,
    ended_at timestamptz,
    constraint outbound_message_pkey primary key (account_id, id),
    -- I3: one idempotency key, fixed at sealing.
    constraint outbound_message_key_once unique (account_id, conversation_id, key),
    constraint outbound_message_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id),
    constraint outbound_message_author_known check (author in ('ai', 'operator', 'device', 'system')),
    constraint outbound_message_state_known check (state in (
        'due', 'sending', 'sent', 'delivered', 'read', 'played', 'failed', 'parked', 'uncertain',
        'cancelled', 'superseded', 'revoked')),
    constraint outbound_message_end_has_reason check (
        state in ('due', 'sending', 'sent', 'delivered', 'read', 'played') or reason is not null),
    constraint outbound_message_sending_has_deadline check (state <> 'sending' or not_after is not null),
    constraint outbound_message_uncertain_has_end check (state <> 'uncertain' or uncertain_until is not null),
    constraint outbound_message_ai_has_turn check (author <> 'ai' or turn_id is not null)
);
-- I5: at most one message of a conversation is on the wire.
create unique index outbound_message_one_sending on outbound_message (account_id, conversation_id)
    where state = 'sending';
-- Not unique: an id given twice is the channel's fault, and must not stop the outcome from being recorded.
create index outbound_message_external on outbound_message (account_id, channel, external_id)
    where external_id is not null;
create index outbound_message_lane on outbound_message (account_id, conversation_id, seq)
    where state in ('due', 'sending', 'uncertain');
create index outbound_message_of_conversation on outbound_message (account_id, conversation_id, seq);
create index outbound_message_of_turn on outbound_message (account_id, turn_id) where turn_id is not null;
create index outbound_message_deadline on outbound_message (not_after) where state = 'sending';
create index outbound_message_uncertain on outbound_message (uncertain_until) where state = 'uncertain';
create index outbound_message_unreported on outbound_message (sent_at) where state = 'sent';
create index outbound_message_attention on outbound_message (account_id, state, seq)
    where state in ('parked', 'uncertain', 'failed');

create table attempt (
    account_id text not null,
    outbound_id uuid not null,
    attempt integer not null,
    started_at timestamptz not null,
    not_after timestamptz not null,
    finished_at timestamptz,
    outcome text,
    external_id text,
    error_code text,
    error_detail text,
    constraint attempt_pkey primary key (account_id, outbound_id, attempt),
    constraint attempt_outbound_fkey foreign key (account_id, outbound_id)
        references outbound_message (account_id, id),
    constraint attempt_outcome_known check (outcome in ('accepted', 'refused', 'not_sent', 'unknown', 'expired'))
);

-- Statuses whose message is not known yet.
create table orphan_status (
    account_id text not null,
    channel text not null,
    external_id text not null,
    status text not null,
    at timestamptz,
    -- The channel's error as it was classified, for the day its message is known.
    error jsonb,
    received_at timestamptz not null,
    raw bytea not null,
    constraint orphan_status_pkey primary key (account_id, channel, external_id, status)
);
create index orphan_status_received on orphan_status (received_at);

-- What was stored as it came because nothing more could be made of it.
create table unknown_event (
    account_id text not null,
    id uuid not null,
    channel text not null,
    reason text not null,
    digest bytea not null,
    received_at timestamptz not null,
    raw bytea not null,
    constraint unknown_event_pkey primary key (account_id, id),
    constraint unknown_event_once unique (account_id, channel, digest)
);

-- Every decision with its reason. Live feeds read it in commit order: (xid, id) below the snapshot's xmin.
create table journal (
    account_id text not null,
    id bigint generated always as identity,
    xid xid8 not null default pg_current_xact_id(),
    at timestamptz not null,
    kind text not null,
    conversation_id uuid,
    subject_id uuid,
    state text,
    reason text,
    data jsonb not null default '{}',
    constraint journal_pkey primary key (account_id, id)
);
create index journal_feed on journal (xid, id);
create index journal_of_conversation on journal (account_id, conversation_id, id);
-- The timeline shows these kinds only, and they are few among the conversation's entries.
create index journal_timeline on journal (account_id, conversation_id, id) where kind in ('authority', 'triage');

-- Two roles, neither owner nor superuser: flow works across accounts, api sees one account per transaction.
do $$
declare
    name text;
begin
    foreach name in array array['onevoice_flow', 'onevoice_api'] loop
        -- An administrator has made them where this user may not.
        continue when exists (select from pg_roles where rolname = name);
        begin
            execute format('create role %I nologin', name);
        exception
            -- Roles belong to the whole cluster: another database's migration may have made them, even just now.
            when duplicate_object or unique_violation then null;
        end;
    end loop;
end $$;

do $$
declare
    name text;
begin
    execute format('grant onevoice_flow, onevoice_api to %I', current_user);
    execute format('grant usage on schema %I to onevoice_flow, onevoice_api', current_schema());
    foreach name in array array[
        'channel', 'conversation', 'contact_alias', 'inbound_message', 'turn', 'outbound_message', 'attempt',
        'orphan_status', 'unknown_event', 'journal'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy %I on %I to onevoice_flow using (true) with check (true)', name || '_flow', name);
        execute format(
            'create policy %I on %I to onevoice_api using (account_id = current_setting(''onevoice.account_id'')) '
            'with check (account_id = current_setting(''onevoice.account_id''))', name || '_api', name);
        execute format('grant select, insert, update on %I to onevoice_flow, onevoice_api', name);
    end loop;
    -- The journal and the attempts are append-only or finished once; only orphans and retention delete.
    grant delete on orphan_status, contact_alias to onevoice_flow;
    revoke update on journal from onevoice_flow, onevoice_api;
    -- Readiness compares the schema with the release.
    grant select on migration to onevoice_flow, onevoice_api;
end $$;
