-- Old code may keep running: yes (new tables, and columns with defaults).
-- Operators, write effects, device replies, suggestions, follow-ups, notes and notifications.

create table operator (
    account_id text not null,
    id uuid not null,
    name text not null,
    role text not null,
    -- argon2id; null for an operator who only has tokens.
    password_hash text,
    created_at timestamptz not null,
    disabled_at timestamptz,
    constraint operator_pkey primary key (account_id, id),
    constraint operator_name_once unique (account_id, name),
    constraint operator_role_known check (role in ('admin', 'operator'))
);

-- API tokens and console sessions: only the hash of the secret is kept.
create table operator_token (
    account_id text not null,
    operator_id uuid not null,
    token_hash bytea not null,
    created_at timestamptz not null,
    revoked_at timestamptz,
    constraint operator_token_pkey primary key (token_hash),
    constraint operator_token_operator_fkey foreign key (account_id, operator_id) references operator (account_id, id)
);
create index operator_token_of_operator on operator_token (account_id, operator_id);

create table operator_session (
    account_id text not null,
    operator_id uuid not null,
    session_hash bytea not null,
    csrf_token text not null,
    created_at timestamptz not null,
    seen_at timestamptz not null,
    expires_at timestamptz not null,
    constraint operator_session_pkey primary key (session_hash),
    constraint operator_session_operator_fkey foreign key (account_id, operator_id) references operator (account_id, id)
);
create index operator_session_of_operator on operator_session (account_id, operator_id);
create index operator_session_expiry on operator_session (expires_at);

-- A write tool's call. Untold until a reply that knew of it was sent.
create table effect (
    account_id text not null,
    id uuid not null,
    conversation_id uuid not null,
    turn_id uuid,
    authority_version bigint not null,
    tool text not null,
    args jsonb not null,
    key text not null,
    retry_safe boolean not null default false,
    state text not null,
    reason text,
    result jsonb,
    started_at timestamptz not null,
    not_after timestamptz not null,
    finished_at timestamptz,
    told_at timestamptz,
    constraint effect_pkey primary key (account_id, id),
    constraint effect_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id),
    constraint effect_state_known check (state in ('awaiting', 'refused', 'started', 'done', 'failed')),
    constraint effect_end_has_time check (state in ('awaiting', 'started') or finished_at is not null)
);
-- I3: of equal calls that nobody has been told of, one is done.
create unique index effect_key_once on effect (account_id, conversation_id, key)
    where told_at is null and state in ('awaiting', 'started', 'done');
create index effect_untold on effect (account_id, conversation_id, started_at) where told_at is null;
create index effect_of_turn on effect (account_id, turn_id) where turn_id is not null;
create index effect_in_flight on effect (not_after) where state = 'started';
create index effect_of_conversation on effect (account_id, conversation_id, started_at);

-- The business's own phone: an echo whose id may still turn out to be one of ours.
create table device_echo (
    account_id text not null,
    channel text not null,
    external_id text not null,
    conversation_id uuid not null,
    type text not null,
    text text,
    sent_at timestamptz,
    received_at timestamptz not null,
    -- Null once decided.
    decide_at timestamptz,
    outcome text,
    raw bytea not null,
    constraint device_echo_pkey primary key (account_id, channel, external_id),
    constraint device_echo_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id),
    constraint device_echo_outcome_known check (outcome in ('own', 'device', 'history')),
    constraint device_echo_is_decided check ((decide_at is null) = (outcome is not null))
);
create index device_echo_waiting on device_echo (decide_at) where decide_at is not null;
create index device_echo_of_conversation on device_echo (account_id, conversation_id) where decide_at is not null;

create table suggestion (
    account_id text not null,
    id uuid not null,
    conversation_id uuid not null,
    turn_id uuid,
    text text not null,
    reason text,
    -- It is withdrawn by itself when either has moved on.
    authority_version bigint not null,
    arrivals_seen bigint not null,
    state text not null default 'open',
    outbound_id uuid,
    created_at timestamptz not null,
    constraint suggestion_pkey primary key (account_id, id),
    constraint suggestion_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id),
    constraint suggestion_state_known check (state in ('open', 'used', 'edited', 'replaced'))
);
create index suggestion_open on suggestion (account_id, conversation_id, created_at) where state = 'open';

create table follow_up (
    account_id text not null,
    id uuid not null,
    conversation_id uuid not null,
    operator_id uuid,
    text text not null,
    not_before timestamptz not null,
    authority_version bigint not null,
    arrivals_seen bigint not null,
    state text not null default 'scheduled',
    reason text,
    created_at timestamptz not null,
    ended_at timestamptz,
    constraint follow_up_pkey primary key (account_id, id),
    constraint follow_up_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id),
    constraint follow_up_state_known check (state in ('scheduled', 'sealed', 'cancelled')),
    constraint follow_up_end_has_reason check (state = 'scheduled' or (reason is not null and ended_at is not null))
);
create index follow_up_due on follow_up (not_before) where state = 'scheduled';
create index follow_up_of_conversation on follow_up (account_id, conversation_id) where state = 'scheduled';

create table note (
    account_id text not null,
    id uuid not null,
    conversation_id uuid not null,
    operator_id uuid,
    text text not null,
    created_at timestamptz not null,
    constraint note_pkey primary key (account_id, id),
    constraint note_conversation_fkey foreign key (account_id, conversation_id)
        references conversation (account_id, id)
);
create index note_of_conversation on note (account_id, conversation_id, created_at);

-- Someone is always told: written in the same transaction as what it tells of, delivered afterwards.
create table notification (
    account_id text not null,
    id uuid not null,
    conversation_id uuid,
    kind text not null,
    reason text,
    data jsonb not null default '{}',
    created_at timestamptz not null,
    next_try_at timestamptz,
    try_count integer not null default 0,
    ended_at timestamptz,
    outcome text,
    constraint notification_pkey primary key (account_id, id),
    constraint notification_outcome_known check (outcome in ('delivered', 'given_up', 'no_receiver')),
    constraint notification_is_ended check ((next_try_at is null) = (outcome is not null))
);
create index notification_due on notification (next_try_at) where next_try_at is not null;

alter table conversation
    -- An unknown echo is being waited for: AI sends wait with it.
    add column echo_wait_until timestamptz,
    -- The latest return to the AI: an older echo is history.
    add column released_at timestamptz,
    -- Set by a take with `hold`: no idle return.
    add column held_by_hand boolean not null default false,
    -- A human owns it and a suggestion is wanted.
    add column suggestion_due_at timestamptz,
    -- Turns of the current minute, for the loop guard.
    add column loop_started_at timestamptz,
    add column loop_turn_count integer not null default 0;
create index conversation_suggestion_due on conversation (suggestion_due_at) where suggestion_due_at is not null;
-- Takeovers whose owner is named and whose last send is being waited for.
create index conversation_unconfirmed on conversation (authority_since)
    where authority_state = 'HANDOFF_PENDING' and (authority_owner is not null or authority_reason = 'device_reply');
create index conversation_idle on conversation (last_activity_at) where authority_state = 'HUMAN_ACTIVE';

-- The human message that answered an inbound one: if it is revoked unsent, the customer's is open again.
alter table inbound_message
    add column answered_by uuid,
    -- The silence this message asks for, where a rule changed the configured one, and which rule that was.
    add column window_seconds double precision,
    add column window_rule text,
    add constraint inbound_message_window_has_rule check ((window_seconds is null) = (window_rule is null));
create index inbound_message_answered_by on inbound_message (account_id, answered_by) where answered_by is not null;

do $$
declare
    name text;
begin
    foreach name in array array[
        'operator', 'operator_token', 'operator_session', 'effect', 'device_echo', 'suggestion', 'follow_up', 'note',
        'notification'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy %I on %I to onevoice_flow using (true) with check (true)', name || '_flow', name);
        execute format(
            'create policy %I on %I to onevoice_api using (account_id = current_setting(''onevoice.account_id'')) '
            'with check (account_id = current_setting(''onevoice.account_id''))', name || '_api', name);
        execute format('grant select, insert, update on %I to onevoice_flow, onevoice_api', name);
    end loop;
    grant delete on operator_session to onevoice_flow, onevoice_api;
end $$;

-- A message that reached a merged conversation while it was being merged: the sweep moves it on.
create index conversation_stranded on conversation (account_id, id)
    where merged_into is not null and open_since is not null;
